// BatchNormForward  {x, scale, bias, running_mean, running_var, y, mean, var, addend?}
// BatchNormBackward {x, dy, scale, mean, var, y, dx, dscale, dbias}
//
// Each takes three launches: partial results of stretches of a channel (batch_norm.h), one warp per channel that merges
// them, and one pass over all elements, which adds the addend and applies the fused Relu. When recomputed, the forward
// reads mean and var, and needs only the last two. The normalization always uses mean and var as they are stored, so
// that both ways give the same bits.
#include "runtime/attrs/batch_norm.h"

#include "runtime/cuda/batch_norm_columns.h"
#include "runtime/cuda/reduce.h"
#include "runtime/cuda/strided.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

using namespace cuda::batch_norm;

template <bool kFour, class Index>
__global__ void moments_kernel(Channels shape, const float* x, Moments* moments) {
  const int64_t c = int64_t{blockIdx.x} / shape.stretches, stretch = int64_t{blockIdx.x} % shape.stretches;
  const int64_t begin = stretch * kStretch;
  float held[kHeld];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kHeld; k += kFour ? 4 : 1) {
    const int64_t i = element_of_thread<kFour>(begin, k);
    const float* const from = x + (i < shape.count ? shape.at(c, static_cast<Index>(i)) : 0);
    if constexpr (kFour) {
      const float4 v = i < shape.count ? cuda::load4(from) : make_float4(0, 0, 0, 0);
      held[k] = v.x, held[k + 1] = v.y, held[k + 2] = v.z, held[k + 3] = v.w;
      sum += (v.x + v.y) + (v.z + v.w);
    } else {
      held[k] = i < shape.count ? *from : 0;
      sum += held[k];
    }
  }
  const int64_t left = shape.count - begin;
  const double count = static_cast<double>(left < kStretch ? left : kStretch);
  const double mean = cuda::block_sum_for_all<cuda::kThreads>(static_cast<double>(sum)) / count;
  const float middle = static_cast<float>(mean);
  float squares = 0;
#pragma unroll
  for (int k = 0; k < kHeld; ++k) {
    const int64_t i = element_of_thread<kFour>(begin, k);
    const float off = i < shape.count ? held[k] - middle : 0;
    squares += off * off;
  }
  // Relative to the rounded mean; the squared rounding error is far below the resolution of a float.
  const double total = cuda::block_sum<cuda::kThreads>(static_cast<double>(squares));
  if (threadIdx.x == 0) moments[blockIdx.x] = {count, mean, total};
}

struct ForwardOperands {
  const float *scale, *bias, *given_mean, *given_var;  // given: used if moments of x are not computed
  float *running_mean, *running_var, *saved_mean, *saved_var;
  float *factor, *offset;  // y = factor * x + offset
};

// One warp per channel. `taken`: moments of x are computed; `moves`: the running statistics are updated, too.
__global__ void settle_forward_kernel(Channels shape, BatchNormAttrs attrs, bool taken, bool moves,
                                      const Moments* moments, ForwardOperands o) {
  const int64_t c = cuda::thread_number() / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Merged all{{0, 0, 0}};
  if (taken && c < shape.channels)
    for (int64_t i = lane; i < shape.stretches; i += 32) all.m = merge(all.m, moments[c * shape.stretches + i]);
  for (int distance = 16; distance > 0; distance /= 2) all.m = merge(all.m, all.from(lane, distance).m);
  if (c >= shape.channels || lane != 0) return;
  const double count = static_cast<double>(shape.count);
  const float mean = taken ? static_cast<float>(all.m.mean) : o.given_mean[c];
  const float var = taken ? static_cast<float>(all.m.squares / count) : o.given_var[c];
  if (moves) {
    // As in PyTorch: normalized by the biased variance; the running variance is updated with the unbiased one.
    const double unbiased = all.m.squares / (count > 2 ? count - 1 : 1), keep = attrs.momentum;
    o.running_mean[c] = static_cast<float>(keep * o.running_mean[c] + (1 - keep) * all.m.mean);
    o.running_var[c] = static_cast<float>(keep * o.running_var[c] + (1 - keep) * unbiased);
  }
  if (o.saved_mean) o.saved_mean[c] = mean;
  if (o.saved_var) o.saved_var[c] = var;
  const double a = o.scale[c] / sqrt(static_cast<double>(var) + attrs.epsilon);
  o.factor[c] = static_cast<float>(a);
  o.offset[c] = static_cast<float>(o.bias[c] - static_cast<double>(mean) * a);
}

