// SumToShape {x, y}          y = scale · x, summed over the dimensions that are 1 in y (aligned at the last dimension)
// ProductSum {a, b, y}       the same for a · b
// BroadcastTo {x, y}         y = scale · x, broadcast
// SumSamples {x, y}          SumToShape over samples: a round's share of the iteration's sum or mean
// SpreadSamples {dy, dx}     its gradient, like BroadcastTo
//
// y may be an `update` operand: the result is accumulated. The loops over x are split into those that y keeps and those
// that are summed over. If the innermost is kept (a bias of a matrix), a block has 32 adjacent elements of y, or 32
// times four, and sums eight steps of the other loops in parallel. If it is not (a channel of an image), a block has
// one element of y, and a thread takes four contiguous terms at once if possible. Long sums are split into parts, whose
// sums are in the workspace and are added in order.
#include "runtime/attrs/scale.h"

#include "runtime/cuda/kernel.h"
#include "runtime/cuda/reduce.h"
#include "runtime/cuda/strided.h"
#include "runtime/cuda/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

// The factor of a sum: a number, or, for a sum over samples, a number times the trainer's factor for an incomplete
// batch.
struct SumScale {
  SampleSumAttrs attrs;
  bool of_samples;
  cuda::ChangingArgument changing = {};

  SumScale with(const RunContext& context) const { return {attrs, of_samples, cuda::changing(context)}; }
  __device__ float get() const {
    if (!of_samples) return static_cast<float>(attrs.scale);
    const double of_batch = changing.get().loss_scale;
    return static_cast<float>(attrs.mean || of_batch != of_batch ? attrs.scale * of_batch : attrs.scale);
  }
};

constexpr int kSumColumns = 32, kSumLines = cuda::kThreads / kSumColumns;

// The inputs of one sum: `kFactors` operands, multiplied.
template <int kFactors>
struct Factors {
  const float* of[kFactors];

  template <int kAtOnce>
  __device__ cuda::Few<kAtOnce> at(const cuda::Places<kFactors>& a, const cuda::Places<kFactors>& b) const {
    auto value = cuda::load_few<kAtOnce>(of[0] + a.of[0] + b.of[0]);
    if constexpr (kFactors == 2) {
      const auto other = cuda::load_few<kAtOnce>(of[1] + a.of[1] + b.of[1]);
      for (int k = 0; k < kAtOnce; ++k) value.of[k] *= other.of[k];
    }
    return value;
  }
};

template <int kFactors>
struct SumShape {
  cuda::DeviceLoops<kFactors> kept, reduced;
  int64_t results = 1, terms = 1;  // elements of y, and terms of each sum
  int64_t parts = 1, part = 1;     // parts per sum, and terms per part
  int64_t at_once = 1;             // adjacent elements per thread: of y with columns, else of the terms
  bool columns = false;
  SumScale scale = {};
  bool adds = false;

  int64_t blocks() const { return (columns ? cuda::divided_up(results, at_once * kSumColumns) : results) * parts; }
  int64_t workspace_bytes() const { return parts == 1 ? 0 : results * parts * static_cast<int64_t>(sizeof(double)); }
};

// Whether four adjacent elements of the innermost loop are contiguous in every factor, at every step of the other
// loops.
template <size_t kFactors>
bool four_at_once(const Loops<kFactors>& inner, const Loops<kFactors>& other) {
  if (inner.depth() == 0 || inner.counts[0] % 4 != 0) return false;
  for (size_t k = 0; k < kFactors; ++k) {
    if (inner.strides[k][0] != 1) return false;
    for (size_t i = 1; i < inner.depth(); ++i)
      if (inner.strides[k][i] % 4 != 0) return false;
    for (const int64_t stride : other.strides[k])
      if (stride % 4 != 0) return false;
  }
  return true;
}

