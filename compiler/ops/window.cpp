#include "compiler/ops/window.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

constexpr int64_t kMostOfWindow = int64_t{1} << 30;

IntList list_of(size_t size, int64_t item) {
  IntList list;
  for (size_t i = 0; i < size; ++i) list.push_back(item);
  return list;
}

// The node's list; `missing` if it has none, nullopt if it has one of another length.
std::optional<IntList> list_like(const IntList& missing, const NodeView& node, std::string_view attribute) {
  const std::vector<int64_t>* const given = node.find_integers(attribute);
  if (!given) return missing;
  if (given->size() != missing.size()) return std::nullopt;
  IntList list;
  for (const int64_t item : *given) list.push_back(item);
  return list;
}

}  // namespace

IntList spatial_of(const TensorType& weights) {
  IntList list;
  for (size_t axis = 2; axis < weights.rank(); ++axis) list.push_back(weights.dims[axis].value);
  return list;
}

Dims image_dims(const Dim& samples, const Dim& channels, const IntList& spatial) {
  Dims dims = {samples, channels};
  for (int64_t size : spatial) dims.push_back({size});
  return dims;
}

int64_t elements_of(const IntList& kernel) {
  int64_t count = 1;
  for (int64_t size : kernel) count *= size;
  return count;
}

Result<Window> window_of(const NodeView& node, const IntList& kernel) {
  const size_t rank = kernel.size();
  const IntList ones = list_of(rank, 1);
  const auto strides = list_like(ones, node, "strides"), dilations = list_like(ones, node, "dilations");
  const auto pads = list_like(list_of(2 * rank, 0), node, "pads");
  if (!strides || !dilations || !pads)
    return node.invalid(
        fmt::format("strides, dilations and pads must have {}, {} and {} entries", rank, rank, 2 * rank));
  for (int64_t value : *strides)
    if (value < 1) return node.invalid("a stride is below 1");
  for (int64_t value : *dilations)
    if (value < 1) return node.invalid("a dilation is below 1");
  for (int64_t value : *pads)
    if (value < 0) return node.unsupported("negative padding");
  // Bounds them so that sums and products cannot overflow.
  for (const auto* list : {&strides, &dilations, &pads})
    for (int64_t value : **list)
      if (value > kMostOfWindow)
        return node.invalid(fmt::format("{} is too large for a stride, a dilation or padding", value));
  if (const int64_t largest = *std::max_element(kernel.begin(), kernel.end()); largest > kMostOfWindow)
    return node.invalid(fmt::format("{} is too large for a window", largest));
  Window window{.kernel = kernel,
                .strides = *strides,
                .dilations = *dilations,
                .pads = *pads,
                .ceil_mode = node.integer("ceil_mode", 0) != 0};
  if (const auto* said = node.find_integers("kernel_shape"); said && !std::ranges::equal(*said, kernel))
    return node.invalid(
        fmt::format("kernel_shape is [{}], but the weights have [{}]", fmt::join(*said, ","), fmt::join(kernel, ",")));
  const std::string auto_pad = node.text("auto_pad", "NOTSET");
  if (auto_pad == "VALID") {
    for (int64_t& pad : window.pads.items) pad = 0;
  } else if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    // ceil(input / stride) windows; the odd row of padding goes to the named side.
    const bool lower = auto_pad == "SAME_LOWER";
    for (size_t i = 0; i < rank; ++i) {
      const int64_t input = node.input_type(0).dims[2 + i].value;
      const int64_t outputs = (input + window.strides[i] - 1) / window.strides[i];
      const int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
      const int64_t total = std::max<int64_t>(0, (outputs - 1) * window.strides[i] + reach - input);
      window.pads[i] = lower ? total - total / 2 : total / 2;
      window.pads[i + rank] = total - window.pads[i];
    }
  } else if (auto_pad != "NOTSET") {
    return node.invalid(fmt::format("auto_pad is '{}'", auto_pad));
  }
  return window;
}

Result<IntList> Window::output(const NodeView& node, const TensorType& x) const {
  IntList sizes = kernel;
  for (size_t i = 0; i < rank(); ++i) {
    const Dim& input = x.dims[2 + i];
    if (input.batch) return node.unsupported("a spatial dimension depends on the batch");
    const int64_t reach = (kernel[i] - 1) * dilations[i] + 1;
    const int64_t room = input.value + pads[i] + pads[i + rank()] - reach;
    // As in PyTorch, a window that extends beyond the padding because of ceil_mode may be the only one: size 3, stride
    // 2 on an input of 2.
    if (ceil_mode && room < 0 && room + strides[i] > 0) {
      sizes[i] = 1;
      continue;
    }
    if (room < 0)
      return node.invalid(fmt::format("a window of {} does not fit into an input of {} padded by {}", reach,
                                      input.value, pads[i] + pads[i + rank()]));
    sizes[i] = room / strides[i] + 1;
    if (ceil_mode && room % strides[i] != 0) {
      // As in ONNX since opset 11 and in PyTorch: no window starts in the padding after the input.
      if (sizes[i] * strides[i] < input.value + pads[i]) ++sizes[i];
    }
  }
  return sizes;
}

}  // namespace plimsoll
