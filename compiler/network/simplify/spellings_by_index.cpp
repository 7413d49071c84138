#include <fmt/format.h>

#include <algorithm>

#include "compiler/network/simplify/picks_of_each_sample.h"
#include "compiler/network/simplify/spellings_within_samples.h"

namespace plimsoll::spelling {
namespace {

bool depends_on_batch(const Dims& dims) {
  return std::any_of(dims.begin(), dims.end(), [](Dim dim) { return dim.batch; });
}

// By indices that are the same for each sample, from data without samples (position embeddings): gathered once, then
// repeated.
Result<Nodes> gather_once(Writer& w, const KnownValue& indices) {
  const int64_t rank = static_cast<int64_t>(w.x().size()), given = w.integer("axis", 0),
                axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank) return w.invalid(fmt::format("axis {} of {}", given, to_string(w.x())));
  KnownValue one = indices;
  if (std::count_if(one.dims.begin(), one.dims.end(), [](Dim dim) { return dim.batch; }) != 1)
    return w.unsupported("its indices depend on the batch");
  Ints shape;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != axis) shape.push_back(w.x()[static_cast<size_t>(i)].value);
    else for (const Dim dim : one.dims) shape.push_back(dim.batch ? -1 : dim.value);  // -1 is the number of samples
  }
  std::replace(one.dims.begin(), one.dims.end(), kBatch, Dim{1});
  const std::string rows = w.write("Gather", {w.input(0), w.constant(one)});
  w.set_integer("axis", axis);
  const std::string target = w.integers(shape, {{static_cast<int64_t>(shape.size())}});
  w.write("Expand", {rows, target});
  return w.finish();
}

// Written for each sample of the exporter's example, and the same for all of them.
bool alike_for_example(const Writer& w, const KnownValue& indices) {
  const auto batch = w.exported_batch();
  if (!batch || *batch < 2 || indices.depends_on_batch() || !indices.steps.empty() || indices.dims.empty() ||
      indices.dims[0] != Dim{*batch})
    return false;
  const size_t count = static_cast<size_t>(*indices.elements() / *batch);
  for (size_t i = count; i < static_cast<size_t>(*indices.elements()); ++i)
    if (indices.integer(i) != indices.integer(i % count)) return false;
  return count > 0;
}

// Indices [samples, …, depth] that begin with the sample's own number and are otherwise the same for each sample: what
// they select within one sample, as indices into its first dimensions merged into one.
std::optional<Ints> picks_within_sample(const KnownValue& indices, int64_t samples, const Dims& x) {
  const size_t depth = static_cast<size_t>(indices.dims.back().value),
               all = static_cast<size_t>(indices.elements().value_or(0));
  if (depth < 2 || indices.dims.size() < 2 || indices.dims[0] != Dim{samples} || samples < 1 ||
      all % (static_cast<size_t>(samples) * depth) != 0)
    return std::nullopt;
  const size_t of_sample = all / static_cast<size_t>(samples);
  Ints at;
  for (size_t i = 0; i < all; ++i) {
    const Dim given = indices.integer(i), first = indices.integer(i % of_sample);
    if (given.batch) return std::nullopt;
    if (i % depth == 0) {
      if (given.value != static_cast<int64_t>(i / of_sample)) return std::nullopt;
      if (i < of_sample) at.push_back(0);
      continue;
    }
    if (given != first) return std::nullopt;
    const int64_t size = x[i % depth].value;
    if (given.value < -size || given.value >= size) return std::nullopt;
    if (i < of_sample) at.back() = at.back() * size + (given.value < 0 ? given.value + size : given.value);
  }
  return at;
}

