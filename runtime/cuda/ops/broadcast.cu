#include "runtime/cuda/ops/broadcast.h"

#include "runtime/cuda/device/launch.h"

namespace plimsoll::cuda {
namespace {

// For each dimension of y: its size, and the stride of c along it. The last dimension comes first.
struct Walk {
  int rank = 0;
  int64_t sizes[kMaxRank] = {}, steps[kMaxRank] = {};
};

__global__ void seed_kernel(float* y, const float* c, float beta, int64_t count, Walk walk) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= count) return;
  int64_t rest = i, at = 0;
  for (int axis = 0; axis < walk.rank; ++axis) {
    at += rest % walk.sizes[axis] * walk.steps[axis];
    rest /= walk.sizes[axis];
  }
  y[i] = beta * c[at];
}

}  // namespace

void seed_with(const RunContext& context, float* y, const TensorDesc& y_desc, const float* c, const TensorDesc& c_desc,
               float beta) {
  Walk walk{.rank = static_cast<int>(y_desc.rank())};
  int64_t stride = 1;
  for (size_t i = 0; i < y_desc.rank(); ++i) {
    walk.sizes[i] = y_desc.dim(y_desc.rank() - 1 - i);
    const int64_t size = i < c_desc.rank() ? c_desc.dim(c_desc.rank() - 1 - i) : 1;
    walk.steps[i] = size == 1 ? 0 : stride;
    stride *= size;
  }
  const int64_t count = y_desc.elements();
  launch("addend of a product", seed_kernel, blocks_for(count), kThreads, context, y, c, beta, count, walk);
}

}  // namespace plimsoll::cuda
