#include "compiler/ops/window.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

constexpr int64_t kMostOfWindow = int64_t{1} << 30;

IntList to_list(const std::vector<int64_t>& from) {
  IntList list;
  for (int64_t item : from) list.push_back(item);
  return list;
}

}  // namespace

Result<Window> window_of(const NodeView& node, int64_t kernel_height, int64_t kernel_width) {
  const auto strides = node.integers("strides", {1, 1}), dilations = node.integers("dilations", {1, 1});
  const auto pads = node.integers("pads", {0, 0, 0, 0});
  if (strides.size() != 2 || dilations.size() != 2 || pads.size() != 4)
    return node.invalid("strides, dilations and pads must have 2, 2 and 4 entries");
  for (int64_t value : strides)
    if (value < 1) return node.invalid("a stride is below 1");
  for (int64_t value : dilations)
    if (value < 1) return node.invalid("a dilation is below 1");
  for (int64_t value : pads)
    if (value < 0) return node.unsupported("negative padding");
  // Sums and products of them are taken without a second look.
  for (const auto* list : {&strides, &dilations, &pads})
    for (int64_t value : *list)
      if (value > kMostOfWindow) return node.invalid(fmt::format("{} is no size of a stride, a dilation or padding", value));
  if (std::max(kernel_height, kernel_width) > kMostOfWindow)
    return node.invalid(fmt::format("{} is no size of a window", std::max(kernel_height, kernel_width)));
  Window window{.kernel = {kernel_height, kernel_width},
                .strides = to_list(strides),
                .dilations = to_list(dilations),
                .pads = to_list(pads),
                .ceil_mode = node.integer("ceil_mode", 0) != 0};
  const std::vector<int64_t> window_size = {kernel_height, kernel_width};
  if (const auto said = node.integers("kernel_shape", window_size); said != window_size)
    return node.invalid(fmt::format("kernel_shape is [{}] when the weights have [{}]", fmt::join(said, ","), fmt::join(window_size, ",")));
  const std::string auto_pad = node.text("auto_pad", "NOTSET");
  if (auto_pad == "VALID") {
    window.pads = {0, 0, 0, 0};
  } else if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    // ceil(input / stride) windows; the odd row of padding goes to the named side.
    const bool lower = auto_pad == "SAME_LOWER";
    for (size_t i = 0; i < 2; ++i) {
      const int64_t input = node.input_type(0).dims[2 + i].value;
      const int64_t outputs = (input + window.strides[i] - 1) / window.strides[i];
      const int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
      const int64_t total = std::max<int64_t>(0, (outputs - 1) * window.strides[i] + reach - input);
      window.pads[i] = lower ? total - total / 2 : total / 2;
      window.pads[i + 2] = total - window.pads[i];
    }
  } else if (auto_pad != "NOTSET") {
    return node.invalid(fmt::format("auto_pad is '{}'", auto_pad));
  }
  return window;
}

Result<std::array<int64_t, 2>> Window::output(const NodeView& node, const TensorType& x) const {
  std::array<int64_t, 2> sizes{};
  for (size_t i = 0; i < 2; ++i) {
    const Dim& input = x.dims[2 + i];
    if (input.batch) return node.unsupported("a spatial dimension depends on the batch");
    const int64_t reach = (kernel[i] - 1) * dilations[i] + 1;
    const int64_t room = input.value + pads[i] + pads[i + 2] - reach;
    // As in PyTorch, a window that ceil_mode lets end beyond the padding may be the only one: 3 by steps of 2 on an input of 2.
    if (ceil_mode && room < 0 && room + strides[i] > 0) {
      sizes[i] = 1;
      continue;
    }
    if (room < 0)
      return node.invalid(fmt::format("a window of {} does not fit an input of {} padded by {}", reach, input.value,
                                      pads[i] + pads[i + 2]));
    sizes[i] = room / strides[i] + 1;
    if (ceil_mode && room % strides[i] != 0) {
      // As in ONNX since opset 11 and in PyTorch: no window starts in the padding behind the input.
      if (sizes[i] * strides[i] < input.value + pads[i]) ++sizes[i];
    }
  }
  return sizes;
}

}  // namespace plimsoll
