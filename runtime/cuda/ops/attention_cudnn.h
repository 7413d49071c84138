// Attention by cuDNN's fused kernels, in bf16 and f16: algorithms of AttentionForward and AttentionBackward.
#pragma once

#include "runtime/attention.h"
#include "runtime/kernel.h"

namespace plimsoll::cuda {

inline constexpr std::string_view kCudnnAttention = "cudnn_";  // then the engine's name (cudnn/engines.h)

inline bool is_of_cudnn(std::string_view algorithm) { return algorithm.starts_with(kCudnnAttention); }

// `own`, and then cuDNN's algorithms in its order of preference. There are none for masks, dropout, windows and f32,
// and where a gradient is not wanted. They have not been compared on a device, so plans do not use them
// (Algorithm::compared).
std::vector<Algorithm> with_cudnn_attention(std::vector<Algorithm> own, const AttentionAttrs& attrs,
                                            std::span<const OperandDesc> operands, bool backward);
// Throws KernelError if the engine cannot be built.
std::unique_ptr<Kernel> cudnn_attention(const AttentionAttrs& attrs, std::span<const OperandDesc> operands,
                                        bool backward, std::string_view algorithm);

}  // namespace plimsoll::cuda
