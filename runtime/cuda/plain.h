// Shapes of plain tensors, as kernels take them.
#pragma once

#include "runtime/kernel.h"

namespace plimsoll::cuda {

// On this backend tensors lie in the order of their dimensions: [samples, channels, …].
inline void need_plain(std::span<const OperandDesc> operands) {
  for (const OperandDesc& operand : operands)
    if (operand.tensor.layout != Layout::plain)
      throw KernelError("a tensor in layout " + std::string(name_of(operand.tensor.layout)) + ": on cuda they are plain");
}

// [samples, channels, …] as planes: the pixels of one channel of one sample, one behind the other.
struct PlaneShape {
  int64_t samples = 0, channels = 0, pixels = 1;
  PlaneShape() = default;
  explicit PlaneShape(const TensorDesc& desc) : samples(desc.dim(0)), channels(desc.dim(1)) {
    for (size_t axis = 2; axis < desc.rank(); ++axis) pixels *= desc.dim(axis);
  }
  int64_t planes() const { return samples * channels; }
  int64_t elements() const { return planes() * pixels; }
};

}  // namespace plimsoll::cuda
