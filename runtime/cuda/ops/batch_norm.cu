// BatchNormForward  {x, scale, bias, running_mean, running_var, y, mean, var, addend?}
// BatchNormBackward {x?, dy, scale, mean, var, y, dx, dscale, dbias, bias?}
//
// Each takes two launches: the sums of every channel, whose last block also computes what follows from them
// (batch_norm.h), and one pass over all elements, which adds the addend and applies the fused activation. When
// recomputed, the forward reads mean and var. The normalization always uses mean and var as they are stored, so that
// both ways give the same bits.
#include <algorithm>

#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/cuda/ops/batch_norm_columns.h"
#include "runtime/cuda/ops/plane_steps.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

using namespace cuda::batch_norm;
using cuda::ChannelsOfThread, cuda::Few, cuda::Moments, cuda::Step;

// A thread's total (Moments::Total) without the pivot, which all threads share.
struct MomentsOfThread {
  double count, sum, squares;
  __device__ MomentsOfThread from(int, int distance) const {
    return {__shfl_down_sync(0xFFFFFFFFU, count, distance), __shfl_down_sync(0xFFFFFFFFU, sum, distance),
            __shfl_down_sync(0xFFFFFFFFU, squares, distance)};
  }
};

__device__ MomentsOfThread plus(const MomentsOfThread& a, const MomentsOfThread& b) {
  return {a.count + b.count, a.sum + b.sum, a.squares + b.squares};
}

struct SumsOfThread {
  GradientSums sums;
  __device__ SumsOfThread from(int, int distance) const {
    return {
        {{__shfl_down_sync(0xFFFFFFFFU, sums.of[0], distance), __shfl_down_sync(0xFFFFFFFFU, sums.of[1], distance)}}};
  }
};

__device__ SumsOfThread plus(const SumsOfThread& a, const SumsOfThread& b) {
  return {{{a.sums.of[0] + b.sums.of[0], a.sums.of[1] + b.sums.of[1]}}};
}

// A block per stretch of a channel, from channel `first` on. The last one of a channel merges the stretches.
template <Step kStep, class Index, class T>
__global__ void __launch_bounds__(cuda::kThreads)
    moments_kernel(Channels shape, int64_t first, const T* x, Moments* moments, ForwardEnd end) {
  constexpr int kAtOnce = cuda::PlanePart<kStep, Index>::kAtOnce, kParts = kValuesOfThread / kAtOnce;
  const int64_t c = first + int64_t{blockIdx.x} / shape.stretches, stretch = int64_t{blockIdx.x} % shape.stretches;
  Few<kAtOnce> held[kParts];
  unsigned there = 0;  // a bit for each value of the thread
  int of_thread = 0;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kParts; ++k) {
    const auto part = shape.template part_of_thread<kStep, Index>(c, stretch, k);
    held[k] = part.load(x);
    for (int j = 0; j < kAtOnce; ++j) {
      sum += held[k].of[j];
      there |= part.has(j) ? 1U << (k * kAtOnce + j) : 0;
      of_thread += part.has(j);
    }
  }
  const int64_t left = shape.count - stretch * kStretch;
  double count = static_cast<double>(left < kStretch ? left : kStretch);
  if constexpr (kStep == Step::across) count = cuda::block_sum_for_all<cuda::kThreads>(static_cast<double>(of_thread));
  const double mean = cuda::block_sum_for_all<cuda::kThreads>(static_cast<double>(sum)) / count;
  const float middle = static_cast<float>(mean);
  float squares = 0;
#pragma unroll
  for (int k = 0; k < kParts; ++k)
    for (int j = 0; j < kAtOnce; ++j) {
      const float off = (there >> (k * kAtOnce + j) & 1) != 0 ? held[k].of[j] - middle : 0;
      squares += off * off;
    }
  // Relative to the rounded mean; the squared rounding error is far below the resolution of a float.
  const double total = cuda::block_sum<cuda::kThreads>(static_cast<double>(squares));
  if (shape.stretches == 1) {
    if (threadIdx.x == 0) end.finish(c, {count, mean, total});
    return;
  }
  Moments* const of_channel = moments + c * shape.stretches;
  if (threadIdx.x == 0) of_channel[stretch] = {count, mean, total};
  if (!cuda::arrives_last(c - first, static_cast<unsigned>(shape.stretches))) return;
  Moments::Total mine(of_channel[0]);
  for (int64_t i = threadIdx.x; i < shape.stretches; i += cuda::kThreads) mine.add(of_channel[i]);
  const MomentsOfThread all =
      cuda::block_reduce<cuda::kThreads>(MomentsOfThread{mine.count, mine.sum, mine.squares},
                                         [](const MomentsOfThread& a, const MomentsOfThread& b) { return plus(a, b); });
  mine.count = all.count, mine.sum = all.sum, mine.squares = all.squares;
  if (threadIdx.x == 0) end.finish(c, mine.get());
}