// GatherND that selects within each sample, which exporters write for mask[samples, places]: Gather along the sample's
// first dimensions merged into one.
std::optional<Nodes> gather_within_samples(Writer& w, const KnownValue& indices) {
  const Dims& x = w.x();
  if (w.integer("batch_dims", 0) != 0 || indices.real() || indices.dims.empty() || x.empty() || x[0] != kBatch)
    return std::nullopt;
  const size_t depth = static_cast<size_t>(indices.dims.back().value);
  if (depth < 2 || depth > x.size()) return std::nullopt;
  std::optional<Ints> at;
  if (indices.probes.size() > 1 && indices.dims[0] == kBatch) at = picks_within_sample(indices.probes[1], 2, x);
  else if (!indices.depends_on_batch() && indices.steps.empty() && w.exported_batch())
    at = picks_within_sample(indices, *w.exported_batch(), x);
  if (!at) return std::nullopt;
  const Dims places(indices.dims.begin() + 1, indices.dims.end() - 1);
  Ints merged = {-1, 1}, shape = {-1};
  for (size_t i = 1; i < depth; ++i) merged[1] *= x[i].value;
  for (const Dim dim : places) shape.push_back(dim.value);
  for (size_t i = depth; i < x.size(); ++i) {
    merged.push_back(x[i].value);
    shape.push_back(x[i].value);
  }
  bool all = static_cast<int64_t>(at->size()) == merged[1];
  for (size_t i = 0; i < at->size() && all; ++i) all = (*at)[i] == static_cast<int64_t>(i);
  if (all) {
    w.write("Reshape", {w.input(0)}, "shape", shape);
    return w.finish();
  }
  const std::string rows = depth == 2 ? w.input(0) : w.write("Reshape", {w.input(0)}, "shape", merged);
  const std::string numbers = w.integers(*at, places);
  w.write("Gather", {rows, numbers});
  w.set_integer("axis", 1);
  return w.finish();
}

}  // namespace

Result<Nodes> cast_like(Writer& w) {
  const ElementType to = w.element(1);
  if (to == ElementType::undefined)
    return w.unsupported(
        fmt::format("'{}' may hold booleans or bytes; use Cast with an explicit type instead", w.input(1)));
  w.write("Cast", {w.input(0)});
  w.set_integer("to", static_cast<int64_t>(to));
  return w.finish();
}

// Only the shape of the input is read. In it -1 is the number of samples; no file contains it.
Result<Nodes> random_like(Writer& w) {
  if (std::any_of(w.x().begin(), w.x().end(), [](Dim dim) { return dim.batch && dim != kBatch; }))
    return w.unsupported("draws random numbers for a multiple of the batch, " + to_string(w.x()));
  Ints shape;
  for (const Dim dim : w.x()) shape.push_back(dim.batch ? -1 : dim.value);
  w.write(w.node().op == "RandomNormalLike" ? "RandomNormal" : "RandomUniform", {}, "shape", shape);
  for (const ModelAttribute& attribute : w.node().attributes) w.take_over(attribute);
  return w.finish();
}

// By indices that are the same within each sample: the data is then viewed as rows per sample (as torch's exporter
// writes as_strided).
Result<Nodes> gather(Writer& w) {
  if (const SampleIndices* indices = w.of_samples(1)) return gather_of_samples(w, *indices);
  const KnownValue* indices = w.known(1);
  if (!indices) return Nodes{};
  const int64_t axis = w.integer("axis", 0);
  const auto of_samples = std::find(indices->dims.begin(), indices->dims.end(), kBatch);
  if (indices->alike_for_each_sample() && of_samples != indices->dims.end() && !depends_on_batch(w.x()))
    return gather_once(w, *indices);
  if (!depends_on_batch(w.x()) && alike_for_example(w, *indices) && w.follow()) {
    KnownValue alike = *indices;
    alike.dims[0] = kBatch;
    if (!alike.splat()) alike.ints.resize(alike.ints.size() / static_cast<size_t>(*w.exported_batch()));
    return gather_once(w, alike);
  }
  auto picks = axis == 0 && !w.x().empty() ? picks_of_each_sample(w.x()[0], *indices) : std::nullopt;
  if (!picks && axis == 0 && !w.x().empty() && w.exported_batch())
    picks = picks_of_each_sample(w.x()[0], *indices, *w.exported_batch());
  if (!picks && !indices->depends_on_batch()) return Nodes{};
  if (!picks)
    return Error{ExitCode::unsupported,
                 fmt::format("{}: its indices depend on the batch and differ between the samples of {}",
                             describe(w.node()), to_string(w.x()))};
  Ints shape = {-1};
  if (picks->all())
    for (const Dim dim : picks->dims) shape.push_back(dim.value);
  else
    shape.push_back(picks->length);
  for (size_t i = 1; i < w.x().size(); ++i) shape.push_back(w.x()[i].value);
  const std::string rows = w.write("Reshape", {w.input(0)}, "shape", shape);
  if (!picks->all()) {
    const std::string at = w.integers(picks->at, picks->dims);
    w.write("Gather", {rows, at});
    w.set_integer("axis", 1);
  }
  return w.finish();
}

