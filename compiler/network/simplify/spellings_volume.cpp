// Resize of depth, height and width, as two image resizes:
//
//   [N, C, D, H, W] ─► [N, C·D, H, W]   height and width   [N, C·D, h, w]
//                   ─► [N, C, D, h·w]   the depth          [N, C, d, h·w] ─► [N, C, d, h, w]
//
// Nearest-neighbour and linear interpolation are separable by axis.
#include <algorithm>

#include "compiler/network/simplify/spelling_writer.h"

namespace plimsoll::spelling {
namespace {

constexpr size_t kVolumeRank = 5;

bool has_sizes(const Dims& x) {
  return std::none_of(x.begin() + 1, x.end(), [](Dim dim) { return dim.batch; });
}

std::string reshape(Writer& w, const std::string& x, const Ints& shape) {
  return w.write("Reshape", {x}, "shape", shape);
}

// Resizes height and width, then the depth; `step` writes one of the two: step(x, depth?).
template <class Step>
void write_in_two(Writer& w, Step step) {
  const Dims& x = w.x();
  const int64_t channels = x[1].value, depth = x[2].value;
  step(reshape(w, w.input(0), {0, channels * depth, x[3].value, x[4].value}), false);
  const std::string images = w.last(), sizes = w.write("Shape", {images});
  w.set_integer("start", 2);
  step(reshape(w, images, {0, channels, depth, -1}), true);
  const std::string columns = w.last(), in_front = w.write("Shape", {columns});
  w.set_integer("end", 3);
  const std::string shape = w.concat({in_front, sizes}, 0);
  w.write("Reshape", {columns, shape});
}

// One of the two Resizes. `given` has an entry for each of the five dimensions; in sizes, -1 is the number of samples.
void write_part(Writer& w, const std::string& x, const KnownValue& given, bool depth) {
  KnownValue four{.element = given.element, .dims = {{4}}};
  const Dims& volume = w.x();
  if (given.real()) {
    four.reals = depth ? std::vector<double>{1, 1, given.number(2), 1}
                       : std::vector<double>{1, 1, given.number(3), given.number(4)};
  } else if (depth) {
    four.ints = {{-1}, volume[1], given.integer(2), {given.integer(3).value * given.integer(4).value}};
  } else {
    four.ints = {{-1}, {volume[1].value * volume[2].value}, given.integer(3), given.integer(4)};
  }
  resize_images(w, x, four);
}

}  // namespace

Result<Nodes> resize_volume(Writer& w, const KnownValue* given) {
  const Dims& x = w.x();
  const std::string mode = w.text("mode", "nearest");
  if (x.size() != kVolumeRank || !has_sizes(x) || (mode != "nearest" && mode != "linear")) return Nodes{};
  if (!given || given->splat() || given->dims != Dims{{kVolumeRank}} || find_attribute(w.node(), "axes"))
    return Nodes{};
  for (size_t i = 0; i < kVolumeRank; ++i) {  // the operator rejects a change of samples or channels
    if (given->real() ? i < 2 && given->number(i) != 1 : i == 1 && given->integer(i) != x[i]) return Nodes{};
    if (!given->real() && i > 1 && given->integer(i).batch) return Nodes{};
  }
  write_in_two(w, [&](const std::string& part, bool of_depth) { write_part(w, part, *given, of_depth); });
  return w.finish();
}

}  // namespace plimsoll::spelling
