#include "runtime/cuda/ops/broadcast.h"

#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/vector.h"

namespace plimsoll::cuda {
namespace {

// For each dimension of y: its size, and the stride of c along it. The last dimension comes first.
struct Walk {
  int rank = 0;
  int64_t sizes[kMaxRank] = {}, steps[kMaxRank] = {};
};

template <class T, class C>
__global__ void seed_kernel(T* y, const C* c, float beta, int64_t count, Walk walk) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= count) return;
  int64_t rest = i, at = 0;
  for (int axis = 0; axis < walk.rank; ++axis) {
    at += rest % walk.sizes[axis] * walk.steps[axis];
    rest /= walk.sizes[axis];
  }
  store_one(y + i, beta * load_one(c + at));
}

}  // namespace

void seed_with(const RunContext& context, std::byte* y, const TensorDesc& y_desc, const std::byte* c,
               const TensorDesc& c_desc, float beta) {
  Walk walk{.rank = static_cast<int>(y_desc.rank())};
  int64_t stride = 1;
  for (size_t i = 0; i < y_desc.rank(); ++i) {
    walk.sizes[i] = y_desc.dim(y_desc.rank() - 1 - i);
    const int64_t size = i < c_desc.rank() ? c_desc.dim(c_desc.rank() - 1 - i) : 1;
    walk.steps[i] = size == 1 ? 0 : stride;
    stride *= size;
  }
  const int64_t count = y_desc.elements();
  by_real(y_desc.type, [&](auto of_y) {
    by_real(c_desc.type, [&](auto of_c) {
      using T = decltype(of_y);
      using C = decltype(of_c);
      launch("addend of a product", seed_kernel<T, C>, blocks_for(count), kThreads, context, reinterpret_cast<T*>(y),
             reinterpret_cast<const C*>(c), beta, count, walk);
    });
  });
}

}  // namespace plimsoll::cuda
