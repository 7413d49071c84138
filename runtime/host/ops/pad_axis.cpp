// PadAxis {x, y}            pads one axis with elements of x: [outer, n, inner] → [outer, m, inner]
// PadAxisBackward {dy, dx}  an element of dx is the sum of all elements of dy that are copies of it, in a fixed order
#include <algorithm>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"
#include "runtime/loops.h"

namespace plimsoll {
namespace {

struct PadAxisShape {
  int64_t outer = 1, n = 1, m = 1, inner = 1;
  int64_t begin = 0, mode = 0;

  PadAxisShape(const PadAxisAttrs& attrs, const TensorDesc& x, const TensorDesc& y)
      : begin(attrs.begin), mode(attrs.mode) {
    const std::vector<int64_t> from = physical_dims(x, x.rank(), x.layout), to = physical_dims(y, y.rank(), y.layout);
    if (x.layout != Layout::plain && attrs.axis < 2) throw KernelError("PadAxis: blocks of channels cannot be padded");
    const size_t axis = static_cast<size_t>(x.layout == Layout::nhwc ? attrs.axis - 1 : attrs.axis);
    if (from.size() != to.size() || axis >= from.size()) throw KernelError("PadAxis: no such axis");
    for (size_t i = 0; i < from.size(); ++i) {
      if (i == axis) continue;
      if (from[i] != to[i]) throw KernelError("PadAxis: only one axis is padded");
      (i < axis ? outer : inner) *= from[i];
    }
    n = from[axis];
    m = to[axis];
  }

  // The element of x that element `at` of y is a copy of.
  int64_t source(int64_t at) const {
    at -= begin;
    if (mode == PadAxisAttrs::kEdge || n == 1) return std::clamp<int64_t>(at, 0, n - 1);
    const int64_t period = mode == PadAxisAttrs::kWrap ? n : 2 * (n - 1);
    const int64_t within = ((at % period) + period) % period;
    return within < n ? within : period - within;
  }

  // f(p) for every element p of y that is a copy of element `at` of x.
  template <class F>
  void each_place(int64_t at, F f) const {
    if (mode == PadAxisAttrs::kEdge || n == 1) {
      const int64_t first = at == 0 ? 0 : std::max<int64_t>(0, begin + at);
      const int64_t end = at == n - 1 ? m : std::min(m, begin + at + 1);
      for (int64_t p = first; p < end; ++p) f(p);
      return;
    }
    const int64_t period = mode == PadAxisAttrs::kWrap ? n : 2 * (n - 1);
    const auto every = [&](int64_t place) {
      for (int64_t p = ((place % period) + period) % period; p < m; p += period) f(p);
    };
    every(begin + at);
    if (mode == PadAxisAttrs::kReflect && at > 0 && at < n - 1) every(begin - at);
  }
};

// If less than this is contiguous, a thread takes a whole stretch of the axis, most of which is one copy.
constexpr int64_t kShortPadRow = 16;

// Elements [first, end) of y are elements of x in their order; those around them are copies of some of these.
struct Middle {
  int64_t first, end;
  explicit Middle(const PadAxisShape& s)
      : first(std::clamp<int64_t>(s.begin, 0, s.m)), end(std::clamp<int64_t>(s.begin + s.n, first, s.m)) {}
};

template <class T>
void pad_stretch(const PadAxisShape& s, const T* x, T* y) {
  const Middle middle(s);
  const auto copy = [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) std::copy_n(x + s.source(p) * s.inner, s.inner, y + p * s.inner);
  };
  copy(0, middle.first);
  std::copy(x + (middle.first - s.begin) * s.inner, x + (middle.end - s.begin) * s.inner, y + middle.first * s.inner);
  copy(middle.end, s.m);
}

// Adds in the order of dy, as each_place() does.
void add_stretch(const PadAxisShape& s, const float* dy, float* dx) {
  const Middle middle(s);
  const auto add = [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      for (int64_t j = 0; j < s.inner; ++j) dx[s.source(p) * s.inner + j] += dy[p * s.inner + j];
  };
  add(0, middle.first);
  const int64_t shift = s.begin * s.inner;
#pragma omp simd
  for (int64_t i = middle.first * s.inner; i < middle.end * s.inner; ++i) dx[i - shift] += dy[i];
  add(middle.end, s.m);
}

// Some elements of a row at a time are added up in f32, and rounded once.
std::unique_ptr<Kernel> backward_in_bf16(const PadAxisShape& s) {
  return host::flat_kernel([s](const RunContext&, std::byte* const* operand) {
    constexpr int64_t kSumsAtOnce = 256;
    const Bf16* dy = host::in<Bf16>(operand, 0);
    Bf16* dx = host::out<Bf16>(operand, 1);
    const int64_t rows = s.outer * s.n;
#pragma omp parallel for schedule(static) if (rows * s.inner > 16384)
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t first = 0; first < s.inner; first += kSumsAtOnce) {
        const int64_t count = std::min(kSumsAtOnce, s.inner - first);
        float sums[kSumsAtOnce] = {};
        s.each_place(row % s.n, [&](int64_t p) {
          const Bf16* from = dy + (row / s.n * s.m + p) * s.inner + first;
          for (int64_t j = 0; j < count; ++j) sums[j] += from[j];
        });
        std::copy_n(sums, count, dx + row * s.inner + first);
      }
    }
  });
}

}  // namespace

