// Reduce<Name>Forward {x, y}             y = x reduced over the dimensions that are 1 in y
// Reduce<Name>Backward {x, y, dy, dx}    dx = dy · the derivative of y with respect to each element; dx may overwrite x
//
// A group is the set of elements that become one element of y. One thread processes a group, in memory order, so the
// bits do not depend on the number of threads. A struct with add() accumulates over a group.
#include <limits>

#include "runtime/host/elementwise.h"
#include "runtime/host/math.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"
#include "runtime/loops.h"

namespace plimsoll {
namespace {

constexpr float kReduceInfinity = std::numeric_limits<float>::infinity();

// The largest or the smallest element. NaN if there is a NaN.
template <bool kLeast>
struct Outermost {
  float value = kLeast ? kReduceInfinity : -kReduceInfinity;

  void add(float x) { value = (kLeast ? x < value : x > value) || x != x ? x : value; }
  float result() const { return value; }
};

// The number of elements that equal the extreme.
struct Ties {
  double count = 0;

  void add(float x, float y) { count += x == y ? 1 : 0; }
  float slope(float x, float y) const { return x == y ? static_cast<float>(1 / count) : 0.0F; }
};

struct ReducedProduct {
  double product = 1;

  void add(float x) { product *= static_cast<double>(x); }
  float result() const { return static_cast<float>(product); }
};

// The derivative is the product of the other elements. With one zero, only that element has a nonzero derivative; with
// more, none has.
struct OtherFactors {
  double product = 1;  // of the nonzero elements
  int64_t zeros = 0;

  void add(float x, float) {
    if (x == 0) ++zeros;
    else product *= static_cast<double>(x);
  }
  float slope(float x, float) const {
    if (zeros == 0) return static_cast<float>(product / static_cast<double>(x));
    return zeros == 1 && x == 0 ? static_cast<float>(product) : 0.0F;
  }
};

// log Σ e^x in one pass: the largest element so far, and the sum of e^(x - largest).
struct LogSum {
  float most = -kReduceInfinity;
  double sum = 0;

  void add(float x) {
    if (x > most || x != x) {
      sum = 1 + (sum == 0 ? 0 : sum * static_cast<double>(host::exp_of(most - x)));
      most = x;
    } else {
      sum += x == most ? 1 : static_cast<double>(host::exp_of(x - most));
    }
  }
  float result() const { return most + static_cast<float>(std::log(sum)); }
};

// The derivative e^(x - y), where both may be infinite; zero if all elements are -∞.
struct ExpShare {
  void add(float, float) {}
  float slope(float x, float y) const { return y == -kReduceInfinity ? 0.0F : x == y ? 1.0F : host::exp_of(x - y); }
};

// The loops over {x, y}, in two parts: over groups, and within a group.
struct Groups {
  Loops<2> kept, within;

  Groups(const TensorDesc& x, const TensorDesc& y) {
    const Loops<2> all = loops_over<2>({x, y});
    for (size_t i = 0; i < all.depth(); ++i)
      (all.strides[1][i] != 0 ? kept : within).around(all.counts[i], {all.strides[0][i], all.strides[1][i]});
    if (within.depth() == 0) within.around(1, {1, 0});
  }

  // body(offset of the group in x, in y), in parallel.
  template <class Body>
  void each(Body body) const {
    const int64_t groups = kept.count(0);
#pragma omp parallel for schedule(static) if (groups * within.count(0) > 16384)
    for (int64_t i = 0; i < groups; ++i) body(kept.offset(0, i, 0), kept.offset(1, i, 0));
  }

  // f(offset of the element within its group)
  template <class F>
  void elements(F f) const {
    const int64_t rows = within.count(1), length = within.counts[0], step = within.strides[0][0];
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t first = within.offset(0, row, 1);
      for (int64_t j = 0; j < length; ++j) f(first + j * step);
    }
  }
};

// body(X{}, Y{}): x and dx are of type X, y and dy of type Y.
template <class Body>
std::unique_ptr<Kernel> by_types(std::span<const OperandDesc> operands, Body body) {
  return host::by_real(operands[0].tensor.type, [&](auto x) {
    return host::by_real(operands[1].tensor.type, [&](auto y) { return body(x, y); });
  });
}

template <class Found, class X, class Y>
std::unique_ptr<Kernel> reduce_of(std::span<const OperandDesc> operands) {
  return host::flat_kernel(
      [groups = Groups(operands[0].tensor, operands[1].tensor)](const RunContext&, std::byte* const* operand) {
    const X* x = host::in<X>(operand, 0);
    Y* y = host::out<Y>(operand, 1);
    groups.each([&](int64_t from, int64_t to) {
      Found found;
      groups.elements([&](int64_t at) { found.add(x[from + at]); });
      y[to] = found.result();
    });
  });
}

template <class Found>
std::unique_ptr<Kernel> reduce(std::span<const OperandDesc> operands) {
  return by_types(operands, [&](auto x, auto y) { return reduce_of<Found, decltype(x), decltype(y)>(operands); });
}

template <class Found, class X, class Y>
std::unique_ptr<Kernel> reduce_back_of(std::span<const OperandDesc> operands) {
  const bool adds = operands[3].access == Access::update;
  return host::flat_kernel(
      [groups = Groups(operands[0].tensor, operands[1].tensor), adds](const RunContext&, std::byte* const* operand) {
    const X* x = host::in<X>(operand, 0);
    const Y *y = host::in<Y>(operand, 1), *dy = host::in<Y>(operand, 2);
    X* dx = host::out<X>(operand, 3);
    groups.each([&](int64_t from, int64_t to) {
      Found found;
      const float result = y[to], gradient = dy[to];
      groups.elements([&](int64_t at) { found.add(x[from + at], result); });
      groups.elements([&](int64_t at) {
        const float share = gradient * found.slope(x[from + at], result);
        dx[from + at] = adds ? dx[from + at] + share : share;
      });
    });
  });
}

template <class Found>
std::unique_ptr<Kernel> reduce_back(std::span<const OperandDesc> operands) {
  return by_types(operands, [&](auto x, auto y) { return reduce_back_of<Found, decltype(x), decltype(y)>(operands); });
}

}  // namespace

PLIMSOLL_ELEMENTWISE(ReduceLogSumExpForward, return reduce<LogSum>(operands);)
PLIMSOLL_ELEMENTWISE(ReduceLogSumExpBackward, return reduce_back<ExpShare>(operands);)
PLIMSOLL_ELEMENTWISE(ReduceMaxForward, return reduce<Outermost<false>>(operands);)
PLIMSOLL_ELEMENTWISE(ReduceMaxBackward, return reduce_back<Ties>(operands);)
PLIMSOLL_ELEMENTWISE(ReduceMinForward, return reduce<Outermost<true>>(operands);)
PLIMSOLL_ELEMENTWISE(ReduceMinBackward, return reduce_back<Ties>(operands);)
PLIMSOLL_ELEMENTWISE(ReduceProdForward, return reduce<ReducedProduct>(operands);)
PLIMSOLL_ELEMENTWISE(ReduceProdBackward, return reduce_back<OtherFactors>(operands);)

}  // namespace plimsoll