// `n` steps of four pixels of one channel, or of one pixel.
template <bool kFour, bool kAdd, bool kRelu, class Index>
__global__ void normalize_kernel(Index n, Index steps_of_plane, Index channels, const float* x, const float* factor,
                                 const float* offset, const float* addend, float* y) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const Index c = static_cast<Index>(number) / steps_of_plane % channels;
  const float a = factor[c], b = offset[c];
  const auto value = [=](float from, float more) {
    const float v = kAdd ? from * a + b + more : from * a + b;
    return kRelu ? (v > 0 ? v : 0) : v;
  };
  if constexpr (kFour) {
    const float4 v = cuda::load4(x + 4 * number), more = kAdd ? cuda::load4(addend + 4 * number) : v;
    cuda::store4(y + 4 * number, make_float4(value(v.x, more.x), value(v.y, more.y), value(v.z, more.z), value(v.w, more.w)));
  } else {
    y[number] = value(x[number], kAdd ? addend[number] : 0);
  }
}

// For the passes over all elements: body(four, index, steps).
template <class Body>
void by_step(const Channels& shape, Body body) {
  const int64_t steps = shape.elements() / (shape.by_four() ? 4 : 1);
  cuda::by_flag(shape.by_four(), [&](auto four) { cuda::by_index(steps, [&](auto index) { body(four, index, steps); }); });
}

// For the passes over a channel's stretches, if channels are not contiguous: body(four, index).
template <class Body>
void by_stretch(const Channels& shape, Body body) {
  cuda::by_flag(shape.by_four(), [&](auto four) { cuda::by_index(shape.count, [&](auto index) { body(four, index); }); });
}

constexpr size_t kForwardAddend = 8;  // slot, if present

// For the forward: mean and var are read.
bool remembered(std::span<const OperandDesc> operands) { return operands[6].access == Access::read; }

int64_t moments_bytes(const BatchNormAttrs& attrs, const Channels& shape, std::span<const OperandDesc> operands) {
  return remembered(operands) || attrs.frozen ? 0 : shape.channels * shape.stretches * static_cast<int64_t>(sizeof(Moments));
}

std::unique_ptr<Kernel> forward(const BatchNormAttrs& attrs, std::span<const OperandDesc> operands) {
  cuda::need_one_order(operands);
  const Channels shape(operands[0].tensor);
  const int64_t before_factor = moments_bytes(attrs, shape, operands);
  const bool again = remembered(operands), adds = operands.size() > kForwardAddend;
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    Moments* const moments = reinterpret_cast<Moments*>(workspace);
    float* const factor = reinterpret_cast<float*>(workspace + before_factor);
    const ForwardOperands o{.scale = cuda::in(operand, 1), .bias = cuda::in(operand, 2),
                            .given_mean = cuda::in(operand, again ? 6 : 3), .given_var = cuda::in(operand, again ? 7 : 4),
                            .running_mean = cuda::out(operand, 3), .running_var = cuda::out(operand, 4),
                            .saved_mean = again ? nullptr : cuda::out(operand, 6), .saved_var = again ? nullptr : cuda::out(operand, 7),
                            .factor = factor, .offset = factor + shape.channels};
    const bool taken = context.training && !again && !attrs.frozen;
    if (taken && shape.beside)
      cuda::launch("moments", moments_of_columns_kernel, shape.blocks(), cuda::kThreads, context, shape, cuda::in(operand, 0), moments);
    else if (taken)
      by_stretch(shape, [&](auto four, auto index) {
        cuda::launch("moments", moments_kernel<decltype(four)::value, decltype(index)>, shape.blocks(), cuda::kThreads, context, shape,
                     cuda::in(operand, 0), moments);
      });
    cuda::launch("batch statistics", settle_forward_kernel, cuda::blocks_for(32 * shape.channels), cuda::kThreads, context,
                 shape, attrs, taken, taken && !context.recompute, moments, o);
    const float *const x = cuda::in(operand, 0), *const addend = adds ? cuda::in(operand, kForwardAddend) : nullptr;
    float* const y = cuda::out(operand, 5);
    by_step(shape, [&](auto four, auto index, int64_t steps) {
      using Index = decltype(index);
      constexpr bool kFour = decltype(four)::value;
      const Index n = static_cast<Index>(steps), channels = static_cast<Index>(shape.channels);
      cuda::by_flag(adds, [&](auto add) {
        cuda::by_flag(attrs.relu, [&](auto relu) {
          constexpr bool kAdd = decltype(add)::value, kRelu = decltype(relu)::value;
          if (shape.beside)
            return cuda::launch("batch normalization", normalize_columns_kernel<kFour, kAdd, kRelu, Index>, cuda::blocks_for(steps),
                                cuda::kThreads, context, n, channels / (kFour ? 4 : 1), x, factor, factor + shape.channels, addend, y);
          cuda::launch("batch normalization", normalize_kernel<kFour, kAdd, kRelu, Index>, cuda::blocks_for(steps), cuda::kThreads, context,
                       n, static_cast<Index>(shape.pixels / (kFour ? 4 : 1)), channels, x, factor, factor + shape.channels, addend, y);
        });
      });
    });
  });
}