namespace {

// From a table, by computed indices: its first axes are merged into one.
Result<Nodes> gather_nd_computed(Writer& w) {
  const Dims *indices = w.dims(1), &x = w.x();
  if (!indices || indices->empty() || indices->back().batch) return w.unsupported("how many numbers pick is not known");
  if (w.element(1) != ElementType::i64) return w.unsupported("its indices are not i64");
  if (w.integer("batch_dims", 0) != 0) return w.unsupported("batch_dims above 0 is not supported");
  const int64_t rank = static_cast<int64_t>(indices->size()), depth = indices->back().value;
  if (depth < 1 || depth > static_cast<int64_t>(x.size()))
    return w.invalid(fmt::format("indexes {} axes of {}", depth, to_string(x)));
  Ints shape = {1};
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].batch) return w.unsupported("picks from samples by computed numbers");
    if (static_cast<int64_t>(i) < depth) shape[0] *= x[i].value;
    else shape.push_back(x[i].value);
  }
  std::string row;
  for (int64_t k = 0; k < depth; ++k) {
    const std::string first = w.integers({k}, {{1}}), end = w.integers({k + 1}, {{1}}),
                      axis = w.integers({rank - 1}, {{1}});
    std::string at = w.write("Squeeze", {w.write("Slice", {w.input(1), first, end, axis})}, "axes", {rank - 1});
    if (depth == 1) {
      row = at;
      break;
    }
    const int64_t size = x[static_cast<size_t>(k)].value;
    const std::string from_end = w.write("Add", {at, w.integers({size}, {})});
    at = w.write("Where", {w.write("Less", {at, w.integers({0}, {})}), from_end, at});
    if (k > 0) {
      const std::string before = w.write("Mul", {row, w.integers({size}, {})});
      at = w.write("Add", {before, at});
    }
    row = at;
  }
  const std::string rows = depth == 1 ? w.input(0) : w.write("Reshape", {w.input(0)}, "shape", shape);
  w.write("Gather", {rows, row});
  return w.finish();
}

// Positions along the axes first, first + 1, … merged into one, by `count` indices of `depth` numbers each.
Result<Ints> known_places(const Writer& w, const KnownValue& indices, size_t depth, size_t count, size_t first = 0) {
  Ints places;
  for (size_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (size_t k = 0; k < depth; ++k) {
      const int64_t size = w.x()[first + k].value, given = indices.integer(i * depth + k).value;
      if (given < -size || given >= size)
        return w.invalid(
            fmt::format("index {} is out of range for axis {} of {}", given, first + k, to_string(w.x())));
      at = at * size + (given < 0 ? given + size : given);
    }
    places.push_back(at);
  }
  return places;
}

// batch_dims: each part along the first axes has indices of its own. If they are the same for all parts, as torch's
// exporter writes diagonal(), they are those of one Gather, and the axes that they index are merged into one.
Result<Nodes> gather_nd_alike(Writer& w, const KnownValue& indices, size_t parts) {
  const Dims& x = w.x();
  const size_t depth = static_cast<size_t>(indices.dims.back().value);
  if (depth < 1 || parts + depth > x.size())
    return w.invalid(fmt::format("indexes {} axes of {}, beginning with axis {}", depth, to_string(x), parts));
  Ints shape(parts, 0);  // 0: as it is
  shape.push_back(1);
  for (size_t i = parts; i < x.size(); ++i) {
    if (x[i].batch) return w.unsupported("indexes the batch, but each sample is computed separately");
    if (i < parts + depth) shape.back() *= x[i].value;
  }
  for (size_t i = parts + depth; i < x.size(); ++i) shape.push_back(x[i].value);
  const Dims places(indices.dims.begin() + static_cast<int64_t>(parts), indices.dims.end() - 1);
  size_t count = 1, all = 1;
  for (size_t i = 1; i + 1 < indices.dims.size(); ++i)
    (i < parts ? all : count) *= static_cast<size_t>(indices.dims[i].value);
  for (size_t i = 0; i < all * count * depth; ++i)
    if (indices.integer(i) != indices.integer(i % (count * depth)))
      return w.unsupported("its indices differ along the axes of batch_dims");
  PLIMSOLL_ASSIGN(const Ints at, known_places(w, indices, depth, count, parts));
  const std::string numbers = w.integers(at, places);
  const std::string merged = depth == 1 ? w.input(0) : w.write("Reshape", {w.input(0)}, "shape", shape);
  w.write("Gather", {merged, numbers});
  w.set_integer("axis", static_cast<int64_t>(parts));
  return w.finish();
}

}  // namespace

