// CastTo {x, y}   Compare {a, b, y}   WholeArithmetic {a, b, y}   Select {mask, a, b, y}: for any element type,
// broadcast as in NumPy. An absent a or b is a number in the attributes.
#include "runtime/attrs/whole.h"

#include "runtime/cuda/device/elementwise.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"
#include "runtime/precision.h"
#include "runtime/typed.h"

namespace plimsoll {
namespace {

// An operand, or the number that replaces it.
template <class T>
struct OrNumber {
  const T* operand;
  T number;
  __device__ T at(int64_t place) const { return operand != nullptr ? operand[place] : number; }
};

template <class T>
OrNumber<T> or_number(const std::byte* operand, T number) {
  return {reinterpret_cast<const T*>(operand), number};
}

// Loops over {a, b, y}; y is contiguous.
template <class T, class Y, class F, class Index>
__global__ void pairs_kernel(Index n, cuda::DeviceLoops<3> loops, OrNumber<T> a, OrNumber<T> b, Y* y, F f) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const cuda::Places<3> at = cuda::place(loops, static_cast<Index>(number));
  y[number] = static_cast<Y>(f(a.at(at.of[0]), b.at(at.of[1])));
}

struct EqualTo { template <class T> __device__ bool operator()(T a, T b) const { return a == b; } };
struct LessThan { template <class T> __device__ bool operator()(T a, T b) const { return a < b; } };
struct LessOrEqualTo { template <class T> __device__ bool operator()(T a, T b) const { return a <= b; } };
struct BothSet { __device__ bool operator()(unsigned char a, unsigned char b) const { return a != 0 && b != 0; } };
struct OneSet { __device__ bool operator()(unsigned char a, unsigned char b) const { return a != 0 || b != 0; } };
struct OneSetOnly {
  __device__ bool operator()(unsigned char a, unsigned char b) const { return (a != 0) != (b != 0); }
};

// For integers; overflow wraps around, and division by 0 gives 0.
template <class T>
struct Arithmetic {
  int64_t operation;

  __device__ T operator()(T a, T b) const {
    using U = std::make_unsigned_t<T>;
    const U u = static_cast<U>(a), v = static_cast<U>(b);
    switch (operation) {
      case kAdd: return static_cast<T>(u + v);
      case kSub: return static_cast<T>(u - v);
      case kMul: return static_cast<T>(u * v);
      case kDiv: return b == 0 ? T{0} : b == T(-1) ? static_cast<T>(U{0} - u) : static_cast<T>(a / b);
      case kMax: return a > b ? a : b;
      case kMin: return a < b ? a : b;
      default: break;
    }
    if (b == 0 || b == T(-1)) return T{0};  // kMod
    const T rest = static_cast<T>(a % b);
    return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  }
};

template <class T>
T number_of(const PairAttrs& attrs) {
  if constexpr (std::is_same_v<T, float>) return float_of(attrs.real);
  else return static_cast<T>(attrs.whole);
}

// The type of the operand that is present.
DataType type_of_pair(std::span<const OperandDesc> operands) {
  return operands[operands[0].access == Access::absent ? 1 : 0].tensor.type;
}

template <class T, class Y, class F>
std::unique_ptr<Kernel> pairs(std::span<const OperandDesc> operands, T number, F f) {
  cuda::need_plain(operands);
  const auto loops = cuda::on_device(loops_over<3>({operands[0].tensor, operands[1].tensor, operands[2].tensor}));
  const int64_t n = operands[2].tensor.elements();
  return cuda::by_index(n, [&](auto index) -> std::unique_ptr<Kernel> {
    using Index = decltype(index);
    return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
      cuda::launch("pairs", pairs_kernel<T, Y, F, Index>, cuda::blocks_for(n), cuda::kThreads, context,
                   static_cast<Index>(n), loops, or_number(operand[0], number), or_number(operand[1], number),
                   reinterpret_cast<Y*>(operand[2]), f);
    });
  });
}

// As in C++, except that values outside the range of the result type become the nearest representable value.
template <class X, class Y>
__device__ Y converted(X x, X least, X most) {
  if constexpr (std::is_same_v<X, float> && !std::is_same_v<Y, float>) {
    if (!(x > least)) return x != x ? Y{0} : static_cast<Y>(sizeof(Y) == 1 ? 0 : Y{1} << (8 * sizeof(Y) - 1));
    if (x >= most) return static_cast<Y>(sizeof(Y) == 1 ? 255 : ~(Y{1} << (8 * sizeof(Y) - 1)));
  }
  return static_cast<Y>(x);
}

// The smallest or the largest Y, if X has values beyond it.
template <class X, class Y>
X limit_of(bool largest) {
  if constexpr (std::is_same_v<X, float> && !std::is_same_v<Y, float>)
    return static_cast<X>(largest ? std::numeric_limits<Y>::max() : std::numeric_limits<Y>::lowest());
  else
    return X{0};
}

template <class X, class Y>
__global__ void cast_kernel(int64_t n, bool truth, X least, X most, const X* x, Y* y) {
  const int64_t i = cuda::thread_number();
  if (i < n) y[i] = truth ? static_cast<Y>(x[i] != 0 ? 1 : 0) : converted<X, Y>(x[i], least, most);
}

