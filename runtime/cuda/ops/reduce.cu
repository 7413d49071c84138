// Reduce<Name>Forward {x, y}             y = x reduced over the dimensions that are 1 in y
// Reduce<Name>Backward {x, y, dy, dx}    dx = dy · the derivative of y with respect to each element; dx may overwrite x
//
// A group is the set of elements that become one element of y. If the innermost dimension is reduced, a block processes
// a group: thread t takes elements t, t + kThreads, …, and a tree combines the results. If it is kept, one thread
// processes a group, and adjacent threads read adjacent addresses. Both orders are fixed: the same bits every time. A
// struct with add() and join() accumulates over a group; its from() returns that of the lane `distance` further on
// (reduce.h).
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

__device__ inline float lane_further(float value, int distance) {
  return __shfl_down_sync(0xFFFFFFFFU, value, distance);
}
__device__ inline double lane_further(double value, int distance) {
  return __shfl_down_sync(0xFFFFFFFFU, value, distance);
}

// The largest or the smallest element. NaN if there is a NaN.
template <bool kLeast>
struct Outermost {
  float value;

  static __device__ Outermost none() { return {kLeast ? INFINITY : -INFINITY}; }
  __device__ void add(float x, float) { value = (kLeast ? x < value : x > value) || x != x ? x : value; }
  __device__ void join(Outermost other) { add(other.value, 0); }
  __device__ Outermost from(int, int distance) const { return {lane_further(value, distance)}; }
  __device__ float result() const { return value; }
};

// The number of elements that equal the extreme.
struct Ties {
  double count;

  static __device__ Ties none() { return {0}; }
  __device__ void add(float x, float y) { count += x == y ? 1 : 0; }
  __device__ void join(Ties other) { count += other.count; }
  __device__ Ties from(int, int distance) const { return {lane_further(count, distance)}; }
  __device__ float slope(float x, float y) const { return x == y ? static_cast<float>(1 / count) : 0.0F; }
};

struct ReducedProduct {
  double product;

  static __device__ ReducedProduct none() { return {1}; }
  __device__ void add(float x, float) { product *= static_cast<double>(x); }
  __device__ void join(ReducedProduct other) { product *= other.product; }
  __device__ ReducedProduct from(int, int distance) const { return {lane_further(product, distance)}; }
  __device__ float result() const { return static_cast<float>(product); }
};

// The derivative is the product of the other elements. With one zero, only that element has a nonzero derivative; with
// more, none has.
struct OtherFactors {
  double product, zeros;  // of the nonzero elements; the number of zeros

  static __device__ OtherFactors none() { return {1, 0}; }
  __device__ void add(float x, float) {
    if (x == 0) zeros += 1;
    else product *= static_cast<double>(x);
  }
  __device__ void join(OtherFactors other) {
    product *= other.product;
    zeros += other.zeros;
  }
  __device__ OtherFactors from(int, int distance) const {
    return {lane_further(product, distance), lane_further(zeros, distance)};
  }
  __device__ float slope(float x, float) const {
    if (zeros == 0) return static_cast<float>(product / static_cast<double>(x));
    return zeros == 1 && x == 0 ? static_cast<float>(product) : 0.0F;
  }
};

// log Σ e^x in one pass: the largest element so far, and the sum of e^(x - largest).
struct LogSum {
  float most;
  double sum;

  static __device__ LogSum none() { return {-INFINITY, 0}; }
  __device__ void add(float x, float) { join({x, 1}); }
  __device__ void join(LogSum other) {
    if (other.most > most || other.most != other.most) {
      sum = other.sum + (sum == 0 ? 0 : sum * static_cast<double>(expf(most - other.most)));
      most = other.most;
    } else {
      sum +=
          other.most == most || other.sum == 0 ? other.sum : other.sum * static_cast<double>(expf(other.most - most));
    }
  }
  __device__ LogSum from(int, int distance) const {
    return {lane_further(most, distance), lane_further(sum, distance)};
  }
  __device__ float result() const { return most + static_cast<float>(log(sum)); }
};

// The derivative e^(x - y), where both may be infinite; zero if all elements are -∞.
struct ExpShare {
  float nothing;

  static __device__ ExpShare none() { return {0}; }
  __device__ void add(float, float) {}
  __device__ void join(ExpShare) {}
  __device__ ExpShare from(int, int) const { return {0}; }
  __device__ float slope(float x, float y) const { return y == -INFINITY ? 0.0F : x == y ? 1.0F : expf(x - y); }
};

// The loops over {x, y}, in two parts: over groups, and within a group.
struct Groups {
  cuda::DeviceLoops<2> kept, within;
  int64_t count = 1, elements = 1;  // groups, elements per group
  bool by_thread = false;

  Groups(const TensorDesc& x, const TensorDesc& y) {
    const Loops<2> all = loops_over<2>({x, y});
    Loops<2> outside, inside;
    for (size_t i = 0; i < all.depth(); ++i)
      (all.strides[1][i] != 0 ? outside : inside).around(all.counts[i], {all.strides[0][i], all.strides[1][i]});
    count = outside.count(0);
    elements = inside.count(0);
    by_thread = all.strides[1][0] != 0;
    kept = cuda::on_device(outside);
    within = cuda::on_device(inside);
  }