// Without moments of x: by given statistics.
__global__ void statistics_kernel(int64_t channels, const float* mean, const float* var, ForwardEnd end) {
  const int64_t c = cuda::thread_number();
  if (c < channels) end.put(c, mean[c], var[c]);
}

template <Step kStep, bool kAdd, class Activation, class Index, class T>
__global__ void normalize_kernel(Activation activation, Index n, Index pixels, Index channels, const T* x,
                                 const float* factor, const float* offset, const T* addend, T* y) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const ChannelsOfThread<kStep, Index> c(static_cast<Index>(number), pixels, channels);
  constexpr int kAtOnce = c.kAtOnce;
  const Few<kAtOnce> v = cuda::load_few<kAtOnce>(x + kAtOnce * number);
  Few<kAtOnce> more = v;
  if constexpr (kAdd) more = cuda::load_few<kAtOnce>(addend + kAtOnce * number);
  cuda::store_few(y + kAtOnce * number, cuda::by_element(
                                            [&](float from, float slope, float constant, float added) {
    return activation.value(kAdd ? from * slope + constant + added : from * slope + constant);
                                            },
                                            v, c.load(factor), c.load(offset), more));
}

// For the passes over all elements, if pixels are contiguous: body(how a thread's elements lie, index, steps).
template <class Body>
void by_step(const Channels& shape, Body body) {
  const int64_t elements = shape.elements();
  const auto with = [&](auto step) {
    const int64_t steps = elements / (decltype(step)::value == Step::one ? 1 : 4);
    cuda::by_index(elements, [&](auto index) { body(step, index, steps); });
  };
  if (shape.by_four()) return with(std::integral_constant<Step, Step::four>{});
  if (elements % 4 == 0) return with(std::integral_constant<Step, Step::across>{});
  with(std::integral_constant<Step, Step::one>{});
}

// If channels are contiguous: body(the number of channels of a thread, index, their groups), for elements of T.
template <class T, class Body>
void by_group(const Channels& shape, Body body) {
  const int64_t elements = shape.elements();
  const auto with = [&](auto at_once) {
    cuda::by_index(elements, [&](auto index) { body(at_once, index, elements / decltype(at_once)::value); });
  };
  if (shape.channels % cuda::kAtOnceOf<T> == 0) return with(std::integral_constant<int, cuda::kAtOnceOf<T>>{});
  if (shape.by_four()) return with(std::integral_constant<int, 4>{});
  with(std::integral_constant<int, 1>{});
}

// For the passes over a channel's stretches, if channels are not contiguous: body(step, index, first channel,
// blocks), for as many channels at once as arrivals are counted.
template <class Body>
void by_stretch(const Channels& shape, Body body) {
  for (int64_t first = 0; first < shape.channels; first += cuda::kArrivals) {
    const int64_t blocks = std::min<int64_t>(shape.channels - first, cuda::kArrivals) * shape.stretches;
    cuda::by_step_of_plane(shape.step, [&](auto step) {
      cuda::by_index(shape.count, [&](auto index) { body(step, index, first, blocks); });
    });
  }
}

constexpr size_t kForwardAddend = 8, kBackwardBias = 9;  // slots, if present

// For the forward: mean and var are read.
bool remembered(std::span<const OperandDesc> operands) { return operands[6].access == Access::read; }

// Of the parts of a sum, for the kernels that sum over a channel.
template <class Work>
int64_t bytes_of_parts(const Channels& shape) {
  if (shape.beside) return cuda::column_sum_workspace<Work>(shape.columns);
  return shape.channels * shape.stretches * static_cast<int64_t>(sizeof(typename Work::Partial));
}

