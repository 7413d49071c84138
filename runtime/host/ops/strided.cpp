// Slice {x, y}   SliceBackward {dy, dx}   Transpose {x, y}: the same elements, traversed with other strides. Plain
// layouts. bf16 is moved as a number of the same width, or converted if the other tensor of a slice is f32 (rows of a
// table); only f32 accumulates.
#include <cstring>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"
#include "runtime/host/square.h"
#include "runtime/kernels.h"
#include "runtime/loops.h"

namespace plimsoll {
namespace {

std::vector<int64_t> strides_of(const TensorDesc& desc) {
  std::vector<int64_t> strides(desc.rank(), 1);
  for (size_t i = desc.rank(); i-- > 1;) strides[i - 1] = strides[i] * desc.dim(i);
  return strides;
}

template <bool Accumulate, class X, class Y>
void put(Y& to, X value) {
  if constexpr (Accumulate) to += value;
  else to = value;
}

// to[strides 0] = or += from[strides 1], over the loops.
template <bool Accumulate, class X, class Y>
void copy(const Loops<2>& loops, Y* to, const X* from) {
  const int64_t rows = loops.count(1), length = loops.counts[0];
  const int64_t to_step = loops.strides[0][0], from_step = loops.strides[1][0];
#pragma omp parallel for schedule(static) if (rows * length > 16384)
  for (int64_t i = 0; i < rows; ++i) {
    Y* y = to + loops.offset(0, i, 1);
    const X* x = from + loops.offset(1, i, 1);
    if (to_step == 1 && from_step == 1) {
      for (int64_t j = 0; j < length; ++j) put<Accumulate, X>(y[j], x[j]);
    } else {
      for (int64_t j = 0; j < length; ++j) put<Accumulate, X>(y[j * to_step], x[j * from_step]);
    }
  }
}

// The part of `whole` that a slice selects: loops over the slice, with its strides and those of the whole.
struct Window {
  Loops<2> loops;  // part, whole
  int64_t start = 0;     // in the whole
  int64_t elements;      // of the whole

  Window(const SliceAttrs& attrs, const TensorDesc& part, const TensorDesc& whole) : elements(whole.elements()) {
    const std::vector<int64_t> inner = strides_of(part), outer = strides_of(whole);
    loops.around(1, {1, 1});
    for (size_t axis = part.rank(); axis-- > 0;) {
      loops.around(part.dim(axis), {inner[axis], outer[axis] * attrs.steps[axis]});
      start += attrs.starts[axis] * outer[axis];
    }
  }
};

// y[line, column] = or += x[column, line] for lines [0, lines) and columns [0, columns), in squares where these are
// whole.
template <bool Accumulate, class T>
void transpose_tile(int64_t lines, int64_t columns, T* y, int64_t y_step, const T* x, int64_t x_step) {
  using Square = host::Square<T>;
  const int64_t whole_lines = lines / Square::kSize * Square::kSize;
  const int64_t whole_columns = columns / Square::kSize * Square::kSize;
  for (int64_t line = 0; line < whole_lines; line += Square::kSize) {
    for (int64_t column = 0; column < whole_columns; column += Square::kSize) {
      Square square;
      square.load(x + column * x_step + line, x_step);
      square.transpose();
      for (int i = 0; i < Square::kSize; ++i) {
        T* const to = y + (line + i) * y_step + column;
        typename Square::Row row = square.row(i);
        if constexpr (Accumulate) {
          typename Square::Row there;
          std::memcpy(&there, to, sizeof there);
          row += there;
        }
        std::memcpy(to, &row, sizeof row);
      }
    }
  }
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t column = line < whole_lines ? whole_columns : 0; column < columns; ++column)
      put<Accumulate, T>(y[line * y_step + column], x[line + column * x_step]);
}

// A loop nest in the order of y. If x and y are contiguous along different axes, tiles of a cache line by a cache line
// pass through the first-level cache, so that every line is read and written once.
template <bool Accumulate, class T>
void transpose(const Loops<2>& loops, size_t along, T* y, const T* x) {
  constexpr int64_t kTile = 64 / sizeof(T);
  const int64_t columns = loops.counts[0], x_step = loops.strides[1][0];
  const int64_t lines = loops.counts[along], y_step = loops.strides[0][along];
  Loops<2> around;
  for (size_t i = 1; i < loops.depth(); ++i)
    if (i != along) around.around(loops.counts[i], {loops.strides[0][i], loops.strides[1][i]});
  const int64_t strips = (lines + kTile - 1) / kTile, units = around.count(0) * strips;
#pragma omp parallel for schedule(static) if (units > 1)
  for (int64_t u = 0; u < units; ++u) {
    const int64_t first = u % strips * kTile, count = std::min(kTile, lines - first);
    T* to = y + around.offset(0, u / strips, 0) + first * y_step;
    const T* from = x + around.offset(1, u / strips, 0) + first;
    for (int64_t c = 0; c < columns; c += kTile)
      transpose_tile<Accumulate>(count, std::min(kTile, columns - c), to + c, y_step, from + c * x_step, x_step);
  }
}

class TransposeKernel final : public Kernel {
 public:
  TransposeKernel(const TransposeAttrs& attrs, std::span<const OperandDesc> operands)
      : accumulates_(operands[1].access == Access::update), halves_(operands[0].tensor.type == DataType::bf16) {
    const TensorDesc &x = operands[0].tensor, &y = operands[1].tensor;
    const std::vector<int64_t> from = strides_of(x), to = strides_of(y);
    const int64_t words = bytes_of(x.type) / (halves_ ? 2 : 4);  // moved without interpretation
    loops_.around(words, {1, 1});
    for (size_t axis = y.rank(); axis-- > 0;)
      loops_.around(y.dim(axis), {words * to[axis], words * from[static_cast<size_t>(attrs.perm[axis])]});
    for (size_t i = 1; i < loops_.depth(); ++i)
      if (loops_.strides[1][i] == 1) along_ = i;
  }

