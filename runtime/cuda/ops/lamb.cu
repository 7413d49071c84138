// LambUpdate {w, g, m, v, ratio, low?, factor?}: You et al. 2020, like apex's FusedLAMB and timm.optim.Lamb without
// their gradient clipping, which ClipFactor does. The step count is that of the iterations that were not skipped; m and
// v are initially zero. `ratio` is the factor of the step: |w| / |u|, or 1 if one of them is 0 or the weight has no
// decay.
//
// The first launch updates m and v, and writes the sums of squares of each stretch of w and u to the workspace, in
// double precision; the block that arrives last adds them in order and computes the ratio. The second launch recomputes
// u and updates w.
#include "runtime/cuda/device/arrival.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/cuda/ops/update.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int64_t kLambStretch = 8 * cuda::kThreads;

// T: of m and v.
template <class T, class Weight>
struct LambTensors {
  Weight w;
  typename Weight::Gradient* g;
  T *m, *v;
  int64_t elements;
};

__device__ void keep_moment(float* stored, float moment, uint32_t) { *stored = moment; }
__device__ void keep_moment(Bf16* stored, float moment, uint32_t sixteen_random_bits) {
  stored->bits = reduced::to_bf16(moment, sixteen_random_bits);
}

struct Lamb {
  double scale;
  LambAttrs attrs;

  struct Step {
    float beta1, rest1, beta2, rest2, epsilon, decay, seen1, root, rate;
    template <class T, class Weight>
    __device__ float direction(const LambTensors<T, Weight>& t, int64_t i) const {
      return cuda::load_one(t.m + i) / seen1 / (sqrtf(cuda::load_one(t.v + i)) / root + epsilon) + decay * t.w.load(i);
    }
  };
  // Scalars are double, as in Python; elements are float.
  __device__ Step at(const cuda::Changing& now) const {
    const double count = static_cast<double>(now.iteration - now.skipped + 1);
    return {.beta1 = static_cast<float>(attrs.beta1),
            .rest1 = static_cast<float>(1 - attrs.beta1),
            .beta2 = static_cast<float>(attrs.beta2),
            .rest2 = static_cast<float>(1 - attrs.beta2),
            .epsilon = static_cast<float>(attrs.epsilon),
            .decay = static_cast<float>(attrs.weight_decay),
            .seen1 = static_cast<float>(1 - pow(attrs.beta1, count)),
            .root = static_cast<float>(sqrt(1 - pow(attrs.beta2, count))),
            .rate = static_cast<float>(now.learning_rate * scale)};
  }
};

// The block that arrives last computes the ratio of the norms, from the sums of all blocks in their order.
template <class T, class Weight>
__global__ void lamb_moments_kernel(LambTensors<T, Weight> t, const float* factor, Lamb lamb,
                                    cuda::ChangingArgument changing, double* squares, float* ratio) {
  const cuda::Changing now = changing.get();
  const float scale = factor != nullptr ? *factor : 1.0F;
  if (now.discard || scale < 0) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *ratio = 1;
    return;
  }
  const Lamb::Step step = lamb.at(now);
  const uint32_t noise_key = reduced::noise_key(now.seed, now.iteration);
  const int64_t begin = blockIdx.x * kLambStretch, end = min(begin + kLambStretch, t.elements);
  double of_w = 0, of_u = 0;
  for (int64_t i = begin + static_cast<int64_t>(threadIdx.x); i < end; i += cuda::kThreads) {
    const float gradient = scale * cuda::load_one(t.g + i);
    const uint32_t noise = std::is_same_v<T, float> ? 0 : reduced::noise(noise_key, t.w.load(i), gradient);
    keep_moment(t.m + i, step.beta1 * cuda::load_one(t.m + i) + step.rest1 * gradient, noise & 0xFFFFU);
    keep_moment(t.v + i, step.beta2 * cuda::load_one(t.v + i) + step.rest2 * gradient * gradient, noise >> 16);
    const double u = step.direction(t, i), weight = t.w.load(i);
    of_w += weight * weight;
    of_u += u * u;
  }
  of_w = cuda::block_sum<cuda::kThreads>(of_w);
  of_u = cuda::block_sum<cuda::kThreads>(of_u);
  if (threadIdx.x == 0) {
    squares[2 * blockIdx.x] = of_w;
    squares[2 * blockIdx.x + 1] = of_u;
  }
  if (!cuda::arrives_last(0, gridDim.x)) return;
  of_w = of_u = 0;
  for (int64_t i = threadIdx.x; i < static_cast<int64_t>(gridDim.x); i += cuda::kThreads)
    of_w += squares[2 * i], of_u += squares[2 * i + 1];
  of_w = cuda::block_sum<cuda::kThreads>(of_w);
  of_u = cuda::block_sum<cuda::kThreads>(of_u);
  const bool adapts = lamb.attrs.weight_decay != 0 && of_w > 0 && of_u > 0;
  if (threadIdx.x == 0) *ratio = adapts ? static_cast<float>(sqrt(of_w) / sqrt(of_u)) : 1;
}