// Loops over {mask, a, b, y}; y is contiguous.
template <class T, class Index>
__global__ void select_kernel(Index n, cuda::DeviceLoops<4> loops, const unsigned char* mask, OrNumber<T> a,
                              OrNumber<T> b, T* y) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const cuda::Places<4> at = cuda::place(loops, static_cast<Index>(number));
  y[number] = mask[at.of[0]] != 0 ? a.at(at.of[1]) : b.at(at.of[2]);
}

}  // namespace

std::vector<Algorithm> CastTo::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const auto is_real = [](const OperandDesc& o) { return plimsoll::is_real(o.tensor.type); };
  if (uses_narrow(operands) && (attrs.truth || !is_real(operands[0]) || !is_real(operands[1])))
    throw KernelError("a cast between narrow and whole numbers");  // on widened operands
  return {{}};
}

std::unique_ptr<Kernel> CastTo::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  cuda::check_same(operands);
  const int64_t n = operands[1].tensor.padded_elements();
  if (uses_narrow(operands))
    return cuda::kernel([n, from = operands[0].tensor.type, to = operands[1].tensor.type](
                            const RunContext& context, std::byte* const* operand, std::byte*) {
      if (from == to)
        cuda::check(cudaMemcpyAsync(operand[1], operand[0], static_cast<size_t>(n * bytes_of(to)),
                                    cudaMemcpyDeviceToDevice, cuda::stream_of(context)),
                    "cudaMemcpyAsync of a cast");
      else if (is_narrow(to)) narrow_elements(context, to, operand[0], operand[1], n);
      else widen_elements(context, from, operand[0], operand[1], n);
    });
  return by_type(operands[0].tensor.type, [&](auto x) {
    return by_type(operands[1].tensor.type, [&](auto y) -> std::unique_ptr<Kernel> {
      using X = decltype(x);
      using Y = decltype(y);
      const X least = limit_of<X, Y>(false);
      const X most = limit_of<X, Y>(true);
      return cuda::kernel([=, truth = attrs.truth](const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("cast", cast_kernel<X, Y>, cuda::blocks_for(n), cuda::kThreads, context, n, truth, least, most,
                     reinterpret_cast<const X*>(operand[0]), reinterpret_cast<Y*>(operand[1]));
      });
    });
  });
}

PLIMSOLL_CUDA_KERNEL(Compare, {
  return by_type(type_of_pair(operands), [&](auto zero) -> std::unique_ptr<Kernel> {
    using T = decltype(zero);
    const T number = number_of<T>(attrs);
    switch (attrs.operation) {
      case kEqual: return pairs<T, unsigned char>(operands, number, EqualTo{});
      case kLess: return pairs<T, unsigned char>(operands, number, LessThan{});
      case kLessOrEqual: return pairs<T, unsigned char>(operands, number, LessOrEqualTo{});
      default: throw KernelError("Compare has no relation " + std::to_string(attrs.operation));
    }
  });
})

PLIMSOLL_CUDA_KERNEL(WholeArithmetic, {
  const DataType type = type_of_pair(operands);
  if (type == DataType::u8) {
    const unsigned char number = number_of<unsigned char>(attrs);
    switch (attrs.operation) {
      case kAnd: return pairs<unsigned char, unsigned char>(operands, number, BothSet{});
      case kOr: return pairs<unsigned char, unsigned char>(operands, number, OneSet{});
      case kXor: return pairs<unsigned char, unsigned char>(operands, number, OneSetOnly{});
      default:
        throw KernelError("WholeArithmetic has no operation " + std::to_string(attrs.operation) + " of booleans");
    }
  }
  if (type == DataType::f32 || attrs.operation < kAdd || attrs.operation > kMin)
    throw KernelError("WholeArithmetic has no operation " + std::to_string(attrs.operation) + " of " +
                      std::string(name_of(type)));
  if (type == DataType::i32)
    return pairs<int32_t, int32_t>(operands, number_of<int32_t>(attrs), Arithmetic<int32_t>{attrs.operation});
  return pairs<int64_t, int64_t>(operands, number_of<int64_t>(attrs), Arithmetic<int64_t>{attrs.operation});
})

PLIMSOLL_CUDA_KERNEL(Select, {
  cuda::need_plain(operands);
  const auto loops =
      cuda::on_device(loops_over<4>({operands[0].tensor, operands[1].tensor, operands[2].tensor, operands[3].tensor}));
  const int64_t n = operands[3].tensor.elements();
  return by_type(operands[3].tensor.type, [&](auto zero) {
    return cuda::by_index(n, [&](auto index) -> std::unique_ptr<Kernel> {
      using T = decltype(zero);
      using Index = decltype(index);
      const T first = number_as<T>(attrs.first);
      const T second = number_as<T>(attrs.second);
      return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("select", select_kernel<T, Index>, cuda::blocks_for(n), cuda::kThreads, context,
                     static_cast<Index>(n), loops, reinterpret_cast<const unsigned char*>(operand[0]),
                     or_number(operand[1], first), or_number(operand[2], second), reinterpret_cast<T*>(operand[3]));
      });
    });
  });
})

}  // namespace plimsoll
