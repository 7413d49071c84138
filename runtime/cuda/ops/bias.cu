#include "runtime/cuda/ops/bias.h"

#include <algorithm>

#include "runtime/cuda/device/column_sum.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/cuda/ops/plane_steps.h"

namespace plimsoll::cuda {
namespace {

constexpr int kWarp = 32;

template <int kAtOnce>
__device__ Few<kAtOnce> with_bias(const Few<kAtOnce>& y, const Few<kAtOnce>& bias, bool relu) {
  return by_element(
      [=](float value, float more) {
    const float sum = value + more;
    return relu ? (sum > 0 ? sum : 0.0F) : sum;
      },
      y, bias);
}

// `across` threads of a block process a plane, the other threads process other planes.
template <int kAtOnce, class T>
__global__ void add_bias_kernel(T* y, const float* b, bool relu, int64_t planes, int64_t channels, int64_t pixels,
                                int across) {
  const int64_t beside = blockDim.x / across;
  const int64_t plane = blockIdx.x * beside + threadIdx.x / across;
  if (plane >= planes) return;
  const Few<kAtOnce> bias = few_of<kAtOnce>(b ? b[plane % channels] : 0.0F);
  T* const row = y + plane * pixels;
  for (int64_t i = kAtOnce * static_cast<int64_t>(threadIdx.x % across); i < pixels; i += kAtOnce * across)
    store_few(row + i, with_bias(load_few<kAtOnce>(row + i), bias, relu));
}

// Planes whose size is not a multiple of four: four elements at once, which may be of adjacent planes.
template <class Index, class T>
__global__ void add_bias_across_kernel(T* y, const float* b, bool relu, Index fours, Index pixels, Index channels) {
  const int64_t number = thread_number();
  if (number >= static_cast<int64_t>(fours)) return;
  const ChannelsOfThread<Step::across, Index> c(static_cast<Index>(number), pixels, channels);
  const Few<4> bias = b ? c.load(b) : few_of<4>(0.0F);
  store_few(y + 4 * number, with_bias(load_few<4>(y + 4 * number), bias, relu));
}

// Channels last: each of the `per_pixel` groups belongs to different channels.
template <int kAtOnce, class T>
__global__ void add_bias_of_channels_kernel(T* y, const float* b, bool relu, int64_t groups, int64_t per_pixel) {
  const int64_t i = thread_number();
  if (i >= groups) return;
  const Few<kAtOnce> bias = b ? load_few<kAtOnce>(b + kAtOnce * (i % per_pixel)) : few_of<kAtOnce>(0.0F);
  store_few(y + kAtOnce * i, with_bias(load_few<kAtOnce>(y + kAtOnce * i), bias, relu));
}

// What follows from a channel's sum.
struct BiasEnd {
  float* db;
  bool accumulate;

  __device__ void finish(int64_t channel, const Sums<1>& sum) const {
    const float value = static_cast<float>(sum.of[0]);
    db[channel] = accumulate ? db[channel] + value : value;
  }
};

// Contiguous channels: the sums of columns.
template <int kColumns, class T>
struct BiasSums {
  static constexpr int kAtOnce = kColumns, kAhead = 8;
  using Partial = Sums<1>;
  using Row = Few<kAtOnce>;

  const T* dy;
  int64_t channels;
  BiasEnd end;

  struct Column {
    const T* from;
    int64_t step;
    __device__ Row load(int64_t row) const { return load_few<kAtOnce>(from + row * step); }
  };
  __device__ Column at(int64_t group) const { return {dy + kAtOnce * group, channels}; }

  struct Running {
    double sums[kAtOnce] = {};
    __device__ void add(const Row* rows, int there, const Column&) {
      for (int c = 0; c < kAtOnce; ++c) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < kAhead; ++k) sum += k < there ? rows[k].of[c] : 0;
        sums[c] += static_cast<double>(sum);
      }
    }
    __device__ Sums<1> partial(int c) const { return {{sums[c]}}; }
  };

  __device__ void finish(int64_t channel, const Sums<1>& sum) const { end.finish(channel, sum); }
};

ColumnParts columns_of(const Planes& shape) {
  return ColumnParts(shape.samples * shape.plane, shape.channels, shape.channels % 4 == 0 ? 4 : 1);
}

// Contiguous planes: enough blocks for a large device, each with at least one sample. With several parts there are
// fewer channels than arrivals are counted for.
int64_t parts_of(const Planes& shape) {
  constexpr int64_t kBlocks = 1024;
  static_assert(kBlocks <= kArrivals);
  return std::clamp<int64_t>(kBlocks / std::max<int64_t>(shape.channels, 1), 1, std::max<int64_t>(shape.samples, 1));
}