// With g = dy, masked by a fused Relu, and z = (x - mean) / std:
//   dbias = sum g,   dscale = sum g z,   dx = scale / std * (g - dbias / count - z * dscale / count)
// For frozen statistics, which do not depend on x, dx = scale / std * g.

template <bool kFour, bool kRelu, class Index>
__global__ void batch_norm_sums_kernel(Channels shape, const float* x, const float* dy, const float* y, const float* mean, Sums* sums) {
  const int64_t c = int64_t{blockIdx.x} / shape.stretches, begin = int64_t{blockIdx.x} % shape.stretches * kStretch;
  const float middle = mean[c];
  float g_sum = 0, g_off = 0;
  const auto gradient = [](float slope, float result) { return kRelu && !(result > 0) ? 0 : slope; };
#pragma unroll
  for (int k = 0; k < kHeld; k += kFour ? 4 : 1) {
    const int64_t i = element_of_thread<kFour>(begin, k);
    if (i >= shape.count) break;
    const int64_t at = shape.at(c, static_cast<Index>(i));
    if constexpr (kFour) {
      const float4 u = cuda::load4(x + at), v = cuda::load4(dy + at), w = kRelu ? cuda::load4(y + at) : v;
      const float4 g = make_float4(gradient(v.x, w.x), gradient(v.y, w.y), gradient(v.z, w.z), gradient(v.w, w.w));
      g_sum += (g.x + g.y) + (g.z + g.w);
      g_off += (g.x * (u.x - middle) + g.y * (u.y - middle)) + (g.z * (u.z - middle) + g.w * (u.w - middle));
    } else {
      const float g = gradient(dy[at], kRelu ? y[at] : 0);
      g_sum += g;
      g_off += g * (x[at] - middle);
    }
  }
  const Sums total = cuda::block_reduce<cuda::kThreads>(Sums{g_sum, g_off}, plus);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

struct BackwardOperands {
  const float *scale, *mean, *var;
  float *dscale, *dbias;
  bool adds_scale, adds_bias;
  float *p, *q, *r;  // dx = p * g + q * x + r
};

__global__ void settle_backward_kernel(Channels shape, BatchNormAttrs attrs, const Sums* sums, BackwardOperands o) {
  const int64_t c = cuda::thread_number() / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Sums all{0, 0};
  if (c < shape.channels)
    for (int64_t i = lane; i < shape.stretches; i += 32) all = plus(all, sums[c * shape.stretches + i]);
  for (int distance = 16; distance > 0; distance /= 2) all = plus(all, all.from(lane, distance));
  if (c >= shape.channels || lane != 0) return;
  const double count = static_cast<double>(shape.count), deviation = sqrt(static_cast<double>(o.var[c]) + attrs.epsilon);
  const double slope = o.scale[c] / deviation, across = all.g_off / (deviation * deviation * count);
  o.p[c] = static_cast<float>(slope);
  o.q[c] = attrs.frozen ? 0 : static_cast<float>(-slope * across);
  o.r[c] = attrs.frozen ? 0 : static_cast<float>(slope * (across * o.mean[c] - all.g / count));
  if (o.dscale) o.dscale[c] = static_cast<float>(all.g_off / deviation) + (o.adds_scale ? o.dscale[c] : 0);
  if (o.dbias) o.dbias[c] = static_cast<float>(all.g) + (o.adds_bias ? o.dbias[c] : 0);
}

template <bool kFour, bool kRelu, class Index>
__global__ void gradient_kernel(Index n, Index steps_of_plane, Index channels, const float* x, const float* dy,
                                const float* y, const float* p, float* dx) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const Index c = static_cast<Index>(number) / steps_of_plane % channels;
  const float a = p[c], b = p[channels + c], d = p[2 * channels + c];
  const auto value = [=](float from, float slope, float result) {
    const float g = kRelu && !(result > 0) ? 0 : slope;
    return g * a + (from * b + d);
  };
  if constexpr (kFour) {
    const float4 u = cuda::load4(x + 4 * number), v = cuda::load4(dy + 4 * number);
    const float4 w = kRelu ? cuda::load4(y + 4 * number) : v;
    cuda::store4(dx + 4 * number,
                 make_float4(value(u.x, v.x, w.x), value(u.y, v.y, w.y), value(u.z, v.z, w.z), value(u.w, v.w, w.w)));
  } else {
    dx[number] = value(x[number], dy[number], kRelu ? y[number] : 0);
  }
}

