// CastTo {x, y}   Compare {a, b, y}   WholeArithmetic {a, b, y}   Select {mask, a, b, y}: for any element type,
// broadcast as in NumPy. An absent a or b is a number in the attributes. Plain layouts.
#include "runtime/attrs/whole.h"

#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"
#include "runtime/host/rows.h"
#include "runtime/kernels.h"
#include "runtime/loops.h"
#include "runtime/precision.h"
#include "runtime/typed.h"

namespace plimsoll {
namespace {

// y = f(a, b) along loops over {a, b, y}; y is contiguous.
template <class T, class Y, class F>
void map_pairs(const Loops<3>& loops, const T* a, const T* b, Y* y, F f) {
  const int64_t length = loops.counts[0], a_step = loops.strides[0][0], b_step = loops.strides[1][0];
  host::for_rows(loops, [=](const auto& offsets) {
    const T *from_a = a + offsets[0], *from_b = b + offsets[1];
    Y* to = y + offsets[2];
    for (int64_t j = 0; j < length; ++j) to[j] = static_cast<Y>(f(from_a[j * a_step], from_b[j * b_step]));
  });
}

template <class T>
T* typed(std::byte* const* operands, size_t slot) {
  return reinterpret_cast<T*>(operands[slot]);
}

template <class T, class Y, class F>
std::unique_ptr<Kernel> pairs_kernel(const Loops<3>& loops, T number, F f) {
  return host::flat_kernel([=](const RunContext&, std::byte* const* operand) {
    const T *a = operand[0] ? typed<const T>(operand, 0) : &number,
            *b = operand[1] ? typed<const T>(operand, 1) : &number;
    map_pairs(loops, a, b, typed<Y>(operand, 2), f);
  });
}

// The type of the operand that is present.
DataType type_of_pair(std::span<const OperandDesc> operands) {
  return operands[operands[0].access == Access::absent ? 1 : 0].tensor.type;
}

Loops<3> loops_of_pair(std::span<const OperandDesc> operands) {
  return loops_over<3>({operands[0].tensor, operands[1].tensor, operands[2].tensor});
}

template <class T>
T number_of(const PairAttrs& attrs) {
  if constexpr (std::is_same_v<T, float>) return float_of(attrs.real);
  else return static_cast<T>(attrs.whole);
}

// For integers; overflow wraps around, and division by 0 gives 0.
template <class T>
std::unique_ptr<Kernel> arithmetic(const Loops<3>& loops, const PairAttrs& attrs) {
  using U = std::make_unsigned_t<T>;
  const auto of = [&](auto f) { return pairs_kernel<T, T>(loops, number_of<T>(attrs), f); };
  switch (attrs.operation) {
    case kAdd: return of([](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); });
    case kSub: return of([](T a, T b) { return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); });
    case kMul: return of([](T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); });
    case kDiv:
      return of([](T a, T b) {
        return b == 0 ? T{0} : b == T(-1) ? static_cast<T>(U{0} - static_cast<U>(a)) : static_cast<T>(a / b);
      });
    case kMod: return of([](T a, T b) {
      if (b == 0 || b == T(-1)) return T{0};
      const T rest = static_cast<T>(a % b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    });
    case kMax: return of([](T a, T b) { return a > b ? a : b; });
    case kMin: return of([](T a, T b) { return a < b ? a : b; });
    default: throw KernelError("WholeArithmetic has no operation " + std::to_string(attrs.operation) + " of numbers");
  }
}

std::unique_ptr<Kernel> logic(const Loops<3>& loops, const PairAttrs& attrs) {
  const auto of = [&](auto f) { return pairs_kernel<uint8_t, uint8_t>(loops, number_of<uint8_t>(attrs), f); };
  switch (attrs.operation) {
    case kAnd: return of([](uint8_t a, uint8_t b) { return (a != 0) && (b != 0); });
    case kOr: return of([](uint8_t a, uint8_t b) { return (a != 0) || (b != 0); });
    case kXor: return of([](uint8_t a, uint8_t b) { return (a != 0) != (b != 0); });
    default: throw KernelError("WholeArithmetic has no operation " + std::to_string(attrs.operation) + " of booleans");
  }
}

