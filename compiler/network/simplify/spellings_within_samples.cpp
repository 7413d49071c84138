// Reads and writes by indices within each sample: x is viewed as [N, length, width], and elements are selected along
// the middle dimension, by indices that are the same for all elements of a row.
//   x[arange(N), i]           Reshape, Expand of i, GatherElements, Reshape
//   x[arange(N), i] = y       Reshape, Expand of i, ScatterElements, Reshape
// Also writes by indices known at compile time:
//   x[2:5] = y                Split, Concat
//   x[[1, 7, 4]] = y          Where of x and of rows that a Gather moves to their positions
#include "compiler/network/simplify/spellings_within_samples.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll::spelling {
namespace {

int64_t product_of_dims(const Dims& dims, size_t first, size_t end) {
  int64_t count = 1;
  for (size_t i = first; i < end; ++i) count *= dims[i].value;
  return count;
}

// x [N, S1, S2, …, W…] with `depth` dimensions S, for indices [N, K…].
struct WithinView {
  int64_t length = 1, width = 1, count = 1;
  Ints sizes = {};  // S1, S2, …
};

// The indices, repeated for each element of a row: [N, count, width].
std::string spread(Writer& w, const WithinView& view, const SampleIndices& indices) {
  std::string numbers = indices.parts[0];
  if (indices.parts.size() > 1) {
    // i · S2 + j, each counted from the front.
    for (size_t i = 0; i < indices.parts.size(); ++i) {
      const std::string size = w.integers({view.sizes[i]}, {}), none = w.integers({0}, {});
      const std::string below = w.write("Less", {indices.parts[i], none});
      const std::string from_end = w.write("Add", {indices.parts[i], size});
      const std::string part = w.write("Where", {below, from_end, indices.parts[i]});
      if (i == 0) {
        numbers = part;
        continue;
      }
      const std::string rows = w.write("Mul", {numbers, size});
      numbers = w.write("Add", {rows, part});
    }
  }
  const std::string column = w.write("Reshape", {numbers}, "shape", {-1, view.count, 1});
  if (view.width == 1) return column;
  const std::string wide = w.integers({1, view.count, view.width}, {{3}});
  return w.write("Expand", {column, wide});
}

Result<WithinView> view_of(const Writer& w, const SampleIndices& indices, const Dims& x, size_t depth) {
  if (x.size() <= depth || x[0] != kBatch || std::any_of(x.begin() + 1, x.end(), [](Dim dim) { return dim.batch; }))
    return w.unsupported(
        fmt::format("its indices address {} dimensions of each sample, more than {} has", depth, to_string(x)));
  WithinView view;
  for (size_t i = 1; i <= depth; ++i) view.sizes.push_back(x[i].value);
  view.length = product_of_dims(x, 1, depth + 1);
  view.width = product_of_dims(x, depth + 1, x.size());
  view.count = product_of_dims(indices.dims, 1, indices.dims.size());
  return view;
}

std::string as_rows(Writer& w, const std::string& name, int64_t length, int64_t width) {
  return w.write("Reshape", {name}, "shape", {-1, length, width});
}

Ints as_target(const Dims& dims) {
  Ints target;
  for (const Dim dim : dims) target.push_back(dim.batch ? -1 : dim.value);
  return target;
}

Nodes gather_rows(Writer& w, const WithinView& view, const SampleIndices& indices, const Dims& rest) {
  const std::string rows = as_rows(w, w.input(0), view.length, view.width), numbers = spread(w, view, indices);
  const std::string picked = w.write("GatherElements", {rows, numbers});
  w.set_integer("axis", 1);
  Dims dims = indices.dims;
  dims.insert(dims.end(), rest.begin(), rest.end());
  w.write("Reshape", {picked}, "shape", as_target(dims));
  return w.finish();
}

}  // namespace

Result<Nodes> gather_of_samples(Writer& w, const SampleIndices& indices) {
  const Dims& x = w.x();
  const bool of_one = indices.length == 0 && !x.empty() && x[0].batch;  // the example has one sample
  if (w.integer("axis", 0) != 0 || x.empty() || (!of_one && x[0] != Dim{indices.length, true}))
    return w.unsupported(
        fmt::format("its indices step by {} from sample to sample, but it reads {}", indices.length, to_string(x)));
  const Dims rest(x.begin() + 1, x.end());
  const WithinView view{.length = x[0].value,
                        .width = product_of_dims(rest, 0, rest.size()),
                        .count = product_of_dims(indices.dims, 1, indices.dims.size())};
  return gather_rows(w, view, indices, rest);
}

Result<Nodes> gather_nd_of_samples(Writer& w, const SampleIndices& indices) {
  const size_t depth = indices.parts.size();
  PLIMSOLL_ASSIGN(const WithinView view, view_of(w, indices, w.x(), depth));
  return gather_rows(w, view, indices, Dims(w.x().begin() + 1 + static_cast<int64_t>(depth), w.x().end()));
}