template <int kFactors>
SumShape<kFactors> shape_of(const SumScale& scale, std::span<const OperandDesc> operands) {
  constexpr size_t kAll = kFactors + 1, kY = kFactors;
  std::array<TensorDesc, kAll> descs;
  for (size_t k = 0; k < kAll; ++k) descs[k] = operands[k].tensor;
  const Loops<kAll> all = loops_over<kAll>(descs);
  Loops<kFactors> kept, reduced;
  SumShape<kFactors> shape;
  for (size_t i = 0; i < all.depth(); ++i) {
    std::array<int64_t, kFactors> step;
    for (size_t k = 0; k < kFactors; ++k) step[k] = all.strides[k][i];
    const bool stays = all.strides[kY][i] != 0;
    (stays ? kept : reduced).around(all.counts[i], step);
    (stays ? shape.results : shape.terms) *= all.counts[i];
  }
  if (shape.results != operands[kY].tensor.elements()) throw KernelError("a result that is larger than what is summed");
  shape.columns = all.strides[kY][0] != 0 && shape.results > 1;
  shape.at_once = (shape.columns ? four_at_once(kept, reduced) : four_at_once(reduced, kept)) ? 4 : 1;
  shape.kept = cuda::on_device(kept, shape.columns ? shape.at_once : 1);
  shape.reduced = cuda::on_device(reduced, shape.columns ? 1 : shape.at_once);
  shape.scale = scale;
  shape.adds = cuda::adds(operands[kY]);
  // At least 4096 terms per part (64 per row of threads with columns), and enough blocks for a large device.
  const int64_t least = shape.columns ? 64 * kSumLines : 4096, blocks = shape.blocks();
  shape.parts = std::max<int64_t>(1, std::min(shape.terms / least, cuda::divided_up(1024, std::max<int64_t>(1, blocks))));
  shape.part = shape.at_once * cuda::divided_up(shape.terms, shape.at_once * shape.parts);
  return shape;
}

template <int kFactors>
__device__ void put(const SumShape<kFactors>& shape, int64_t result, int64_t part, double sum, float* y, double* partial) {
  if (shape.parts > 1) {
    partial[part * shape.results + result] = sum;
    return;
  }
  const float value = shape.scale.get() * static_cast<float>(sum);
  y[result] = shape.adds ? y[result] + value : value;
}

template <int kFactors, int kAtOnce, class Index>
__global__ void sum_rows_kernel(SumShape<kFactors> shape, Factors<kFactors> x, float* y, double* partial) {
  const int64_t result = int64_t{blockIdx.x} / shape.parts, part = int64_t{blockIdx.x} % shape.parts;
  const cuda::Places<kFactors> base = cuda::place(shape.kept, static_cast<Index>(result));
  const int64_t end = min(shape.terms, (part + 1) * shape.part) / kAtOnce;
  double sum = 0;
  for (int64_t i = part * shape.part / kAtOnce + threadIdx.x; i < end; i += cuda::kThreads)
    for (const float term : x.template at<kAtOnce>(base, cuda::place(shape.reduced, static_cast<Index>(i))).of)
      sum += static_cast<double>(term);
  sum = cuda::block_sum<cuda::kThreads>(sum);
  if (threadIdx.x == 0) put(shape, result, part, sum, y, partial);
}

template <int kFactors, int kAtOnce, class Index>
__global__ void columns_kernel(SumShape<kFactors> shape, Factors<kFactors> x, float* y, double* partial) {
  __shared__ double of_line[kAtOnce][kSumLines][kSumColumns];
  const int column = static_cast<int>(threadIdx.x) % kSumColumns, line = static_cast<int>(threadIdx.x) / kSumColumns;
  const int64_t group = int64_t{blockIdx.x} / shape.parts * kSumColumns + column, part = int64_t{blockIdx.x} % shape.parts;
  const int64_t end = min(shape.terms, (part + 1) * shape.part);
  double sums[kAtOnce] = {};
  if (kAtOnce * group < shape.results) {
    const cuda::Places<kFactors> base = cuda::place(shape.kept, static_cast<Index>(group));
    for (int64_t i = part * shape.part + line; i < end; i += kSumLines) {
      const auto terms = x.template at<kAtOnce>(base, cuda::place(shape.reduced, static_cast<Index>(i)));
      for (int k = 0; k < kAtOnce; ++k) sums[k] += static_cast<double>(terms.of[k]);
    }
  }
  for (int k = 0; k < kAtOnce; ++k) of_line[k][line][column] = sums[k];
  __syncthreads();
  if (line != 0 || kAtOnce * group >= shape.results) return;
  for (int k = 0; k < kAtOnce; ++k) {
    for (int other = 1; other < kSumLines; ++other) sums[k] += of_line[k][other][column];
    put(shape, kAtOnce * group + k, part, sums[k], y, partial);
  }
}

template <int kFactors>
__global__ void parts_kernel(SumShape<kFactors> shape, const double* partial, float* y) {
  const int64_t result = cuda::thread_number();
  if (result >= shape.results) return;
  double sum = 0;
  for (int64_t part = 0; part < shape.parts; ++part) sum += partial[part * shape.results + result];
  const float value = shape.scale.get() * static_cast<float>(sum);
  y[result] = shape.adds ? y[result] + value : value;
}