// As in C++, except that values outside the range of T become the nearest representable value.
template <class X, class Y>
Y converted(X x) {
  if constexpr (std::is_same_v<X, float> && std::is_integral_v<Y>) {
    if (!(x > static_cast<float>(std::numeric_limits<Y>::min()))) return x != x ? Y{0} : std::numeric_limits<Y>::min();
    if (x >= static_cast<float>(std::numeric_limits<Y>::max())) return std::numeric_limits<Y>::max();
  }
  return static_cast<Y>(x);
}

float as_number(Bf16 x) { return x; }
template <class T>
T as_number(T x) {
  return x;
}

}  // namespace

std::vector<Algorithm> CastTo::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> CastTo::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const int64_t n = operands[1].tensor.padded_elements();
  const DataType from = operands[0].tensor.type, to = operands[1].tensor.type;
  if (from == DataType::f32 && to == DataType::bf16 && !attrs.truth)
    return host::flat_kernel([n](const RunContext& context, std::byte* const* operand) {
      narrow_elements(context, DataType::bf16, operand[0], operand[1], n);
    });
  if (from == DataType::bf16 && to == DataType::f32 && !attrs.truth)
    return host::flat_kernel([n](const RunContext& context, std::byte* const* operand) {
      widen_elements(context, DataType::bf16, operand[0], operand[1], n);
    });
  return host::by_any_type(from, [&](auto x) {
    return host::by_any_type(to, [&](auto y) -> std::unique_ptr<Kernel> {
      using X = decltype(x);
      using Y = decltype(y);
      using Number = decltype(as_number(x));
      return host::flat_kernel([n, truth = attrs.truth](const RunContext&, std::byte* const* operand) {
        const X* from = typed<const X>(operand, 0);
        Y* to = typed<Y>(operand, 1);
        if (truth) host::for_elements(n, [=](int64_t i) { to[i] = static_cast<Y>(as_number(from[i]) != 0 ? 1 : 0); });
        else host::for_elements(n, [=](int64_t i) { to[i] = converted<Number, Y>(as_number(from[i])); });
      });
    });
  });
}

std::vector<Algorithm> Compare::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> Compare::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const Loops<3> loops = loops_of_pair(operands);
  return by_type(type_of_pair(operands), [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    const auto of = [&](auto f) { return pairs_kernel<T, uint8_t>(loops, number_of<T>(attrs), f); };
    switch (attrs.operation) {
      case kEqual: return of([](T a, T b) { return a == b; });
      case kLess: return of([](T a, T b) { return a < b; });
      case kLessOrEqual: return of([](T a, T b) { return a <= b; });
      default: throw KernelError("Compare has no relation " + std::to_string(attrs.operation));
    }
  });
}

std::vector<Algorithm> WholeArithmetic::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> WholeArithmetic::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                              std::string_view) {
  const Loops<3> loops = loops_of_pair(operands);
  switch (type_of_pair(operands)) {
    case DataType::i32: return arithmetic<int32_t>(loops, attrs);
    case DataType::i64: return arithmetic<int64_t>(loops, attrs);
    case DataType::u8: return logic(loops, attrs);
    case DataType::f32:
    case DataType::bf16:
    case DataType::f16:
    case DataType::q8:
    case DataType::uq8: case DataType::i16: break;
  }
  throw KernelError("WholeArithmetic of f32");
}

std::vector<Algorithm> Select::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> Select::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const Loops<4> loops =
      loops_over<4>({operands[0].tensor, operands[1].tensor, operands[2].tensor, operands[3].tensor});
  return host::by_any_type(operands[3].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    const T first = number_as<T>(attrs.first), second = number_as<T>(attrs.second);
    return host::flat_kernel([=](const RunContext&, std::byte* const* operand) {
      const uint8_t* mask = typed<const uint8_t>(operand, 0);
      const T *a = operand[1] ? typed<const T>(operand, 1) : &first,
              *b = operand[2] ? typed<const T>(operand, 2) : &second;
      T* y = typed<T>(operand, 3);
      const int64_t length = loops.counts[0];
      const int64_t mask_step = loops.strides[0][0], a_step = loops.strides[1][0], b_step = loops.strides[2][0];
      host::for_rows(loops, [=](const auto& offsets) {
        const uint8_t* m = mask + offsets[0];
        const T *from_a = a + offsets[1], *from_b = b + offsets[2];
        T* to = y + offsets[3];
        for (int64_t j = 0; j < length; ++j) to[j] = m[j * mask_step] != 0 ? from_a[j * a_step] : from_b[j * b_step];
      });
    });
  });
}

}  // namespace plimsoll