  void run(const RunContext&, std::byte* const* operands, std::byte*) override {
    if (halves_) return move<false, uint16_t>(operands);
    accumulates_ ? move<true, float>(operands) : move<false, float>(operands);
  }

 private:
  template <bool Accumulate, class T>
  void move(std::byte* const* operands) const {
    const T* x = host::in<T>(operands, 0);
    T* y = host::out<T>(operands, 1);
    if (loops_.strides[1][0] == 1 || along_ == 0) copy<Accumulate>(loops_, y, x);
    else transpose<Accumulate>(loops_, along_, y, x);
  }

  bool accumulates_, halves_;
  Loops<2> loops_;  // y, x
  size_t along_ = 0;      // the loop along which x is contiguous
};

// body(to, from): elements of operand 0 become those of operand 1.
template <class Body>
std::unique_ptr<Kernel> moved(std::span<const OperandDesc> operands, Body body) {
  const auto kernel = [&](auto from, auto to) -> std::unique_ptr<Kernel> {
    return host::flat_kernel([body](const RunContext&, std::byte* const* operand) {
      body(host::out<decltype(to)>(operand, 1), host::in<decltype(from)>(operand, 0));
    });
  };
  const DataType from = operands[0].tensor.type, to = operands[1].tensor.type;
  if (from == to) return from == DataType::bf16 ? kernel(uint16_t{}, uint16_t{}) : kernel(float{}, float{});
  return from == DataType::bf16 ? kernel(Bf16{}, float{}) : kernel(float{}, Bf16{});
}

}  // namespace

std::vector<Algorithm> Slice::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> Slice::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const Window window(attrs, operands[1].tensor, operands[0].tensor);
  return moved(operands, [window](auto* to, const auto* from) { copy<false>(window.loops, to, from + window.start); });
}

std::vector<Algorithm> SliceBackward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> SliceBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                            std::string_view) {
  Window window(attrs, operands[0].tensor, operands[1].tensor);
  std::swap(window.loops.strides[0], window.loops.strides[1]);
  const bool accumulates = operands[1].access == Access::update;
  if (accumulates)
    return host::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
      return host::flat_kernel([window](const RunContext&, std::byte* const* operand) {
        copy<true>(window.loops, host::out(operand, 1) + window.start, host::in<decltype(zero)>(operand, 0));
      });
    });
  return moved(operands, [window](auto* dx, const auto* dy) {
    host::for_elements(window.elements, [=](int64_t i) { dx[i] = {}; });
    copy<false>(window.loops, dx + window.start, dy);
  });
}

std::vector<Algorithm> Transpose::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> Transpose::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return std::make_unique<TransposeKernel>(attrs, operands);
}

}  // namespace plimsoll