// Column sums have as many parts by four as by one.
int64_t moments_bytes(const BatchNormAttrs& attrs, const Channels& shape, std::span<const OperandDesc> operands) {
  if (remembered(operands) || attrs.frozen) return 0;
  return shape.by_four() ? bytes_of_parts<MomentsOfColumns<4, float>>(shape)
                         : bytes_of_parts<MomentsOfColumns<1, float>>(shape);
}
int64_t sums_bytes(const Channels& shape) {
  return shape.by_four() ? bytes_of_parts<GradientSumsOfColumns<4, PlainOutput, float>>(shape)
                         : bytes_of_parts<GradientSumsOfColumns<1, PlainOutput, float>>(shape);
}

template <class T>
std::unique_ptr<Kernel> forward(const BatchNormAttrs& attrs, std::span<const OperandDesc> operands) {
  cuda::need_one_order(operands);
  const Channels shape(operands[0].tensor);
  const int64_t before_factor = moments_bytes(attrs, shape, operands);
  const bool again = remembered(operands), adds = operands.size() > kForwardAddend;
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    Moments* const moments = reinterpret_cast<Moments*>(workspace);
    float* const factor = reinterpret_cast<float*>(workspace + before_factor);
    const T* const x = cuda::in<T>(operand, 0);
    const bool taken = context.training && !again && !attrs.frozen, moves = taken && !context.recompute;
    const ForwardEnd end{.count = static_cast<double>(shape.count),
                         .epsilon = attrs.epsilon,
                         .momentum = attrs.momentum,
                         .scale = cuda::in(operand, 1),
                         .bias = cuda::in(operand, 2),
                         .running_mean = moves ? cuda::out(operand, 3) : nullptr,
                         .running_var = moves ? cuda::out(operand, 4) : nullptr,
                         .saved_mean = again ? nullptr : cuda::out(operand, 6),
                         .saved_var = again ? nullptr : cuda::out(operand, 7),
                         .factor = factor,
                         .offset = factor + shape.channels};
    if (!taken)
      cuda::launch("batch statistics", statistics_kernel, cuda::blocks_for(shape.channels), cuda::kThreads, context,
                   shape.channels, cuda::in(operand, again ? 6 : 3), cuda::in(operand, again ? 7 : 4), end);
    else if (shape.beside)
      cuda::by_row(shape.channels, [&](auto at_once) {
        cuda::sum_columns("moments", context, shape.columns,
                          MomentsOfColumns<decltype(at_once)::value, T>{x, shape.channels, end}, workspace);
      });
    else
      by_stretch(shape, [&](auto step, auto index, int64_t first, int64_t blocks) {
        cuda::launch("moments", moments_kernel<decltype(step)::value, decltype(index), T>, blocks, cuda::kThreads,
                     context, shape, first, x, moments, end);
      });
    const T* const addend = adds ? cuda::in<T>(operand, kForwardAddend) : nullptr;
    T* const y = cuda::out<T>(operand, 5);
    cuda::by_flag(adds, [&](auto add) {
      by_activation(attrs, [&](auto activation) {
        using Activation = decltype(activation);
        constexpr bool kAdd = decltype(add)::value;
        if (shape.beside)
          return by_group<T>(shape, [&](auto at_once, auto index, int64_t groups) {
            using Index = decltype(index);
            constexpr int kAtOnce = decltype(at_once)::value;
            cuda::launch("batch normalization", normalize_columns_kernel<kAtOnce, kAdd, Activation, Index, T>,
                         cuda::blocks_for(groups), cuda::kThreads, context, activation, static_cast<Index>(groups),
                         static_cast<Index>(shape.channels / kAtOnce), x, factor, factor + shape.channels, addend, y);
          });
        by_step(shape, [&](auto step, auto index, int64_t steps) {
          using Index = decltype(index);
          cuda::launch("batch normalization", normalize_kernel<decltype(step)::value, kAdd, Activation, Index, T>,
                       cuda::blocks_for(steps), cuda::kThreads, context, activation, static_cast<Index>(steps),
                       static_cast<Index>(shape.pixels), static_cast<Index>(shape.channels), x, factor,
                       factor + shape.channels, addend, y);
        });
      });
    });
  });
}

