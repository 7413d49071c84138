// Col2Im (PyTorch's Fold): windows [N, C·kh·kw, L], summed where they overlap. Each pixel of a window is a separate
// channel, which a ConvTranspose moves to its position:
//   [N, C·kh·kw, L] ─► [N·C, kh·kw, rows, columns]   ConvTranspose by weights [kh·kw, 1, kh, kw], one-hot
#include <fmt/format.h>

#include "compiler/network/simplify/spelling_writer.h"

namespace plimsoll::spelling {
namespace {

// Two known integers, each at least `least`.
std::optional<Ints> two_numbers(const KnownValue* known, int64_t least) {
  if (!known || known->real() || known->dims != Dims{{2}} || !known->steps.empty()) return std::nullopt;
  Ints numbers;
  for (size_t i = 0; i < 2; ++i) {
    const Dim item = known->integer(i);
    if (item.batch || item.value < least || item.value > kKnownLimit) return std::nullopt;
    numbers.push_back(item.value);
  }
  return numbers;
}

Ints integers_of(const Writer& w, const char* name, Ints missing) {
  const ModelAttribute* found = find_attribute(w.node(), name);
  return found ? Ints(found->integers().begin(), found->integers().end()) : missing;
}

}  // namespace

Result<Nodes> col2im(Writer& w) {
  const auto image = two_numbers(w.known(1), 1), window = two_numbers(w.known(2), 1);
  if (!image || !window)
    return w.unsupported("image and window (inputs 1 and 2) are not two sizes that are known while compiling");
  const Ints strides = integers_of(w, "strides", {1, 1}), dilations = integers_of(w, "dilations", {1, 1}),
             pads = integers_of(w, "pads", {0, 0, 0, 0});
  const Dims& x = w.x();
  const int64_t pixels = (*window)[0] * (*window)[1];
  if (strides.size() != 2 || dilations.size() != 2 || pads.size() != 4 || x.size() != 3 || pixels > kKnownLimit ||
      x[1].batch || x[2].batch || x[1].value % pixels != 0)
    return w.invalid(fmt::format("its input is {} for windows of {} by {}", to_string(x), (*window)[0], (*window)[1]));
  Ints windows, more;  // along each axis, and the remainder after the last one
  for (size_t i = 0; i < 2; ++i) {
    const int64_t wide = (*image)[i] + pads[i] + pads[i + 2] - dilations[i] * ((*window)[i] - 1) - 1;
    if (strides[i] < 1 || dilations[i] < 1 || pads[i] < 0 || pads[i + 2] < 0 || wide < 0)
      return w.invalid(fmt::format("a window of {} does not fit an image of {}", (*window)[i], (*image)[i]));
    windows.push_back(wide / strides[i] + 1);
    more.push_back(wide % strides[i]);
  }
  if (windows[0] * windows[1] != x[2].value)
    return w.invalid(fmt::format("its input is {} for {} by {} windows", to_string(x), windows[0], windows[1]));

  KnownValue places{.element = ElementType::f32, .dims = {{pixels}, {1}, {(*window)[0]}, {(*window)[1]}}};
  if (pixels > kKnownLimit / pixels) return w.unsupported("its windows are too large");
  for (int64_t i = 0; i < pixels * pixels; ++i) places.reals.push_back(i % pixels == i / pixels ? 1 : 0);
  const int64_t channels = x[1].value / pixels;
  const std::string planes = w.write("Reshape", {w.input(0)}, "shape", {-1, pixels, windows[0], windows[1]});
  const std::string weights = w.constant(places);
  const std::string added = w.write("ConvTranspose", {planes, weights});
  w.set("strides", strides);
  w.set("dilations", dilations);
  w.set("pads", pads);
  w.set("output_padding", more);
  w.set("kernel_shape", *window);
  w.write("Reshape", {added}, "shape", {-1, channels, (*image)[0], (*image)[1]});
  return w.finish();
}

}  // namespace plimsoll::spelling