  int64_t blocks() const { return by_thread ? cuda::blocks_for(count) : count; }
};

template <class Found>
__device__ Found joined(Found a, Found b) {
  a.join(b);
  return a;
}

// The accumulated group at `x`, for every thread that processes it.
template <bool kByThread, class Index, class Found>
__device__ Found found_in(const Groups& groups, const float* x, float y) {
  Found found = Found::none();
  for (int64_t i = kByThread ? 0 : threadIdx.x; i < groups.elements; i += kByThread ? 1 : cuda::kThreads)
    found.add(x[cuda::place(groups.within, static_cast<Index>(i)).of[0]], y);
  if constexpr (!kByThread) {
    __shared__ Found of_block;
    found = cuda::block_reduce<cuda::kThreads>(found, [](Found a, Found b) { return joined(a, b); });
    if (threadIdx.x == 0) of_block = found;
    __syncthreads();
    found = of_block;
  }
  return found;
}

template <bool kByThread, class Index, class Found>
__global__ void reduce_kernel(Groups groups, const float* x, float* y) {
  const int64_t group = kByThread ? cuda::thread_number() : int64_t{blockIdx.x};
  if (group >= groups.count) return;
  const cuda::Places<2> at = cuda::place(groups.kept, static_cast<Index>(group));
  const Found found = found_in<kByThread, Index, Found>(groups, x + at.of[0], 0);
  if (kByThread || threadIdx.x == 0) y[at.of[1]] = found.result();
}

template <bool kByThread, bool kAdd, class Index, class Found>
__global__ void reduce_back_kernel(Groups groups, const float* x, const float* y, const float* dy, float* dx) {
  const int64_t group = kByThread ? cuda::thread_number() : int64_t{blockIdx.x};
  if (group >= groups.count) return;
  const cuda::Places<2> at = cuda::place(groups.kept, static_cast<Index>(group));
  const float result = y[at.of[1]], gradient = dy[at.of[1]];
  const Found found = found_in<kByThread, Index, Found>(groups, x + at.of[0], result);
  for (int64_t i = kByThread ? 0 : threadIdx.x; i < groups.elements; i += kByThread ? 1 : cuda::kThreads) {
    const int64_t place = at.of[0] + cuda::place(groups.within, static_cast<Index>(i)).of[0];
    const float share = gradient * found.slope(x[place], result);
    dx[place] = kAdd ? dx[place] + share : share;
  }
}

template <class Found>
std::unique_ptr<Kernel> reduce(std::span<const OperandDesc> operands) {
  const Groups groups(operands[0].tensor, operands[1].tensor);
  return cuda::by_flag(groups.by_thread, [&](auto by_thread) {
    return cuda::by_index(groups.count * groups.elements, [&](auto index) -> std::unique_ptr<Kernel> {
      return cuda::kernel([groups](const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("reduction", reduce_kernel<decltype(by_thread)::value, decltype(index), Found>, groups.blocks(),
                     cuda::kThreads, context, groups, cuda::in(operand, 0), cuda::out(operand, 1));
      });
    });
  });
}

template <class Found>
std::unique_ptr<Kernel> reduce_back(std::span<const OperandDesc> operands) {
  const Groups groups(operands[0].tensor, operands[1].tensor);
  return cuda::by_flag(groups.by_thread, [&](auto by_thread) {
    return cuda::by_flag(cuda::adds(operands[3]), [&](auto add) {
      return cuda::by_index(groups.count * groups.elements, [&](auto index) -> std::unique_ptr<Kernel> {
        return cuda::kernel([groups](const RunContext& context, std::byte* const* operand, std::byte*) {
          cuda::launch("reduction, backward",
                       reduce_back_kernel<decltype(by_thread)::value, decltype(add)::value, decltype(index), Found>,
                       groups.blocks(), cuda::kThreads, context, groups, cuda::in(operand, 0), cuda::in(operand, 1),
                       cuda::in(operand, 2), cuda::out(operand, 3));
        });
      });
    });
  });
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(ReduceLogSumExpForward, return reduce<LogSum>(operands);)
PLIMSOLL_CUDA_KERNEL(ReduceLogSumExpBackward, return reduce_back<ExpShare>(operands);)
PLIMSOLL_CUDA_KERNEL(ReduceMaxForward, return reduce<Outermost<false>>(operands);)
PLIMSOLL_CUDA_KERNEL(ReduceMaxBackward, return reduce_back<Ties>(operands);)
PLIMSOLL_CUDA_KERNEL(ReduceMinForward, return reduce<Outermost<true>>(operands);)
PLIMSOLL_CUDA_KERNEL(ReduceMinBackward, return reduce_back<Ties>(operands);)
PLIMSOLL_CUDA_KERNEL(ReduceProdForward, return reduce<ReducedProduct>(operands);)
PLIMSOLL_CUDA_KERNEL(ReduceProdBackward, return reduce_back<OtherFactors>(operands);)

}  // namespace plimsoll
