// Tensor shapes for kernels. On this backend tensors are stored in the order of their dimensions, [samples, channels,
// …], or channels last: Layout::nhwc.
#pragma once

#include "runtime/kernel.h"

namespace plimsoll::cuda {

inline bool is_channels_last(const TensorDesc& desc) { return desc.layout == Layout::nhwc; }

inline void refuse_layout(Layout layout) {
  throw KernelError("a tensor in layout " + std::string(name_of(layout)) + ", which this kernel of cuda does not take");
}

inline void need_plain(std::span<const OperandDesc> operands) {
  for (const OperandDesc& operand : operands)
    if (operand.tensor.layout != Layout::plain) refuse_layout(operand.tensor.layout);
}

// All four-dimensional operands have the same layout, channels last or not; the others are plain.
inline void need_one_order(std::span<const OperandDesc> operands) {
  Layout all = Layout::plain;
  bool first = true;
  for (const OperandDesc& operand : operands) {
    if (operand.access == Access::absent) continue;
    const TensorDesc& tensor = operand.tensor;
    if (tensor.layout != Layout::plain && tensor.layout != Layout::nhwc) refuse_layout(tensor.layout);
    if (tensor.rank() != 4) {
      if (tensor.layout != Layout::plain) refuse_layout(tensor.layout);
      continue;
    }
    if (!first && tensor.layout != all) throw KernelError("operands of different layouts");
    all = tensor.layout;
    first = false;
  }
}

// The dimensions in memory order: [N, H, W, C] for a channels-last tensor. Works for any list with one entry per
// dimension.
inline IntList as_it_lies(const IntList& list, Layout layout) {
  return layout == Layout::nhwc ? IntList{list[0], list[2], list[3], list[1]} : list;
}
inline TensorDesc as_it_lies(const TensorDesc& desc) {
  return {desc.type, as_it_lies(desc.dims, desc.layout), Layout::plain};
}
inline size_t axis_as_it_lies(size_t axis, Layout layout) {
  constexpr size_t kPlace[] = {0, 3, 1, 2};
  return layout == Layout::nhwc ? kPlace[axis] : axis;
}

// [samples, channels, …]: contiguous pixels of one channel of one sample; or contiguous channels of a pixel.
struct PlaneShape {
  int64_t samples = 0, channels = 0, pixels = 1;
  bool channels_last = false;
  PlaneShape() = default;
  explicit PlaneShape(const TensorDesc& desc)
      : samples(desc.dim(0)), channels(desc.dim(1)), channels_last(is_channels_last(desc)) {
    for (size_t axis = 2; axis < desc.rank(); ++axis) pixels *= desc.dim(axis);
  }
  int64_t planes() const { return samples * channels; }
  int64_t elements() const { return planes() * pixels; }
};

}  // namespace plimsoll::cuda
