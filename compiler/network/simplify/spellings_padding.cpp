#include <algorithm>

#include "compiler/network/simplify/spelling_writer.h"

namespace plimsoll::spelling {
namespace {

// Pads per axis of the input.
struct Pads {
  Ints begin = {}, end = {};
};

// From the attribute (nullptr: there is none) or the input. nullopt: unknown at compile time.
std::optional<Ints> list_of(const Writer& w, const char* attribute, size_t input) {
  if (const auto* found = attribute ? find_attribute(w.node(), attribute) : nullptr)
    return Ints(found->integers().begin(), found->integers().end());
  const KnownValue* known = w.known(input);
  if (!known || known->real() || known->depends_on_batch()) return std::nullopt;
  Ints items;
  for (size_t i = 0; i < static_cast<size_t>(*known->elements()); ++i) items.push_back(known->integer(i).value);
  return items;
}

// nullopt: unknown at compile time, or invalid; the operator reports the error.
std::optional<Pads> pads_of(const Writer& w) {
  const int64_t rank = static_cast<int64_t>(w.x().size());
  const auto pads = list_of(w, "pads", 1);
  std::optional<Ints> axes;
  if (w.input(3).empty()) {
    axes.emplace();
    for (int64_t axis = 0; axis < rank; ++axis) axes->push_back(axis);
  } else {
    axes = list_of(w, nullptr, 3);
  }
  if (!pads || !axes || pads->size() != 2 * axes->size()) return std::nullopt;
  Pads listed{Ints(w.x().size(), 0), Ints(w.x().size(), 0)};
  for (size_t i = 0; i < axes->size(); ++i) {
    const int64_t axis = (*axes)[i] + ((*axes)[i] < 0 ? rank : 0);
    if (axis < 0 || axis >= rank) return std::nullopt;
    listed.begin[static_cast<size_t>(axis)] = (*pads)[i];
    listed.end[static_cast<size_t>(axis)] = (*pads)[axes->size() + i];
  }
  return listed;
}

std::string pad_axes(Writer& w, const std::string& x, const std::string& mode, const Ints& pads) {
  std::string padded;
  if (w.opset() < 11) {
    padded = w.write("Pad", {x}, "pads", pads);
  } else {
    const std::string numbers = w.integers(pads, {{static_cast<int64_t>(pads.size())}});
    padded = w.write("Pad", {x, numbers});
  }
  w.set_text("mode", mode);
  return padded;
}

// x, padded along one axis only.
std::string pad_axis(Writer& w, const std::string& x, const std::string& mode, size_t axis, int64_t begin,
                     int64_t end) {
  const size_t rank = w.x().size();
  Ints pads(2 * rank, 0);
  pads[axis] = begin;
  pads[rank + axis] = end;
  return pad_axes(w, x, mode, pads);
}

}  // namespace

// Pad with elements of the input along several axes: one node per axis. If mode wrap crops one end of an axis, it
// repeats the rest at the other end, as in PyTorch and onnxruntime: a Pad before it crops.
Result<Nodes> pad(Writer& w) {
  const std::string mode = w.text("mode", "constant");
  auto listed = mode == "constant" ? std::nullopt : pads_of(w);
  if (!listed) return Nodes{};
  const size_t rank = w.x().size();
  Ints padded, crops(2 * rank, 0);
  bool is_cropped = false;
  for (size_t axis = 0; axis < rank; ++axis) {
    int64_t &begin = listed->begin[axis], &end = listed->end[axis];
    if (begin != 0 || end != 0) padded.push_back(static_cast<int64_t>(axis));
    if (mode != "wrap" || std::min(begin, end) >= 0 || std::max(begin, end) <= 0) continue;
    crops[axis] = std::min<int64_t>(begin, 0);
    crops[rank + axis] = std::min<int64_t>(end, 0);
    begin = std::max<int64_t>(begin, 0);
    end = std::max<int64_t>(end, 0);
    is_cropped = true;
  }
  if (padded.size() < 2 && !is_cropped) return Nodes{};
  std::string x = is_cropped ? pad_axes(w, w.input(0), "constant", crops) : w.input(0);
  for (const int64_t axis : padded)
    x = pad_axis(w, x, mode, static_cast<size_t>(axis), listed->begin[static_cast<size_t>(axis)],
                 listed->end[static_cast<size_t>(axis)]);
  return w.finish();
}

// Expand for dimensions of 1, Pad with mode wrap for all others. In Expand, -1 is the number of samples.
Result<Nodes> tile(Writer& w) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const KnownValue* repeats = w.known(1);
  const Dims& dims = w.x();
  if (!repeats) return w.unsupported("its repeats are not known at compile time");
  if (repeats->real() || repeats->elements() != static_cast<int64_t>(dims.size()))
    return w.invalid(fmt::format("its repeats are not one integer per dimension of {}", to_string(dims)));
  Ints shape;
  bool stretches = false;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const Dim times = repeats->integer(axis);
    if (times.value < 1)
      return w.invalid(fmt::format("repeats axis {} of {} {} times", axis, to_string(dims), times.value));
    const bool by_samples = times == kBatch && axis == 0 && !dims[axis].batch;  // one copy per sample
    if (times.value > kMost || (times.batch && times != kBatch) ||
        ((times.batch || dims[axis].batch) && times != Dim{1} && dims[axis] != Dim{1} && !by_samples))
      return w.unsupported(fmt::format(
          "repeats axis {} of {}: the batch cannot be repeated, and no other axis can be repeated by the batch", axis,
          to_string(dims)));
    const bool stretched = dims[axis] == Dim{1} && times != Dim{1};
    stretches |= stretched;
    shape.push_back(!stretched ? 1 : times.batch ? -1 : times.value);
  }
  std::string x = w.input(0);
  if (!dims.empty() && repeats->integer(0) == kBatch && dims[0] != Dim{1}) {
    // [m, d…] as [1, m, d…], expanded to [N, m, d…], is [N·m, d…]: the copies for one sample are adjacent.
    Ints one = {1}, expanded = {-1}, whole = {-1};
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      one.push_back(dims[axis].value);
      expanded.push_back(1);
      if (axis > 0) whole.push_back(dims[axis].value);
    }
    const auto shaped = [&](const char* op, const Ints& items) {
      return w.write(op, {x, w.integers(items, {{static_cast<int64_t>(items.size())}})});
    };
    x = shaped("Reshape", one);
    x = shaped("Expand", expanded);
    x = shaped("Reshape", whole);
  }
  if (stretches) {
    const std::string target = w.integers(shape, {{static_cast<int64_t>(shape.size())}});
    x = w.write("Expand", {x, target});
  }
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const int64_t times = repeats->integer(axis).value;
    if (dims[axis] != Dim{1} && !repeats->integer(axis).batch && times != 1)
      x = pad_axis(w, x, "wrap", axis, 0, (times - 1) * dims[axis].value);
  }
  if (x == w.input(0)) w.write("Identity", {x});
  return w.finish();
}