template <Step kStep, class Activation, class Index, class T>
__global__ void __launch_bounds__(cuda::kThreads)
    batch_norm_sums_kernel(Activation activation, Channels shape, int64_t first, const T* x, const T* dy, const T* y,
                           GradientSums* sums, BackwardEnd end) {
  using Part = cuda::PlanePart<kStep, Index>;
  constexpr int kAtOnce = Part::kAtOnce, kParts = kValuesOfThread / kAtOnce, kAhead = kParts < 4 ? kParts : 4;
  const int64_t c = first + int64_t{blockIdx.x} / shape.stretches, stretch = int64_t{blockIdx.x} % shape.stretches;
  const float middle = end.mean[c];
  Line line{};
  if constexpr (Activation::kReadsInput) line = end.line(c);
  float g_sum = 0, g_off = 0;
  for (int ahead = 0; ahead < kParts; ahead += kAhead) {
    Part parts[kAhead];
    Few<kAtOnce> u[kAhead], v[kAhead], w[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      parts[k] = shape.template part_of_thread<kStep, Index>(c, stretch, ahead + k);
      u[k] = parts[k].load(x);
      v[k] = parts[k].load(dy);
      if constexpr (Activation::kReadsOutput) w[k] = parts[k].load(y);
      else w[k] = v[k];
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k)
      for (int j = 0; j < kAtOnce; ++j) {
        const bool there = parts[k].has(j);
        const float result = Activation::kReadsInput ? u[k].of[j] * line.factor + line.offset : w[k].of[j];
        const float g = there ? activation.gradient(v[k].of[j], result) : 0;
        g_sum += g;
        g_off += there ? g * (u[k].of[j] - middle) : 0;
      }
  }
  const auto add = [](const SumsOfThread& a, const SumsOfThread& b) { return plus(a, b); };
  SumsOfThread all = cuda::block_reduce<cuda::kThreads>(SumsOfThread{{{g_sum, g_off}}}, add);
  if (shape.stretches == 1) {
    if (threadIdx.x == 0) end.finish(c, all.sums);
    return;
  }
  GradientSums* const of_channel = sums + c * shape.stretches;
  if (threadIdx.x == 0) of_channel[stretch] = all.sums;
  if (!cuda::arrives_last(c - first, static_cast<unsigned>(shape.stretches))) return;
  all = SumsOfThread{{{0, 0}}};
  for (int64_t i = threadIdx.x; i < shape.stretches; i += cuda::kThreads) all = plus(all, SumsOfThread{of_channel[i]});
  all = cuda::block_reduce<cuda::kThreads>(all, add);
  if (threadIdx.x == 0) end.finish(c, all.sums);
}

template <Step kStep, class Activation, class Index, class T>
__global__ void gradient_kernel(Activation activation, Index n, Index pixels, Index channels, const T* x, const T* dy,
                                const T* y, const float* p, T* dx) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const ChannelsOfThread<kStep, Index> c(static_cast<Index>(number), pixels, channels);
  constexpr int kAtOnce = c.kAtOnce;
  const Few<kAtOnce> u = cuda::load_few<kAtOnce>(x + kAtOnce * number),
                     v = cuda::load_few<kAtOnce>(dy + kAtOnce * number);
  Few<kAtOnce> w = v;
  if constexpr (Activation::kReadsOutput) w = cuda::load_few<kAtOnce>(y + kAtOnce * number);
  if constexpr (Activation::kReadsInput)
    w = cuda::by_element([](float from, float factor, float offset) { return from * factor + offset; }, u,
                         c.load(p + 3 * channels), c.load(p + 4 * channels));
  cuda::store_few(dx + kAtOnce * number,
                  cuda::by_element(
                      [&](float from, float slope, float result, float of_slope, float of_x, float constant) {
    // With frozen statistics of_x is 0. The product would be NaN where x is not finite, or dy, read in its place.
    return activation.gradient(slope, result) * of_slope + (of_x == 0 ? constant : from * of_x + constant);
                      },
                      u, v, w, c.load(p), c.load(p + channels), c.load(p + 2 * channels)));
}