// Along the first axes at once: they are merged into one.
Result<Nodes> gather_nd(Writer& w) {
  const auto unsupported = [&](const std::string& why) {
    return Error{ExitCode::unsupported, fmt::format("{}: {}", describe(w.node()), why)};
  };
  if (const SampleIndices* indices = w.of_samples(1)) return gather_nd_of_samples(w, *indices);
  const KnownValue* indices = w.known(1);
  if (indices)
    if (auto nodes = gather_within_samples(w, *indices)) return *nodes;
  // Each sample has its own indices.
  const Dims* given = indices ? nullptr : w.dims(1);
  if (given && w.integer("batch_dims", 0) == 1 && given->size() > 1 && (*given)[0] == kBatch && given->back() == Dim{1})
    return gather_nd_of_samples(w, {.parts = {w.input(1)}, .dims = Dims(given->begin(), given->end() - 1)});
  if (!indices && w.is_computed(1)) return gather_nd_computed(w);
  // The same for each sample, and stored for one of them.
  const bool alike = indices && indices->alike_for_each_sample() && !indices->splat();
  if (!indices || indices->real() || (indices->depends_on_batch() && !alike) || indices->dims.empty())
    return unsupported("its indices are not known at compile time");
  if (const int64_t parts = w.integer("batch_dims", 0); parts != 0) {
    const auto leads = static_cast<size_t>(std::max<int64_t>(parts, 0));
    const bool same = parts > 0 && leads < indices->dims.size() && leads < w.x().size() &&
                      std::equal(w.x().begin(), w.x().begin() + parts, indices->dims.begin());
    if (!alike || !same || w.x()[0] != kBatch)
      return unsupported("with batch_dims, only indices that are known and the same for all samples are supported");
    return gather_nd_alike(w, *indices, leads);
  }
  const size_t depth = static_cast<size_t>(indices->dims.back().value);
  if (depth < 1 || depth > w.x().size())
    return w.invalid(fmt::format("indexes {} axes of {}", depth, to_string(w.x())));
  int64_t rows = 1;
  for (size_t i = 0; i < depth; ++i) {
    if (w.x()[i].batch) return unsupported("indexes the batch, but each sample is computed separately");
    rows *= w.x()[i].value;
  }
  Ints shape = {rows};
  for (size_t i = depth; i < w.x().size(); ++i) shape.push_back(w.x()[i].batch ? -1 : w.x()[i].value);
  const size_t numbers_given = alike ? indices->ints.size() : static_cast<size_t>(*indices->elements());
  PLIMSOLL_ASSIGN(const Ints at, known_places(w, *indices, depth, numbers_given / depth));
  const Dims places(indices->dims.begin(), indices->dims.end() - 1);
  if (alike) {
    if (depth > 1) return unsupported("indices shared by all samples index several axes");
    KnownValue numbers{.element = ElementType::i64, .dims = places};
    for (const int64_t item : at) numbers.ints.push_back({item});
    return gather_once(w, numbers);
  }
  const std::string numbers = w.integers(at, places);
  const std::string merged = depth == 1 ? w.input(0) : w.write("Reshape", {w.input(0)}, "shape", shape);
  w.write("Gather", {merged, numbers});
  return w.finish();
}