namespace {

const char* operator_of(const std::string& reduction) {
  if (reduction == "add") return "Add";
  if (reduction == "mul") return "Mul";
  return reduction == "max" ? "Max" : "Min";
}

// A part of each sample, given by known indices: split along each dimension, and concatenated again.
Result<Nodes> write_box(Writer& w, const std::vector<IndexRun>& box) {
  const std::string reduction = w.text("reduction", "none");
  struct Cut {
    int64_t axis;
    std::vector<std::string> parts;
    size_t written;
  };
  std::vector<Cut> cuts;
  std::string inside = w.input(0);
  Ints shape = as_target(w.x());
  for (size_t i = 0; i < box.size(); ++i) {
    const int64_t size = w.x()[1 + i].value, behind = size - box[i].first - box[i].count;
    if (behind < 0) return w.invalid(fmt::format("writes past the end of axis {} of {}", 1 + i, to_string(w.x())));
    shape[1 + i] = box[i].count;
    if (box[i].count == size) continue;
    Ints lengths = {box[i].count};
    if (box[i].first > 0) lengths.insert(lengths.begin(), box[i].first);
    if (behind > 0) lengths.push_back(behind);
    Cut cut{.axis = static_cast<int64_t>(1 + i), .parts = {}, .written = box[i].first > 0 ? size_t{1} : size_t{0}};
    cut.parts = w.split(inside, cut.axis, lengths);
    inside = cut.parts[cut.written];
    cuts.push_back(std::move(cut));
  }
  const std::string updates = w.write("Reshape", {w.input(2)}, "shape", shape);
  inside = reduction == "none" ? updates : w.write(operator_of(reduction), {inside, updates});
  for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {
    cut->parts[cut->written] = inside;
    inside = w.concat(cut->parts, cut->axis);
  }
  return w.finish();
}

}  // namespace

Result<Nodes> scatter_nd_of_samples(Writer& w, const SampleIndices& indices) {
  const bool fits = w.x().size() > indices.box.size() && w.x()[0] == kBatch;
  if (!indices.box.empty() && fits) return write_box(w, indices.box);
  const std::string reduction = w.text("reduction", "none");
  if (reduction != "none" && reduction != "add")
    return w.unsupported("reduction " + reduction +
                         " with indices of each sample; only 'none' and 'add' are supported");
  PLIMSOLL_ASSIGN(const WithinView view, view_of(w, indices, w.x(), indices.parts.size()));
  const std::string rows = as_rows(w, w.input(0), view.length, view.width), numbers = spread(w, view, indices);
  const std::string updates = as_rows(w, w.input(2), view.count, view.width);
  const std::string written = w.write("ScatterElements", {rows, numbers, updates});
  w.set_integer("axis", 1);
  w.take_over({.name = "reduction", .value = reduction});
  w.write("Reshape", {written}, "shape", as_target(w.x()));
  return w.finish();
}

namespace {

// For each element, the position of its update; for duplicates, the last one. -1: nothing is written there.
struct PlacesOfUpdates {
  Ints of_row = {};
  bool twice = false;
};

PlacesOfUpdates places_of_updates(const Ints& at, int64_t length) {
  PlacesOfUpdates places{.of_row = Ints(static_cast<size_t>(length), -1)};
  for (size_t i = 0; i < at.size(); ++i) {
    int64_t& place = places.of_row[static_cast<size_t>(at[i])];
    places.twice = places.twice || place >= 0;
    place = static_cast<int64_t>(i);
  }
  return places;
}

bool in_a_run(const Ints& at) {
  for (size_t i = 1; i < at.size(); ++i)
    if (at[i] != at[i - 1] + 1) return false;
  return !at.empty();
}

}  // namespace

Result<Nodes> scatter_known(Writer& w, const Ints& at, const KnownPlaces& places) {
  const std::string reduction = w.text("reduction", "none");
  const int64_t axis = static_cast<int64_t>(places.axis), count = static_cast<int64_t>(at.size());
  const PlacesOfUpdates of_updates = places_of_updates(at, places.length);
  Ints shape = places.around, shape_of_updates = places.around;
  shape.insert(shape.begin() + axis, places.length);
  shape_of_updates.insert(shape_of_updates.begin() + axis, count);
  const std::string x = w.write("Reshape", {w.input(0)}, "shape", shape);
  const std::string updates = w.write("Reshape", {w.input(2)}, "shape", shape_of_updates);
  std::string written;
  if (reduction == "none" && in_a_run(at)) {
    const int64_t behind = places.length - at[0] - count;
    Ints lengths = {count};
    if (at[0] > 0) lengths.insert(lengths.begin(), at[0]);
    if (behind > 0) lengths.push_back(behind);
    std::vector<std::string> parts = w.split(x, axis, lengths);
    parts[at[0] > 0 ? 1 : 0] = updates;
    written = w.concat(parts, axis);
  } else if (of_updates.twice && reduction == "add") {
    Dims column(shape.size(), Dim{1});
    column[places.axis] = {count};
    const std::string numbers = w.integers(at, column);
    const std::string target = w.integers(shape_of_updates, {{static_cast<int64_t>(shape.size())}});
    const std::string all = w.write("Expand", {numbers, target});
    written = w.write("ScatterElements", {x, all, updates});
    w.set_integer("axis", axis);
    w.take_over({.name = "reduction", .value = reduction});
  } else {
    if (of_updates.twice && reduction != "none")
      return w.unsupported("writes an element twice with reduction " + reduction);
    Ints rows = of_updates.of_row;
    KnownValue mask{.element = ElementType::boolean, .dims = {{places.length}}};
    mask.dims.resize(static_cast<size_t>(static_cast<int64_t>(shape.size()) - axis), Dim{1});
    for (int64_t& row : rows) {
      mask.ints.push_back({row >= 0 ? 1 : 0});
      row = std::max<int64_t>(row, 0);
    }
    const std::string chosen = w.integers(rows, {{places.length}});
    std::string in_place = w.write("Gather", {updates, chosen});
    w.set_integer("axis", axis);
    if (reduction != "none") in_place = w.write(operator_of(reduction), {x, in_place});
    const std::string is_written = w.constant(mask);
    written = w.write("Where", {is_written, in_place, x});
  }
  w.write("Reshape", {written}, "shape", as_target(w.x()));
  return w.finish();
}

}  // namespace plimsoll::spelling