template <int kFactors>
std::unique_ptr<Kernel> sum(const SumScale& scale, std::span<const OperandDesc> operands) {
  const SumShape<kFactors> planned = shape_of<kFactors>(scale, operands);
  return cuda::by_row(planned.at_once, [&](auto at_once) {
    return cuda::by_index(std::max(planned.terms, planned.results), [&](auto index) -> std::unique_ptr<Kernel> {
      using Index = decltype(index);
      constexpr int kAtOnce = decltype(at_once)::value;
      return cuda::kernel([planned](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
        SumShape<kFactors> shape = planned;
        shape.scale = planned.scale.with(context);
        Factors<kFactors> factors;
        for (int k = 0; k < kFactors; ++k) factors.of[k] = cuda::in(operand, static_cast<size_t>(k));
        float* const y = cuda::out(operand, kFactors);
        double* const partial = reinterpret_cast<double*>(workspace);
        cuda::launch("sum", shape.columns ? columns_kernel<kFactors, kAtOnce, Index> : sum_rows_kernel<kFactors, kAtOnce, Index>,
                     shape.blocks(), cuda::kThreads, context, shape, factors, y, partial);
        if (shape.parts > 1)
          cuda::launch("sum of parts", parts_kernel<kFactors>, cuda::blocks_for(shape.results), cuda::kThreads, context, shape,
                       partial, y);
      });
    });
  });
}

template <bool kFour, bool kAdd, class Index>
__global__ void stretch_kernel(Index n, cuda::DeviceLoops<2> loops, SumScale scaled, const float* x, float* y) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const cuda::Places<2> at = cuda::place(loops, static_cast<Index>(number));
  float* const to = y + at.of[0];
  const float* const from = x + at.of[1];
  const float scale = scaled.get();
  if constexpr (kFour) {
    const float4 v = loops.strides[1][0] != 0 ? cuda::load4(from) : make_float4(*from, *from, *from, *from);
    const float4 result = make_float4(scale * v.x, scale * v.y, scale * v.z, scale * v.w);
    cuda::store4(to, kAdd ? cuda::operator+(cuda::load4(to), result) : result);
  } else {
    *to = kAdd ? *to + scale * *from : scale * *from;
  }
}

SumScale fixed_scale(const ScaleAttrs& attrs) { return {{.scale = attrs.scale}, false}; }
SumScale samples_scale(const SampleSumAttrs& attrs, const TensorDesc& x, const TensorDesc& y) {
  return {of_what_is_there(attrs, x, y), true};
}

std::unique_ptr<Kernel> stretched(const SumScale& scale, std::span<const OperandDesc> operands) {
  const Loops<2> loops = loops_over<2>({operands[1].tensor, operands[0].tensor});
  const bool by_four = cuda::four_at_once(loops);
  const int64_t n = loops.count(0) / (by_four ? 4 : 1);
  const cuda::DeviceLoops<2> nest = cuda::on_device(loops, by_four ? 4 : 1);
  return cuda::by_flag(by_four, [&](auto four) {
    return cuda::by_flag(cuda::adds(operands[1]), [&](auto add) {
      return cuda::by_index(n, [&](auto index) -> std::unique_ptr<Kernel> {
        using Index = decltype(index);
        return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
          cuda::launch("broadcast", stretch_kernel<decltype(four)::value, decltype(add)::value, Index>, cuda::blocks_for(n),
                       cuda::kThreads, context, static_cast<Index>(n), nest, scale.with(context), cuda::in(operand, 0),
                       cuda::out(operand, 1));
        });
      });
    });
  });
}

}  // namespace

std::vector<Algorithm> SumToShape::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = shape_of<1>(fixed_scale(attrs), operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> SumToShape::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return sum<1>(fixed_scale(attrs), operands);
}

std::vector<Algorithm> ProductSum::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = shape_of<2>(fixed_scale(attrs), operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> ProductSum::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return sum<2>(fixed_scale(attrs), operands);
}

PLIMSOLL_CUDA_KERNEL(BroadcastTo, return stretched(fixed_scale(attrs), operands);)

std::vector<Algorithm> SumSamples::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const SumScale scale = samples_scale(attrs, operands[0].tensor, operands[1].tensor);
  return {{.workspace_bytes = shape_of<1>(scale, operands).workspace_bytes()}};
}

std::unique_ptr<Kernel> SumSamples::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return sum<1>(samples_scale(attrs, operands[0].tensor, operands[1].tensor), operands);
}

PLIMSOLL_CUDA_KERNEL(SpreadSamples,
                     return stretched(samples_scale(attrs, operands[1].tensor, operands[0].tensor), operands);)

}  // namespace plimsoll