namespace {

// The samples 0, 1, 2, … one by one, all of them (torch's exporter writes x[:] = y like this).
bool writes_all_samples(const Writer& w, const KnownValue& indices) {
  const Dims* updates = w.dims(2);
  return updates && *updates == w.x() && !w.x().empty() && w.x()[0] == kBatch &&
         w.text("reduction", "none") == "none" && indices.dims == Dims{kBatch, {1}} && indices.steps.size() == 2 &&
         indices.steps[0] == 1 && indices.ints[0] == Dim{0};
}

// Indices [samples, …, depth] that begin with the sample's number and are otherwise the same for each sample: their
// positions within one sample.
std::optional<Ints> places_within_sample(const Writer& w, const KnownValue& indices) {
  const Dims& x = w.x();
  if (indices.real() || indices.dims.empty() || x.empty() || x[0] != kBatch) return std::nullopt;
  if (indices.dims.back().batch || static_cast<size_t>(indices.dims.back().value) > x.size()) return std::nullopt;
  if (indices.probes.size() > 1 && indices.dims[0] == kBatch) return picks_within_sample(indices.probes[1], 2, x);
  if (indices.depends_on_batch() || !indices.steps.empty() || !w.exported_batch()) return std::nullopt;
  return picks_within_sample(indices, *w.exported_batch(), x);
}

bool is_one_number(const KnownValue* updates) {
  return updates && updates->real() && !updates->reals.empty() &&
         std::all_of(updates->reals.begin(), updates->reals.end(),
                     [&](double item) { return item == updates->reals[0]; });
}

}  // namespace

// One number at known positions: these elements become that number (Swin v2 zeroes a part of its biases like this).
Result<Nodes> scatter_nd(Writer& w) {
  if (const SampleIndices* of_samples = w.of_samples(1)) return scatter_nd_of_samples(w, *of_samples);
  const KnownValue *indices = w.known(1), *updates = w.known(2);
  if (indices && writes_all_samples(w, *indices)) {
    w.write("Identity", {w.input(2)});
    return w.finish();
  }
  const Dims& x = w.x();
  if (const auto at = indices ? places_within_sample(w, *indices) : std::nullopt) {
    const size_t depth = static_cast<size_t>(indices->dims.back().value);
    KnownPlaces places{.axis = 1, .around = {-1, 1}};
    for (size_t i = 1; i < x.size(); ++i) (i < depth ? places.length : places.around[1]) *= x[i].value;
    if (places.length > kKnownLimit)
      return w.unsupported(fmt::format("selects from {} elements, too many", places.length));
    return scatter_known(w, *at, places);
  }
  if (!indices || indices->real() || indices->depends_on_batch() || indices->dims.empty())
    return w.unsupported("its indices are not known at compile time");
  const size_t depth = static_cast<size_t>(indices->dims.back().value);
  if (depth < 1 || depth > x.size()) return w.invalid(fmt::format("writes {} axes of {}", depth, to_string(x)));
  KnownPlaces places;
  for (size_t i = 0; i < depth; ++i) {
    if (x[i].batch) return w.unsupported("writes into the batch by index");
    places.length *= x[i].value;
  }
  if (places.length > kKnownLimit)
    return w.unsupported(fmt::format("selects from {} elements, too many", places.length));
  PLIMSOLL_ASSIGN(const Ints at,
                  known_places(w, *indices, depth, static_cast<size_t>(*indices->elements()) / depth));
  if (w.text("reduction", "none") != "none" || !is_one_number(updates)) {
    for (size_t i = depth; i < x.size(); ++i) places.around.push_back(x[i].batch ? -1 : x[i].value);
    return scatter_known(w, at, places);
  }
  Dims dims(x.begin(), x.begin() + static_cast<int64_t>(depth));
  dims.resize(x.size(), Dim{1});
  std::vector<Dim> written(static_cast<size_t>(places.length), Dim{0});
  for (const int64_t place : at) written[static_cast<size_t>(place)] = {1};
  const std::string mask = w.constant({.element = ElementType::boolean, .dims = dims, .ints = std::move(written)});
  const std::string number = w.number(static_cast<float>(updates->reals[0]));
  w.write("Where", {mask, number, w.input(0)});
  return w.finish();
}

}  // namespace plimsoll::spelling
