// ClipFactor {gradients…, factor}: the factor that torch.nn.utils.clip_grad_norm_ applies to all gradients, min(1,
// max_norm / (norm + 1e-6)), with the 2-norm over all of them together.
// UnscaleFactor {gradients…, factor}: the same of gradients that the run's scale has multiplied, divided by that scale;
// without a norm, one over the scale. Negative if a gradient is infinite or NaN.
//
// Gradients are in f32 or bf16. Each stretch of a gradient writes its sum to the workspace, in double precision: first
// those of gradients in f32, then those in bf16. The block that arrives last adds them in order.
#include "runtime/cuda/device/arrival.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/device/tensors.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"
#include "runtime/update_numbers.h"

namespace plimsoll {
namespace {

__device__ double square(float value) { return static_cast<double>(value) * static_cast<double>(value); }

// What follows from the sums of all launches, computed by the last one.
struct FactorEnd {
  const double* sums;
  int64_t count;
  double max_norm;  // 0: gradients are not clipped
  bool unscales;
  cuda::ChangingArgument changing;
  float* factor;  // null: another launch follows

  __device__ void settle() const {
    if (factor == nullptr || !cuda::arrives_last(0, gridDim.x)) return;
    double sum = 0;
    for (int64_t i = threadIdx.x; i < count; i += cuda::kThreads) sum += sums[i];
    sum = cuda::block_sum<cuda::kThreads>(sum);
    if (threadIdx.x != 0) return;
    if (unscales && !isfinite(sum)) {  // squares of f32 do not overflow a double
      *factor = -1;
      return;
    }
    const double given = unscales ? changing.gradient_scale() : 1;
    const double scale = max_norm > 0 ? max_norm / (sqrt(sum) / given + 1e-6) : 1;
    *factor = static_cast<float>((scale > 1 ? 1 : scale) / given);  // NaN is preserved
  }
};

template <class T>
__global__ void squares_kernel(const __grid_constant__ cuda::Tensors<1> gradients, double* sums, FactorEnd end) {
  const cuda::StretchOfTensor stretch = cuda::stretch_of_block(gradients);
  const T* const g = reinterpret_cast<const T*>(gradients.of[0][stretch.tensor]);
  double sum = 0;
#pragma unroll
  for (int k = 0; k < cuda::kFoursOfThread; ++k) {
    const int64_t first = stretch.begin + 4 * (static_cast<int64_t>(threadIdx.x) + k * cuda::kThreads);
    if (first + 4 <= stretch.end) {
      for (const float v : cuda::load_few<4>(g + first).of) sum += square(v);
    } else {
      for (int64_t i = first; i < stretch.end; ++i) sum += square(cuda::load_one(g + i));
    }
  }
  sum = cuda::block_sum<cuda::kThreads>(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  end.settle();
}

struct Gradient {
  size_t slot;
  int64_t elements;
};

std::vector<Gradient> gradients_of(std::span<const OperandDesc> operands, bool in_bf16) {
  std::vector<Gradient> found;
  for (size_t slot = 0; slot + 1 < operands.size(); ++slot)
    if ((operands[slot].tensor.type == DataType::bf16) == in_bf16)
      found.push_back({slot, operands[slot].tensor.padded_elements()});
  return found;
}

int64_t all_stretches(std::span<const OperandDesc> operands) {
  int64_t count = 0;
  for (const OperandDesc& gradient : operands.first(operands.size() - 1))
    count += cuda::divided_up(gradient.tensor.padded_elements(), cuda::kElementsOfBlock);
  return count;
}

int64_t workspace_of_factor(std::span<const OperandDesc> operands) {
  return all_stretches(operands) * static_cast<int64_t>(sizeof(double));
}

std::unique_ptr<Kernel> factor_kernel(double compiled_norm, bool unscales, std::span<const OperandDesc> operands) {
  return cuda::kernel([in_f32 = gradients_of(operands, false), in_bf16 = gradients_of(operands, true),
                       all = all_stretches(operands), factor = operands.size() - 1, compiled_norm, unscales](
                          const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    double* const sums = reinterpret_cast<double*>(workspace);
    int64_t done = 0;
    const auto add = [&](const std::vector<Gradient>& some, auto kernel) {
      const auto entry = [&](size_t i) {
        return std::pair{std::array{cuda::out(operand, some[i].slot)}, some[i].elements};
      };
      cuda::for_tensors<1>(some.size(), entry, [&](const cuda::Tensors<1>& gradients) {
        const bool is_last = done + gradients.blocks() == all;
        cuda::launch("squares of gradients", kernel, gradients.blocks(), cuda::kThreads, context, gradients,
                     sums + done,
                     FactorEnd{sums, all, max_norm_of(context, compiled_norm), unscales, cuda::changing(context),
                               is_last ? cuda::out(operand, factor) : nullptr});
        done += gradients.blocks();
      });
    };
    add(in_f32, squares_kernel<float>);
    add(in_bf16, squares_kernel<Bf16>);
  });
}

}  // namespace

std::vector<Algorithm> ClipFactor::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = workspace_of_factor(operands)}};
}

std::unique_ptr<Kernel> ClipFactor::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return factor_kernel(attrs.max_norm, false, operands);
}

std::vector<Algorithm> UnscaleFactor::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = workspace_of_factor(operands)}};
}

std::unique_ptr<Kernel> UnscaleFactor::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                            std::string_view) {
  return factor_kernel(attrs.max_norm, true, operands);
}

}  // namespace plimsoll
