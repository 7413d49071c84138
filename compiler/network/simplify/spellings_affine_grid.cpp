// AffineGrid: the positions of an even grid over an image or a volume, transformed by one matrix per sample. The even
// grid is known:
//   theta [N, 2, 3]     MatMul of the grid's positions [1, H·W, 3], each (x, y, 1), with theta as [N, 3, 2]
#include <fmt/format.h>

#include <algorithm>

#include "compiler/network/simplify/spelling_writer.h"

namespace plimsoll::spelling {
namespace {

// From -1 to 1: the centres of the first and the last pixel, or their outer edges.
double even_place(int64_t i, int64_t count, bool align_corners) {
  const double at = static_cast<double>(i), n = static_cast<double>(count);
  if (!align_corners) return (2 * at + 1) / n - 1;
  return count == 1 ? 0 : 2 * at / (n - 1) - 1;
}

}  // namespace

Result<Nodes> affine_grid(Writer& w) {
  const Dims& theta = w.x();
  const KnownValue* size = w.known(1);
  if (!size || size->real() || size->dims.size() != 1 || !size->steps.empty() || !size->probes.empty())
    return w.unsupported("its size is not known while compiling");
  const size_t rank = static_cast<size_t>(size->dims[0].value), axes = rank - 2;
  if (size->dims[0].batch || (rank != 4 && rank != 5) || theta.size() != 3 ||
      theta[1] != Dim{static_cast<int64_t>(axes)} || theta[2] != Dim{static_cast<int64_t>(axes) + 1})
    return w.invalid(fmt::format("theta is {} for a size of {} numbers", to_string(theta), to_string(size->dims)));
  const Dim samples = size->integer(0);
  const bool of_example = theta[0] == kBatch && w.exported_batch() && samples == Dim{*w.exported_batch()};
  if (samples != theta[0] && !of_example)
    return w.unsupported(
        fmt::format("theta is {} for a grid of {} samples", to_string(theta), to_string(Dims{samples})));

  Ints shape = {theta[0].batch ? -1 : theta[0].value};
  int64_t places = 1;
  for (size_t i = 2; i < rank; ++i) {
    const Dim along = size->integer(i);
    if (along.batch || along.value < 1 || along.value > kKnownLimit || places > kKnownLimit)
      return w.unsupported("a grid of a size that is no number, or too large");
    shape.push_back(along.value);
    places *= along.value;
  }
  if (places > kKnownLimit) return w.unsupported(fmt::format("a grid of {} places", places));
  const bool align_corners = w.integer("align_corners", 0) != 0;
  KnownValue grid{.element = ElementType::f32, .dims = {{1}, {places}, {static_cast<int64_t>(axes) + 1}}};
  for (int64_t place = 0; place < places; ++place) {
    int64_t rest = place;
    for (size_t i = axes; i > 0; --i) {  // the last dimension of the size is the first coordinate
      grid.reals.push_back(static_cast<float>(even_place(rest % shape[i], shape[i], align_corners)));
      rest /= shape[i];
    }
    grid.reals.push_back(1);
  }
  const std::string even = w.constant(grid);
  const std::string turned = w.write("Transpose", {w.input(0)}, "perm", {0, 2, 1});
  const std::string moved = w.write("MatMul", {even, turned});
  shape.push_back(static_cast<int64_t>(axes));
  w.write("Reshape", {moved}, "shape", shape);
  return w.finish();
}

}  // namespace plimsoll::spelling
