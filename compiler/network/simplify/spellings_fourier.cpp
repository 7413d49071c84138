// DFT, the discrete Fourier transform along one axis of a known length n: a product with a constant matrix. The numbers
// at the axis, with their real and imaginary parts, are one row of that product:
//
//   x [.., n, .., c] ─Transpose─▶ [.., n, c] ─Reshape─▶ [.., n·c] ─MatMul [n·c, m·d]─▶ [.., m·d] ─Reshape─▶ [.., m, d]
//
// c and d are 1 for real numbers and 2 for complex ones. A fast transform would take n log n operations, not n·m; the
// lengths that networks transform (tokens, features, pixels of a row) are short.
//
// STFT transforms overlapping frames of a signal. It is a convolution. Its kernels are the columns of such a matrix,
// for the length f of a frame, times the window:
//
//   x [N, l, c] ─Reshape, Transpose─▶ [N, c, 1, l] ─Conv [m·2, c, 1, f]─▶ [N, m·2, 1, frames]
//       ─Transpose─▶ [N, frames, m·2, 1] ─Reshape─▶ [N, frames, m, 2]
//
// If the window is a parameter, or computed, the kernels are multiplied by it at run time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "compiler/network/simplify/spelling_writer.h"

namespace plimsoll::spelling {
namespace {

struct Transform {
  size_t axis = 0;
  int64_t length = 0;                     // of the transform: inputs from there on are left out, missing ones are 0
  int64_t inputs = 0, input_parts = 0;    // n, c
  int64_t outputs = 0, output_parts = 2;  // m, d
  bool inverse = false;
  bool onesided = false;  // the frequencies are those of real numbers: the first half determines the other
};

// nullopt: not known at compile time. Opset 20 made the attribute an input.
std::optional<int64_t> axis_of(const Writer& w) {
  if (w.opset() < 20) return w.integer("axis", 1);
  if (w.input(2).empty()) return -2;
  const KnownValue* const known = w.known(2);
  if (!known || known->real() || known->elements() != 1) return std::nullopt;
  return known->integer(0).value;
}

// Input i, a single number.
Result<int64_t> number_at(const Writer& w, size_t i, const char* what) {
  const KnownValue* const known = w.known(i);
  if (!known || known->real() || known->elements() != 1 || known->integer(0).batch)
    return w.unsupported(fmt::format("its {} is not known at compile time", what));
  return known->integer(0).value;
}

// Before: everything but the outputs is known. `most`: elements of the matrix.
Result<Transform> with_outputs(const Writer& w, Transform found, int64_t most = kKnownLimit) {
  if (found.length < 1 || found.inputs < 1) return w.invalid(fmt::format("a transform of length {}", found.length));
  found.outputs = found.onesided && !found.inverse ? found.length / 2 + 1 : found.length;
  found.output_parts = found.onesided && found.inverse ? 1 : 2;
  if (found.length > most || found.inputs > most ||
      found.inputs * found.input_parts > most / (found.outputs * found.output_parts))
    return w.unsupported(
        fmt::format("a transform of length {} needs a matrix of more than {} elements", found.length, most));
  return found;
}

Result<Transform> transform_of(const Writer& w) {
  const Dims& x = w.x();
  const int64_t rank = static_cast<int64_t>(x.size());
  std::optional<int64_t> axis = axis_of(w);
  if (!axis) return w.unsupported("its axis is not known at compile time");
  if (*axis < 0) *axis += rank;
  if (*axis < 0 || *axis > rank - 2 || x.back().batch || x.back().value < 1 || x.back().value > 2)
    return w.invalid(fmt::format("its input is {}, axis {}; expected an axis before the last, which has 1 or 2 numbers",
                                 to_string(x), *axis));
  const Dim along = x[static_cast<size_t>(*axis)];
  if (along.batch) return w.unsupported("it transforms across samples");
  Transform found{.axis = static_cast<size_t>(*axis),
                  .inputs = along.value,
                  .input_parts = x.back().value,
                  .inverse = w.integer("inverse", 0) != 0,
                  .onesided = w.integer("onesided", 0) != 0};
  if (found.onesided && found.inverse != (found.input_parts == 2))
    return w.invalid(fmt::format("its input is {}; onesided, it transforms {} numbers", to_string(x),
                                 found.inverse ? "complex" : "real"));
  found.length = found.onesided && found.inverse ? 2 * (found.inputs - 1) : found.inputs;
  if (!w.input(1).empty()) {
    PLIMSOLL_ASSIGN(found.length, number_at(w, 1, "length"));
  }
  return with_outputs(w, found);
}

// What input `i` counts. In the onesided inverse, a frequency stands for its mirror image too, if it has one.
double share_of(const Transform& of, int64_t i) {
  if (i >= of.length) return 0;
  if (!of.inverse) return 1;
  const double one = 1 / static_cast<double>(of.length);
  if (!of.onesided || i == 0 || 2 * i == of.length) return one;
  return 2 * i < of.length ? 2 * one : 0;
}

// The factor of one part of input i in one part of an output. Part 0 is real, part 1 imaginary.
float weight_of(const Transform& of, int64_t i, int64_t part, int64_t output, int64_t output_part) {
  const double turn = static_cast<double>(i * output % of.length) / static_cast<double>(of.length);
  const double angle = 2 * std::numbers::pi * (of.inverse ? turn : -turn), share = share_of(of, i);
  if (part == output_part) return static_cast<float>(share * std::cos(angle));
  return static_cast<float>((part == 0 ? share : -share) * std::sin(angle));
}

// [n·c, m·d]
KnownValue matrix_of_transform(const Transform& of) {
  KnownValue matrix{.element = ElementType::f32,
                    .dims = {{of.inputs * of.input_parts}, {of.outputs * of.output_parts}}};
  for (int64_t i = 0; i < of.inputs; ++i)
    for (int64_t part = 0; part < of.input_parts; ++part)
      for (int64_t k = 0; k < of.outputs; ++k)
        for (int64_t output_part = 0; output_part < of.output_parts; ++output_part)
          matrix.reals.push_back(weight_of(of, i, part, k, output_part));
  return matrix;
}

// Elements of all kernels of an STFT: frames of 4,096 have 16 million.
constexpr int64_t kMostKernels = 5 * kKnownLimit;

struct Frames {
  Transform each = {};
  int64_t step = 0;
  const KnownValue* window = nullptr;  // null: of ones, or not constant
};

// `known`: null if it is a parameter, or computed.
Result<int64_t> size_of_window(const Writer& w, const KnownValue* known) {
  const Dims* const dims = known ? &known->dims : w.dims(2);
  if (!dims || (known ? !known->real() : w.element(2) != ElementType::f32))
    return w.unsupported("its window is not known at compile time");
  if (dims->size() != 1) return w.invalid(fmt::format("its window is {}; expected one dimension", to_string(*dims)));
  if (dims->front().batch) return w.unsupported("its window depends on the number of samples");
  return dims->front().value;
}

Result<Frames> frames_of(const Writer& w) {
  const Dims& x = w.x();
  const bool parts = x.size() == 3;  // PyTorch's exporters leave the dimension of 1 out
  if (x.size() < 2 || x.size() > 3 || (parts && (x[2].batch || x[2].value < 1 || x[2].value > 2)))
    return w.invalid(fmt::format("its signal is {}; expected [samples, length, 1 or 2]", to_string(x)));
  if (x[1].batch) return w.unsupported("it transforms across samples");
  Frames found{.each = {.input_parts = parts ? x[2].value : 1, .onesided = w.integer("onesided", 1) != 0}};
  PLIMSOLL_ASSIGN(found.step, number_at(w, 1, "step"));
  std::optional<int64_t> window;
  if (!w.input(2).empty()) {
    found.window = w.known(2);
    PLIMSOLL_ASSIGN(window, size_of_window(w, found.window));
    found.each.length = *window;
  }
  if (!w.input(3).empty()) {
    PLIMSOLL_ASSIGN(found.each.length, number_at(w, 3, "length of a frame"));
  }
  found.each.inputs = found.each.length;
  if (found.step < 1 || found.each.length > x[1].value)
    return w.invalid(fmt::format("frames of {} at every {} numbers, of a signal of {}", found.each.length, found.step,
                                 x[1].value));
  if (window && *window != found.each.length)
    return w.invalid(fmt::format("a window of {} numbers, for frames of {}", *window, found.each.length));
  if (found.each.onesided && found.each.input_parts == 2)
    return w.invalid(fmt::format("its signal is {}; onesided, it transforms real numbers", to_string(x)));
  PLIMSOLL_ASSIGN(found.each, with_outputs(w, found.each, kMostKernels));
  return found;
}

// [count, c, 1, f]: columns of the transform's matrix from `first` on, times the window.
KnownValue kernels_of(const Frames& frames, int64_t first, int64_t count) {
  const Transform& of = frames.each;
  KnownValue kernels{.element = ElementType::f32, .dims = {{count}, {of.input_parts}, {1}, {of.inputs}}};
  for (int64_t column = first; column < first + count; ++column)
    for (int64_t part = 0; part < of.input_parts; ++part)
      for (int64_t i = 0; i < of.inputs; ++i) {
        const double window = frames.window ? frames.window->number(static_cast<size_t>(i)) : 1;
        const float weight = weight_of(of, i, part, column / of.output_parts, column % of.output_parts);
        kernels.reals.push_back(static_cast<float>(weight * window));
      }
  return kernels;
}

}  // namespace

Result<Nodes> fourier_transform(Writer& w) {
  PLIMSOLL_ASSIGN(const Transform of, transform_of(w));
  const size_t rank = w.x().size();
  Ints to_end, back(rank);  // the permutation that puts the axis next to the last, and its inverse
  for (size_t i = 0; i < rank; ++i)
    if (i != of.axis) to_end.push_back(static_cast<int64_t>(i));
  to_end.insert(std::prev(to_end.end()), static_cast<int64_t>(of.axis));
  for (size_t i = 0; i < rank; ++i) back[static_cast<size_t>(to_end[i])] = static_cast<int64_t>(i);
  const bool moves = !std::ranges::is_sorted(to_end);

  const std::string matrix = w.constant(matrix_of_transform(of));
  const std::string moved = moves ? w.write("Transpose", {w.input(0)}, "perm", to_end) : w.input(0);
  Ints shape(rank - 2, 0);  // 0: as it is
  shape.push_back(of.inputs * of.input_parts);
  const std::string rows = w.write("Reshape", {moved}, "shape", shape);
  const std::string transformed = w.write("MatMul", {rows, matrix});
  shape.back() = of.outputs;
  shape.push_back(of.output_parts);
  const std::string numbers = w.write("Reshape", {transformed}, "shape", shape);
  if (moves) w.write("Transpose", {numbers}, "perm", back);
  return w.finish();
}

Result<Nodes> fourier_transforms_of_frames(Writer& w) {
  PLIMSOLL_ASSIGN(const Frames of, frames_of(w));
  const int64_t length = w.x()[1].value, frames = 1 + (length - of.each.length) / of.step;
  std::string signal = w.write("Reshape", {w.input(0)}, "shape", {0, 1, length, of.each.input_parts});
  signal = w.write("Transpose", {signal}, "perm", {0, 3, 1, 2});
  // A constant has at most kKnownLimit elements.
  const int64_t columns = of.each.outputs * of.each.output_parts;
  const int64_t at_once = std::max<int64_t>(1, kKnownLimit / (of.each.input_parts * of.each.inputs));
  std::vector<std::string> parts;
  for (int64_t first = 0; first < columns; first += at_once) {
    std::string kernels = w.constant(kernels_of(of, first, std::min(at_once, columns - first)));
    if (!w.input(2).empty() && !of.window) kernels = w.write("Mul", {kernels, w.input(2)});
    parts.push_back(w.write("Conv", {signal, kernels}, "strides", {1, of.step}));
  }
  const std::string transformed = w.concat(parts, 1);
  const std::string rows = w.write("Transpose", {transformed}, "perm", {0, 3, 1, 2});
  w.write("Reshape", {rows}, "shape", {0, frames, of.each.outputs, of.each.output_parts});
  return w.finish();
}

}  // namespace plimsoll::spelling