template <bool kClear, class T, class Weight>
__global__ void lamb_step_kernel(LambTensors<T, Weight> t, const float* factor, Lamb lamb,
                                 cuda::ChangingArgument changing, const float* ratio) {
  const cuda::Changing now = changing.get();
  const bool discard = now.discard || (factor != nullptr && *factor < 0);
  const Lamb::Step step = lamb.at(now);
  const float size = step.rate * *ratio;
  const int64_t begin = blockIdx.x * kLambStretch, end = min(begin + kLambStretch, t.elements);
  for (int64_t i = begin + static_cast<int64_t>(threadIdx.x); i < end; i += cuda::kThreads) {
    if (!discard) t.w.store(i, t.w.load(i) - size * step.direction(t, i));
    if (kClear) cuda::store_one(t.g + i, 0.0F);
  }
}

int64_t lamb_stretches(std::span<const OperandDesc> operands) {
  return cuda::divided_up(operands[0].tensor.padded_elements(), kLambStretch);
}

}  // namespace

std::vector<Algorithm> LambUpdate::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = 2 * lamb_stretches(operands) * static_cast<int64_t>(sizeof(double))}};
}

namespace {

template <class T, class Weight>
std::unique_ptr<Kernel> lamb_kernel(const LambAttrs& attrs, std::span<const OperandDesc> operands) {
  constexpr size_t kRatio = 4, kLow = 5, kFactor = kLow + Weight::kTensors - 1;
  const int64_t elements = operands[0].tensor.padded_elements(), stretches = lamb_stretches(operands);
  const bool clears = cuda::adds(operands[1]), scaled = operands.size() > kFactor;
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    Weight weight;
    if constexpr (Weight::kTensors == 1) weight = {cuda::out(operand, 0)};
    else weight = {cuda::out<uint16_t>(operand, 0), cuda::out<int16_t>(operand, kLow)};
    using Gradient = typename Weight::Gradient;
    const LambTensors<T, Weight> t{weight, cuda::out<Gradient>(operand, 1), cuda::out<T>(operand, 2),
                                   cuda::out<T>(operand, 3), elements};
    const Lamb lamb{rate_scale_of(context), with_numbers(attrs, context.numbers)};
    const cuda::ChangingArgument changing = cuda::changing(context);
    double* const squares = reinterpret_cast<double*>(workspace);
    float* const ratio = cuda::out(operand, kRatio);
    const float* const factor = scaled ? cuda::in(operand, kFactor) : nullptr;
    cuda::launch("moments of LAMB", lamb_moments_kernel<T, Weight>, stretches, cuda::kThreads, context, t, factor,
                 lamb, changing, squares, ratio);
    cuda::by_flag(clears, [&](auto clear) {
      // What accumulates, and so must be zero again, is in f32.
      constexpr bool kClear = decltype(clear)::value && std::is_same_v<Gradient, float>;
      cuda::launch("step of LAMB", lamb_step_kernel<kClear, T, Weight>, stretches, cuda::kThreads, context, t, factor,
                   lamb, changing, ratio);
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> LambUpdate::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const auto in_bf16 = [&](size_t slot) { return operands[slot].tensor.type == DataType::bf16; };
  return cuda::by_width_of<Bf16>(operands[2].tensor.type, [&](auto zero) {
    using T = decltype(zero);
    if (!in_bf16(0)) return lamb_kernel<T, cuda::WholeWeight>(attrs, operands);
    return in_bf16(1) ? lamb_kernel<T, cuda::SplitWeight<Bf16>>(attrs, operands)
                      : lamb_kernel<T, cuda::SplitWeight<float>>(attrs, operands);
  });
}

}  // namespace plimsoll