template <class T>
std::unique_ptr<Kernel> backward(const BatchNormAttrs& attrs, std::span<const OperandDesc> operands) {
  cuda::need_one_order(operands);
  const Channels shape(operands[1].tensor);
  const bool adds_scale = cuda::adds(operands[7]), adds_bias = cuda::adds(operands[8]);
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    const T *dy = cuda::in<T>(operand, 1), *y = cuda::in<T>(operand, 5);
    // Without dscale and with frozen statistics x may be absent: it is not needed.
    const T* const x = operand[0] ? cuda::in<T>(operand, 0) : dy;
    float* const p = reinterpret_cast<float*>(workspace + sums_bytes(shape));
    const BackwardEnd end{.count = static_cast<double>(shape.count),
                          .epsilon = attrs.epsilon,
                          .frozen = attrs.frozen,
                          .adds_scale = adds_scale,
                          .adds_bias = adds_bias,
                          .scale = cuda::in(operand, 2),
                          .mean = cuda::in(operand, 3),
                          .var = cuda::in(operand, 4),
                          .bias = attrs.reads_bias() ? cuda::in(operand, kBackwardBias) : nullptr,
                          .dscale = cuda::out(operand, 7),
                          .dbias = cuda::out(operand, 8),
                          .p = p,
                          .q = p + shape.channels,
                          .r = p + 2 * shape.channels,
                          .lines = attrs.reads_bias() ? p + 3 * shape.channels : nullptr,
                          .channels = shape.channels};
    by_activation(attrs, [&](auto activation) {
      using Activation = decltype(activation);
      if (shape.beside)
        return cuda::by_row(shape.channels, [&](auto at_once) {
          using Work = GradientSumsOfColumns<decltype(at_once)::value, Activation, T>;
          cuda::sum_columns("sums of a batch's gradients", context, shape.columns,
                            Work{x, dy, y, shape.channels, end, activation}, workspace);
        });
      by_stretch(shape, [&](auto step, auto index, int64_t first, int64_t blocks) {
        cuda::launch("sums of a batch's gradients",
                     batch_norm_sums_kernel<decltype(step)::value, Activation, decltype(index), T>, blocks,
                     cuda::kThreads, context, activation, shape, first, x, dy, y,
                     reinterpret_cast<GradientSums*>(workspace), end);
      });
    });
    if (operand[6] == nullptr) return;
    T* const dx = cuda::out<T>(operand, 6);
    by_activation(attrs, [&](auto activation) {
      using Activation = decltype(activation);
      if (shape.beside)
        return by_group<T>(shape, [&](auto at_once, auto index, int64_t groups) {
          using Index = decltype(index);
          constexpr int kAtOnce = decltype(at_once)::value;
          cuda::launch("batch normalization's gradient", gradient_of_columns_kernel<kAtOnce, Activation, Index, T>,
                       cuda::blocks_for(groups), cuda::kThreads, context, activation, static_cast<Index>(groups),
                       static_cast<Index>(shape.channels / kAtOnce), shape.channels, x, dy, y, p, dx);
        });
      by_step(shape, [&](auto step, auto index, int64_t steps) {
        using Index = decltype(index);
        cuda::launch("batch normalization's gradient", gradient_kernel<decltype(step)::value, Activation, Index, T>,
                     cuda::blocks_for(steps), cuda::kThreads, context, activation, static_cast<Index>(steps),
                     static_cast<Index>(shape.pixels), static_cast<Index>(shape.channels), x, dy, y, p, dx);
      });
    });
  });
}

}  // namespace

std::vector<Algorithm> BatchNormForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const Channels shape(operands[0].tensor);
  return {{.workspace_bytes =
               moments_bytes(attrs, shape, operands) + 2 * shape.channels * static_cast<int64_t>(sizeof(float))}};
}

std::unique_ptr<Kernel> BatchNormForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                               std::string_view) {
  return cuda::by_real(operands[0].tensor.type, [&](auto zero) { return forward<decltype(zero)>(attrs, operands); });
}

std::vector<Algorithm> BatchNormBackward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const Channels shape(operands[1].tensor);
  const int64_t of_channel = attrs.reads_bias() ? 5 : 3;
  return {{.workspace_bytes = sums_bytes(shape) + of_channel * shape.channels * static_cast<int64_t>(sizeof(float))}};
}

std::unique_ptr<Kernel> BatchNormBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                std::string_view) {
  return cuda::by_real(operands[1].tensor.type, [&](auto zero) { return backward<decltype(zero)>(attrs, operands); });
}

}  // namespace plimsoll
