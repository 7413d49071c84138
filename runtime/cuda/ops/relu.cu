// ReluForward {x, y}   ReluBackward {y, dy, dx}: dx is 0 where y is 0.
#include "runtime/cuda/device/elementwise.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct Relu {
  __device__ float operator()(float x) const { return x > 0 ? x : 0; }
};
struct ReluSlope {
  __device__ float operator()(float y, float dy) const { return y > 0 ? dy : 0; }
};

}  // namespace

PLIMSOLL_CUDA_KERNEL(ReluForward, return cuda::map(operands, Relu{});)
PLIMSOLL_CUDA_KERNEL(ReluBackward, return cuda::map2(operands, ReluSlope{});)

}  // namespace plimsoll
