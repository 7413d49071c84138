// Reductions of whole numbers, which have no kernels: by operators that have.
#include <fmt/format.h>

#include <numeric>

#include "compiler/network/simplify/spelling_writer.h"

namespace plimsoll::spelling {
namespace {

// Along which axes; none: the node changes nothing. Errors: unsupported, invalid_model.
Result<Ints> axes_of(const Writer& w) {
  const int64_t rank = static_cast<int64_t>(w.x().size());
  Ints axes;
  const KnownValue* const known = w.known(1);
  if (!w.input(1).empty() && (!known || known->real())) return w.unsupported("its axes are not known while compiling");
  if (known)
    for (int64_t i = 0; i < known->elements().value_or(0); ++i)
      axes.push_back(known->integer(static_cast<size_t>(i)).value);
  else if (const auto* attribute = find_attribute(w.node(), "axes"))
    axes = attribute->integers();
  if (axes.empty() && w.integer("noop_with_empty_axes", 0) == 0) {
    axes.resize(w.x().size());
    std::iota(axes.begin(), axes.end(), int64_t{0});
  }
  for (int64_t& axis : axes) {
    if (axis < -rank || axis >= rank) return w.invalid(fmt::format("axis {} of {}", axis, to_string(w.x())));
    if (axis < 0) axis += rank;
    if (w.x()[static_cast<size_t>(axis)].batch) return w.unsupported("reduces whole numbers of different samples");
  }
  return axes;
}

std::string slice(Writer& w, const std::string& x, int64_t axis, int64_t first, int64_t end) {
  const std::string from = w.integers({first}, {{1}}), to = w.integers({end}, {{1}});
  return w.write("Slice", {x, from, to, w.integers({axis}, {{1}})});
}

Nodes reduced(Writer& w, const std::string& y, const Ints& axes) {
  if (w.integer("keepdims", 1) == 0 && !axes.empty()) w.write("Squeeze", {y}, "axes", axes);
  else if (y == w.input(0)) w.write("Identity", {y});
  return w.finish();
}

}  // namespace

// The last of the running sums along each axis.
Result<Nodes> reduce_sum(Writer& w) {
  if (!of_whole_numbers(w)) return Nodes{};
  PLIMSOLL_ASSIGN(const Ints axes, axes_of(w));
  std::string sum = w.input(0);
  for (const int64_t axis : axes) {
    const int64_t length = w.x()[static_cast<size_t>(axis)].value;
    const std::string running = w.write("CumSum", {sum, w.integers({axis}, {})});
    sum = slice(w, running, axis, length - 1, length);
  }
  return reduced(w, sum, axes);
}

// The larger of two halves, again and again. Of an odd number of elements both halves have the middle one.
Result<Nodes> reduce_extreme(Writer& w) {
  if (!of_whole_numbers(w)) return Nodes{};
  PLIMSOLL_ASSIGN(const Ints axes, axes_of(w));
  std::string extreme = w.input(0);
  for (const int64_t axis : axes) {
    for (int64_t length = w.x()[static_cast<size_t>(axis)].value; length > 1;) {
      const int64_t half = (length + 1) / 2;
      const std::string front = slice(w, extreme, axis, 0, half), back = slice(w, extreme, axis, length - half, length);
      extreme = w.write(w.node().op == "ReduceMax" ? "Max" : "Min", {front, back});
      length = half;
    }
  }
  return reduced(w, extreme, axes);
}

}  // namespace plimsoll::spelling