std::vector<Algorithm> PadAxis::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> PadAxis::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const PadAxisShape s(attrs, operands[0].tensor, operands[1].tensor);
  return host::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    return host::flat_kernel([s](const RunContext&, std::byte* const* operand) {
      const T* x = host::in<T>(operand, 0);
      T* y = host::out<T>(operand, 1);
      if (s.inner < kShortPadRow && s.outer > 1) {
#pragma omp parallel for schedule(static) if (s.outer * s.m * s.inner > 16384)
        for (int64_t i = 0; i < s.outer; ++i) pad_stretch(s, x + i * s.n * s.inner, y + i * s.m * s.inner);
        return;
      }
      const int64_t rows = s.outer * s.m;
#pragma omp parallel for schedule(static) if (rows * s.inner > 16384)
      for (int64_t row = 0; row < rows; ++row) {
        const T* from = x + (row / s.m * s.n + s.source(row % s.m)) * s.inner;
        std::copy_n(from, s.inner, y + row * s.inner);
      }
    });
  });
}

std::vector<Algorithm> PadAxisBackward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> PadAxisBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                              std::string_view) {
  const PadAxisShape s(attrs, operands[1].tensor, operands[0].tensor);
  if (operands[1].tensor.type == DataType::bf16) return backward_in_bf16(s);
  const bool adds = operands[1].access == Access::update;
  return host::flat_kernel([s, adds](const RunContext&, std::byte* const* operand) {
    const float* dy = host::in(operand, 0);
    float* dx = host::out(operand, 1);
    if (s.inner < kShortPadRow && s.outer > 1) {
#pragma omp parallel for schedule(static) if (s.outer * s.m * s.inner > 16384)
      for (int64_t i = 0; i < s.outer; ++i) {
        float* const to = dx + i * s.n * s.inner;
        if (!adds) std::fill_n(to, s.n * s.inner, 0.0F);
        add_stretch(s, dy + i * s.m * s.inner, to);
      }
      return;
    }
    const int64_t rows = s.outer * s.n;
#pragma omp parallel for schedule(static) if (rows * s.inner > 16384)
    for (int64_t row = 0; row < rows; ++row) {
      float* to = dx + row * s.inner;
      if (!adds) std::fill_n(to, s.inner, 0.0F);
      s.each_place(row % s.n, [&](int64_t p) {
        const float* from = dy + (row / s.n * s.m + p) * s.inner;
        for (int64_t j = 0; j < s.inner; ++j) to[j] += from[j];
      });
    }
  });
}

}  // namespace plimsoll