// ConvTranspose with an output padding that is not below the stride, as PyTorch permits below the dilation: the kernels
// would find more windows in the output than there are pixels in the input. Whole strides of it are taken from the
// padding at the end, which crops the output. Rows that are still missing hold the bias alone. Over one dimension it is
// written over two, the first of which is 1.
Result<Nodes> output_padding(Writer& w) {
  const auto list = [&](const char* name, int64_t missing, size_t count) {
    const auto* found = find_attribute(w.node(), name);
    return found ? Ints(found->integers().begin(), found->integers().end()) : Ints(count, missing);
  };
  size_t rank = w.x().size() < 3 ? 0 : w.x().size() - 2;
  Ints more = list("output_padding", 0, rank), pads = list("pads", 0, 2 * rank), strides = list("strides", 1, rank);
  const bool is_sized = find_attribute(w.node(), "output_shape") || w.text("auto_pad", "NOTSET") != "NOTSET";
  if (more.size() != rank || strides.size() != rank || pads.size() != 2 * rank || is_sized) return Nodes{};
  const bool is_flat = rank == 1;
  if (is_flat && (!w.dims(1) || w.dims(1)->size() != 3)) return Nodes{};
  if (is_flat) {
    more = {0, more[0]};
    strides = {1, strides[0]};
    pads = {0, pads[0], 0, pads[1]};
    rank = 2;
  }
  Ints behind(2 * (rank + 2), 0);  // the rows that are missing, as the pads of a Pad
  bool is_less = false, is_padded = false;
  for (size_t i = 0; i < rank; ++i) {
    if (strides[i] < 1 || more[i] < strides[i]) continue;
    const int64_t whole = more[i] / strides[i] * strides[i], cropped = std::clamp<int64_t>(pads[rank + i], 0, whole);
    more[i] -= whole;
    pads[rank + i] -= cropped;
    behind[rank + 2 + 2 + i] = whole - cropped;
    is_less = true;
    is_padded |= whole > cropped;
  }
  if (!is_less) return Nodes{};
  const auto wide = [&](size_t i) { return is_flat ? w.write("Unsqueeze", {w.input(i)}, "axes", {2}) : w.input(i); };
  std::vector<std::string> inputs = {wide(0), wide(1)};
  const bool has_bias = !w.input(2).empty();
  if (has_bias && !is_padded) inputs.push_back(w.input(2));
  std::string y = w.write("ConvTranspose", inputs);
  for (const ModelAttribute& attribute : w.node().attributes) {
    if (attribute.name == "dilations" || attribute.name == "kernel_shape") {
      Ints items(attribute.integers().begin(), attribute.integers().end());
      if (is_flat) items.insert(items.begin(), 1);
      w.set(attribute.name, items);
    } else if (attribute.name == "group") {
      w.take_over(attribute);
    }
  }
  w.set("output_padding", more);
  w.set("pads", pads);
  w.set("strides", strides);
  if (is_padded) y = pad_axes(w, y, "constant", behind);
  if (is_padded && has_bias) {
    Ints behind_channels;
    for (size_t i = 0; i < rank; ++i) behind_channels.push_back(static_cast<int64_t>(i) + 1);
    const std::string bias = w.write("Unsqueeze", {w.input(2)}, "axes", behind_channels);
    y = w.write("Add", {y, bias});
  }
  if (is_flat) w.write("Squeeze", {y}, "axes", {2});
  return w.finish();
}

}  // namespace plimsoll::spelling