std::unique_ptr<Kernel> backward(const BatchNormAttrs& attrs, std::span<const OperandDesc> operands) {
  cuda::need_one_order(operands);
  const Channels shape(operands[0].tensor);
  const bool adds_scale = cuda::adds(operands[7]), adds_bias = cuda::adds(operands[8]);
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    const float *x = cuda::in(operand, 0), *dy = cuda::in(operand, 1), *y = cuda::in(operand, 5);
    Sums* const sums = reinterpret_cast<Sums*>(workspace);
    float* const p = reinterpret_cast<float*>(sums + shape.channels * shape.stretches);
    const BackwardOperands o{cuda::in(operand, 2),  cuda::in(operand, 3),  cuda::in(operand, 4),
                             cuda::out(operand, 7), cuda::out(operand, 8), adds_scale,
                             adds_bias,             p,                     p + shape.channels,
                             p + 2 * shape.channels};
    cuda::by_flag(attrs.relu, [&](auto relu) {
      constexpr bool kRelu = decltype(relu)::value;
      if (shape.beside)
        return cuda::launch("sums of a batch's gradients", sums_of_columns_kernel<kRelu>, shape.blocks(), cuda::kThreads, context, shape, x,
                            dy, y, o.mean, sums);
      by_stretch(shape, [&](auto four, auto index) {
        cuda::launch("sums of a batch's gradients", batch_norm_sums_kernel<decltype(four)::value, kRelu, decltype(index)>, shape.blocks(),
                     cuda::kThreads, context, shape, x, dy, y, o.mean, sums);
      });
    });
    cuda::launch("gradients of scale and bias", settle_backward_kernel, cuda::blocks_for(32 * shape.channels), cuda::kThreads, context,
                 shape, attrs, sums, o);
    if (operand[6] == nullptr) return;
    float* const dx = cuda::out(operand, 6);
    by_step(shape, [&](auto four, auto index, int64_t steps) {
      using Index = decltype(index);
      constexpr bool kFour = decltype(four)::value;
      const Index n = static_cast<Index>(steps), channels = static_cast<Index>(shape.channels);
      cuda::by_flag(attrs.relu, [&](auto relu) {
        constexpr bool kRelu = decltype(relu)::value;
        if (shape.beside)
          return cuda::launch("batch normalization's gradient", gradient_of_columns_kernel<kFour, kRelu, Index>, cuda::blocks_for(steps),
                              cuda::kThreads, context, n, channels / (kFour ? 4 : 1), shape.channels, x, dy, y, p, dx);
        cuda::launch("batch normalization's gradient", gradient_kernel<kFour, kRelu, Index>, cuda::blocks_for(steps), cuda::kThreads, context,
                     n, static_cast<Index>(shape.pixels / (kFour ? 4 : 1)), channels, x, dy, y, p, dx);
      });
    });
  });
}

}  // namespace

std::vector<Algorithm> BatchNormForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const Channels shape(operands[0].tensor);
  return {{.workspace_bytes = moments_bytes(attrs, shape, operands) + 2 * shape.channels * static_cast<int64_t>(sizeof(float))}};
}

std::unique_ptr<Kernel> BatchNormForward::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return forward(attrs, operands);
}

std::vector<Algorithm> BatchNormBackward::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  const Channels shape(operands[0].tensor);
  return {{.workspace_bytes = shape.channels * (shape.stretches * static_cast<int64_t>(sizeof(Sums)) +
                                                3 * static_cast<int64_t>(sizeof(float)))}};
}

std::unique_ptr<Kernel> BatchNormBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return backward(attrs, operands);
}

}  // namespace plimsoll