// A block sums a channel over a part of the samples in a tree. Its threads traverse the part's planes as if they were
// one, because many planes are smaller than a block, with several loads per thread in flight.
template <Step kStep, class Index, class T>
__global__ void sum_planes_kernel(const T* dy, double* parts, int64_t samples, int64_t channels, Index plane,
                                  int64_t count, BiasEnd end) {
  using Part = PlanePart<kStep, Index>;
  constexpr int kUnderWay = 4;
  const int64_t channel = blockIdx.x / count, part = blockIdx.x % count;
  const int64_t first = samples * part / count, last = samples * (part + 1) / count;
  const int64_t all = (last - first) * parts_of_plane(kStep, static_cast<int64_t>(plane));
  float of_load[kUnderWay] = {};
  for (int64_t begin = threadIdx.x; begin < all; begin += kUnderWay * kThreads) {
#pragma unroll
    for (int k = 0; k < kUnderWay; ++k) {
      const int64_t i = begin + k * kThreads;
      if (i >= all) continue;
      const Few<Part::kAtOnce> few = Part(first, channel, channels, plane, static_cast<Index>(i)).load(dy);
      for (const float v : few.of) of_load[k] += v;
    }
  }
  double sum = block_sum<kThreads>(static_cast<double>((of_load[0] + of_load[1]) + (of_load[2] + of_load[3])));
  if (count == 1) {
    if (threadIdx.x == 0) end.finish(channel, {{sum}});
    return;
  }
  if (threadIdx.x == 0) parts[channel * count + part] = sum;
  if (!arrives_last(channel, static_cast<unsigned>(count))) return;
  sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) sum += parts[channel * count + i];
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) end.finish(channel, {{sum}});
}

template <class To, class From>
__global__ void add_to_kernel(To* to, const From* from, int64_t fours, int64_t rest) {
  const int64_t i = thread_number();
  if (i < fours) {
    put_few<true>(to + 4 * i, load_few<4>(from + 4 * i));
  } else if (i < fours + rest) {
    const int64_t at = 4 * fours + (i - fours);
    store_one(to + at, load_one(to + at) + load_one(from + at));
  }
}

}  // namespace

template <class T>
void add_bias(const RunContext& context, T* y, const float* b, bool relu, const Planes& shape) {
  const int64_t planes = shape.samples * shape.channels, elements = planes * shape.plane;
  if (elements == 0) return;
  if (shape.channels_last)
    return by_row(shape.channels, [&](auto at_once) {
      constexpr int kAtOnce = decltype(at_once)::value;
      launch("bias", add_bias_of_channels_kernel<kAtOnce, T>, blocks_for(elements / kAtOnce), kThreads, context, y, b,
             relu, elements / kAtOnce, shape.channels / kAtOnce);
    });
  if (shape.plane % 4 != 0 && elements % 4 == 0)
    return by_index(elements, [&](auto index) {
      using Index = decltype(index);
      launch("bias", add_bias_across_kernel<Index, T>, blocks_for(elements / 4), kThreads, context, y, b, relu,
             static_cast<Index>(elements / 4), static_cast<Index>(shape.plane), static_cast<Index>(shape.channels));
    });
  by_row(shape.plane, [&](auto at_once) {
    constexpr int kAtOnce = decltype(at_once)::value;
    const int across = shape.plane / kAtOnce >= 4 * kThreads ? kThreads : kWarp;
    launch("bias", add_bias_kernel<kAtOnce, T>, divided_up(planes, kThreads / across), kThreads, context, y, b, relu,
           planes, shape.channels, shape.plane, across);
  });
}

int64_t bias_gradient_workspace(const Planes& shape) {
  if (!shape.channels_last) return parts_of(shape) * shape.channels * static_cast<int64_t>(sizeof(double));
  return shape.channels % 4 == 0 ? column_sum_workspace<BiasSums<4, float>>(columns_of(shape))
                                 : column_sum_workspace<BiasSums<1, float>>(columns_of(shape));
}

template <class T>
void bias_gradient(const RunContext& context, const T* dy, float* db, bool accumulate, void* workspace,
                   const Planes& shape) {
  const BiasEnd end{db, accumulate};
  if (shape.channels_last)
    return by_row(shape.channels, [&](auto at_once) {
      sum_columns("bias gradient", context, columns_of(shape),
                  BiasSums<decltype(at_once)::value, T>{dy, shape.channels, end}, workspace);
    });
  const int64_t count = parts_of(shape);
  by_step_of_plane(step_of_plane(shape.plane), [&](auto step) {
    by_index(shape.samples * shape.plane, [&](auto index) {
      using Index = decltype(index);
      launch("bias gradient", sum_planes_kernel<decltype(step)::value, Index, T>, shape.channels * count, kThreads,
             context, dy, static_cast<double*>(workspace), shape.samples, shape.channels,
             static_cast<Index>(shape.plane), count, end);
    });
  });
}

template <class To, class From>
void add_to(const RunContext& context, To* to, const From* from, int64_t count) {
  const int64_t fours = count / 4, rest = count % 4;
  launch("gradient added", add_to_kernel<To, From>, blocks_for(fours + rest), kThreads, context, to, from, fours, rest);
}

#define PLIMSOLL_BIAS(T)                                                                           \
  template void add_bias<T>(const RunContext&, T*, const float*, bool, const Planes&);             \
  template void bias_gradient<T>(const RunContext&, const T*, float*, bool, void*, const Planes&); \
  template void add_to<T, T>(const RunContext&, T*, const T*, int64_t);
PLIMSOLL_BIAS(float)
PLIMSOLL_BIAS(Bf16)
PLIMSOLL_BIAS(F16)
#undef PLIMSOLL_BIAS
template void add_to<float, Bf16>(const RunContext&, float*, const Bf16*, int64_t);
template void add_to<float, F16>(const RunContext&, float*, const F16*, int64_t);

}  // namespace plimsoll::cuda
