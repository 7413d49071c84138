// SumToShape {x, y}          y = scale · x, summed over the dimensions that are 1 in y (aligned at the last dimension)
// ProductSum {a, b, y}       the same for a · b
// BroadcastTo {x, y}         y = scale · x, broadcast
// SumSamples {x, y}          SumToShape over samples: a round's share of the iteration's sum or mean
// SpreadSamples {dy, dx}     its gradient, like BroadcastTo
//
// y may be an `update` operand: the result is accumulated. The loops over x are split into those that y keeps and those
// that are summed over. If the innermost is kept (a bias of a matrix), they are sums of columns (device/column_sum.h).
// If it is not (a channel of an image), a block has one element of y, and a thread takes four contiguous terms at once.
// At the ends of a run of an odd length, it takes those of the four that are there (plane_steps.h). Long sums are split
// into parts, which the block that arrives last adds in order. A broadcast writes four adjacent elements of y at once.
#include "runtime/attrs/scale.h"

#include <algorithm>

#include "runtime/cuda/device/column_sum.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/cuda/ops/plane_steps.h"
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
    const double of_batch = changing.loss_scale();
    return static_cast<float>(attrs.mean || of_batch != of_batch ? attrs.scale * of_batch : attrs.scale);
  }
};

// The inputs of one sum: `kFactors` operands, multiplied.
template <int kFactors, class T>
struct Factors {
  const T* of[kFactors];

  template <int kAtOnce>
  __device__ cuda::Few<kAtOnce> at(const cuda::Places<kFactors>& a, const cuda::Places<kFactors>& b) const {
    auto value = cuda::load_few<kAtOnce>(of[0] + a.of[0] + b.of[0]);
    if constexpr (kFactors == 2) {
      const auto other = cuda::load_few<kAtOnce>(of[1] + a.of[1] + b.of[1]);
      for (int k = 0; k < kAtOnce; ++k) value.of[k] *= other.of[k];
    }
    return value;
  }

  // Of factors that lie alike.
  template <class Part>
  __device__ cuda::Few<Part::kAtOnce> of_part(const Part& part) const {
    auto value = part.load(of[0]);
    if constexpr (kFactors == 2) {
      const auto other = part.load(of[1]);
      for (int k = 0; k < Part::kAtOnce; ++k) value.of[k] *= other.of[k];
    }
    return value;
  }
};

template <int kFactors>
struct SumShape {
  cuda::DeviceLoops<kFactors> kept, reduced;
  int64_t results = 1, terms = 1;  // elements of y, and terms of each sum
  int64_t steps = 1;               // without columns: of each sum, kAtOnce terms or less of them
  int64_t parts = 1, part = 1;     // without columns: parts per sum, and steps per part
  int64_t at_once = 1;             // adjacent elements of y per thread, with columns
  cuda::Step step = cuda::Step::one;  // of the terms, without columns
  int64_t run = 0;                    // across: the length of the innermost loop, which `reduced` then lacks
  bool columns = false;
  SumScale scale = {};
  bool adds = false;

  cuda::ColumnParts column_parts() const { return cuda::ColumnParts(terms, results, at_once); }
  int64_t workspace_bytes() const {
    const int64_t count = columns ? column_parts().parts : parts;
    return count == 1 ? 0 : results * count * static_cast<int64_t>(sizeof(cuda::Sums<1>));
  }
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

// Whether the innermost loop is contiguous, and the factors have the same offsets in all loops: runs that begin
// anywhere.
template <size_t kFactors>
bool in_runs(const Loops<kFactors>& inner, const Loops<kFactors>& other) {
  if (inner.depth() == 0 || cuda::step_of_plane(inner.counts[0]) == cuda::Step::one || inner.strides[0][0] != 1)
    return false;
  for (size_t k = 1; k < kFactors; ++k)
    if (inner.strides[k] != inner.strides[0] || other.strides[k] != other.strides[0]) return false;
  return true;
}

template <size_t kFactors>
Loops<kFactors> without_innermost(Loops<kFactors> loops) {
  loops.counts.erase(loops.counts.begin());
  for (auto& strides : loops.strides) strides.erase(strides.begin());
  return loops;
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
  shape.scale = scale;
  shape.adds = cuda::adds(operands[kY]);
  if (shape.columns) {
    shape.at_once = four_at_once(kept, reduced) ? 4 : 1;
    shape.kept = cuda::on_device(kept, shape.at_once);
    shape.reduced = cuda::on_device(reduced);
    return shape;
  }
  shape.kept = cuda::on_device(kept);
  if (four_at_once(reduced, kept)) {
    shape.step = cuda::Step::four;
    shape.reduced = cuda::on_device(reduced, 4);
    shape.steps = shape.terms / 4;
  } else if (in_runs(reduced, kept)) {
    shape.step = cuda::Step::across;
    shape.run = reduced.counts[0];
    shape.reduced = cuda::on_device(without_innermost(reduced));
    shape.steps = shape.terms / shape.run * cuda::parts_of_plane(shape.step, shape.run);
  } else {
    shape.reduced = cuda::on_device(reduced);
    shape.steps = shape.terms;
  }
  // At least 4096 terms per part, and enough blocks for a large device. With several parts there are fewer results than
  // arrivals are counted for.
  constexpr int64_t kLeast = 4096, kBlocks = 1024;
  static_assert(kBlocks <= cuda::kArrivals);
  shape.parts = std::max<int64_t>(
      1, std::min(shape.terms / kLeast, cuda::divided_up(kBlocks, std::max<int64_t>(1, shape.results))));
  shape.part = cuda::divided_up(shape.steps, shape.parts);
  return shape;
}

template <int kFactors, class Y>
__device__ void put(const SumShape<kFactors>& shape, int64_t result, double sum, Y* y) {
  const float value = shape.scale.get() * static_cast<float>(sum);
  cuda::store_one(y + result, shape.adds ? cuda::load_one(y + result) + value : value);
}

// Step `i` of the terms of a sum.
template <int kFactors, cuda::Step kStep, class Index, class T>
__device__ auto terms_at(const SumShape<kFactors>& shape, const Factors<kFactors, T>& x,
                         const cuda::Places<kFactors>& base, Index i) {
  if constexpr (kStep == cuda::Step::across) {
    const Index each = static_cast<Index>(cuda::parts_of_plane(kStep, shape.run)), run = i / each;
    const int64_t begin = base.of[0] + cuda::place(shape.reduced, run).of[0];
    return x.of_part(cuda::PlanePart<kStep, Index>(begin, begin + shape.run, static_cast<int64_t>(i - run * each)));
  } else {
    return x.template at < kStep == cuda::Step::four ? 4 : 1 > (base, cuda::place(shape.reduced, i));
  }
}

template <int kFactors, cuda::Step kStep, class Index, class T, class Y>
__global__ void sum_rows_kernel(SumShape<kFactors> shape, Factors<kFactors, T> x, Y* y, double* partial) {
  const int64_t result = int64_t{blockIdx.x} / shape.parts, part = int64_t{blockIdx.x} % shape.parts;
  const cuda::Places<kFactors> base = cuda::place(shape.kept, static_cast<Index>(result));
  const int64_t end = min(shape.steps, (part + 1) * shape.part);
  double sum = 0;
  for (int64_t i = part * shape.part + threadIdx.x; i < end; i += cuda::kThreads)
    for (const float term : terms_at<kFactors, kStep>(shape, x, base, static_cast<Index>(i)).of)
      sum += static_cast<double>(term);
  sum = cuda::block_sum<cuda::kThreads>(sum);
  if (shape.parts == 1) {
    if (threadIdx.x == 0) put(shape, result, sum, y);
    return;
  }
  double* const of_result = partial + result * shape.parts;
  if (threadIdx.x == 0) of_result[part] = sum;
  if (!cuda::arrives_last(result, static_cast<unsigned>(shape.parts))) return;
  sum = 0;
  for (int64_t i = threadIdx.x; i < shape.parts; i += cuda::kThreads) sum += of_result[i];
  sum = cuda::block_sum<cuda::kThreads>(sum);
  if (threadIdx.x == 0) put(shape, result, sum, y);
}

// The innermost loop is kept: the sums of columns.
template <int kFactors, int kColumns, class Index, class T, class Y>
struct ColumnTerms {
  static constexpr int kAtOnce = kColumns, kAhead = 4;
  using Partial = cuda::Sums<1>;
  using Row = cuda::Few<kAtOnce>;

  SumShape<kFactors> shape;
  Factors<kFactors, T> x;
  Y* y;

  struct Column {
    const ColumnTerms& terms;
    cuda::Places<kFactors> base;
    __device__ Row load(int64_t row) const {
      return terms.x.template at<kAtOnce>(base, cuda::place(terms.shape.reduced, static_cast<Index>(row)));
    }
  };
  __device__ Column at(int64_t group) const { return {*this, cuda::place(shape.kept, static_cast<Index>(group))}; }

  struct Running {
    double sums[kAtOnce] = {};
    __device__ void add(const Row* rows, int there, const Column&) {
#pragma unroll
      for (int k = 0; k < kAhead; ++k)
        for (int c = 0; c < kAtOnce; ++c) sums[c] += k < there ? static_cast<double>(rows[k].of[c]) : 0;
    }
    __device__ Partial partial(int c) const { return {{sums[c]}}; }
  };

  __device__ void finish(int64_t column, const Partial& sum) const { put(shape, column, sum.of[0], y); }
};

// body(T{}, Y{}): the types of the terms and of the result. Terms in f32 have a result in f32.
template <class Body>
std::unique_ptr<Kernel> by_types_of_sum(DataType terms, DataType result, Body body) {
  if (!is_narrow(terms)) return body(float{}, float{});
  return cuda::by_narrow(terms, [&](auto of_terms) {
    return cuda::by_width_of<decltype(of_terms)>(result, [&](auto zero) { return body(of_terms, zero); });
  });
}

template <int kFactors>
std::unique_ptr<Kernel> sum(const SumScale& scale, std::span<const OperandDesc> operands) {
  const SumShape<kFactors> planned = shape_of<kFactors>(scale, operands);
  const auto made = [&]<class T, class Y, class Index>(T, Y, Index) -> std::unique_ptr<Kernel> {
    return cuda::kernel([planned](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
      SumShape<kFactors> shape = planned;
      shape.scale = planned.scale.with(context);
      Factors<kFactors, T> factors;
      for (int k = 0; k < kFactors; ++k) factors.of[k] = cuda::in<T>(operand, static_cast<size_t>(k));
      Y* const y = cuda::out<Y>(operand, kFactors);
      if (shape.columns)
        return cuda::by_row(shape.at_once, [&](auto at_once) {
          cuda::sum_columns("sum", context, shape.column_parts(),
                            ColumnTerms<kFactors, decltype(at_once)::value, Index, T, Y>{shape, factors, y}, workspace);
        });
      cuda::by_step_of_plane(shape.step, [&](auto step) {
        cuda::launch("sum", sum_rows_kernel<kFactors, decltype(step)::value, Index, T, Y>, shape.results * shape.parts,
                     cuda::kThreads, context, shape, factors, y, reinterpret_cast<double*>(workspace));
      });
    });
  };
  return by_types_of_sum(operands[0].tensor.type, operands[kFactors].tensor.type, [&](auto x, auto y) {
    return cuda::by_index(std::max(planned.terms, planned.results), [&](auto index) { return made(x, y, index); });
  });
}

// Four adjacent elements of y, or what there is of four at its end, which may have different places in x: for innermost
// loops that are not of a multiple of four steps. y is contiguous.
template <bool kAdd, class Index, class X, class Y>
__global__ void stretch_across_kernel(Index n, cuda::DeviceLoops<2> loops, SumScale scaled, const X* x, Y* y) {
  const int64_t first = 4 * cuda::thread_number(), all = static_cast<int64_t>(n);
  if (first >= all) return;
  const float scale = scaled.get();
  const Index innermost = static_cast<Index>(loops.counts[0]);
  Index left = innermost - static_cast<Index>(first) % innermost;
  const X* from = x + cuda::place(loops, static_cast<Index>(first)).of[1];
  cuda::Few<4> few{};
  for (int k = 0; k < 4; ++k) {
    few.of[k] = scale * cuda::load_one(from);
    if (first + k + 1 >= all) break;
    from += loops.strides[1][0];
    if (--left > 0) continue;
    left = innermost;
    from = x + cuda::place(loops, static_cast<Index>(first + k + 1)).of[1];
  }
  if (first + 4 <= all) return cuda::put_few<kAdd>(y + first, few);
  for (int k = 0; k < 4; ++k)
    if (first + k < all) cuda::store_one(y + first + k, kAdd ? cuda::load_one(y + first + k) + few.of[k] : few.of[k]);
}

template <int kAtOnce, bool kAdd, class Index, class X, class Y>
__global__ void stretch_kernel(Index n, cuda::DeviceLoops<2> loops, SumScale scaled, const X* x, Y* y) {
  const int64_t number = cuda::thread_number();
  if (number >= static_cast<int64_t>(n)) return;
  const cuda::Places<2> at = cuda::place(loops, static_cast<Index>(number));
  Y* const to = y + at.of[0];
  const X* const from = x + at.of[1];
  const float scale = scaled.get();
  const auto v = loops.strides[1][0] != 0 ? cuda::load_few<kAtOnce>(from) : cuda::few_of<kAtOnce>(cuda::load_one(from));
  cuda::put_few<kAdd>(to, cuda::by_element([=](float value) { return scale * value; }, v));
}

SumScale fixed_scale(const ScaleAttrs& attrs) { return {{.scale = attrs.scale}, false}; }
SumScale samples_scale(const SampleSumAttrs& attrs, const TensorDesc& x, const TensorDesc& y) {
  return {of_what_is_there(attrs, x, y), true};
}

// Of the first operand.
bool is_contiguous(const Loops<2>& loops) {
  int64_t stride = 1;
  for (size_t i = 0; i < loops.depth(); stride *= loops.counts[i++])
    if (loops.strides[0][i] != stride) return false;
  return true;
}

// body(X{}, Y{}): the types of what is broadcast and of the result. A result in f32 is broadcast from f32.
template <class Body>
std::unique_ptr<Kernel> by_types_of_broadcast(std::span<const OperandDesc> operands, Body body) {
  if (!is_narrow(operands[1].tensor.type)) return body(float{}, float{});
  return cuda::by_narrow(operands[1].tensor.type, [&](auto y) {
    return cuda::by_width_of<decltype(y)>(operands[0].tensor.type, [&](auto zero) { return body(zero, y); });
  });
}

std::unique_ptr<Kernel> stretched_across(const SumScale& scale, std::span<const OperandDesc> operands,
                                         const Loops<2>& loops) {
  const int64_t n = loops.count(0);
  const cuda::DeviceLoops<2> nest = cuda::on_device(loops);
  return by_types_of_broadcast(operands, [&]<class X, class Y>(X, Y) {
    return cuda::by_adding<Y>(operands[1], [&](auto add) {
      return cuda::by_index(n, [&](auto index) -> std::unique_ptr<Kernel> {
        using Index = decltype(index);
        return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
          cuda::launch("broadcast", stretch_across_kernel<decltype(add)::value, Index, X, Y>,
                       cuda::blocks_for(cuda::divided_up(n, 4)), cuda::kThreads, context, static_cast<Index>(n), nest,
                       scale.with(context), cuda::in<X>(operand, 0), cuda::out<Y>(operand, 1));
        });
      });
    });
  });
}

std::unique_ptr<Kernel> stretched(const SumScale& scale, std::span<const OperandDesc> operands) {
  const Loops<2> loops = loops_over<2>({operands[1].tensor, operands[0].tensor});
  const bool by_four = cuda::four_at_once(loops);
  if (!by_four && loops.count(0) > 4 && is_contiguous(loops)) return stretched_across(scale, operands, loops);
  const int64_t n = loops.count(0) / (by_four ? 4 : 1);
  const cuda::DeviceLoops<2> nest = cuda::on_device(loops, by_four ? 4 : 1);
  return by_types_of_broadcast(operands, [&]<class X, class Y>(X, Y) {
    return cuda::by_row(by_four ? 4 : 1, [&](auto at_once) {
      return cuda::by_adding<Y>(operands[1], [&](auto add) {
        return cuda::by_index(n, [&](auto index) -> std::unique_ptr<Kernel> {
          using Index = decltype(index);
          return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
            cuda::launch("broadcast", stretch_kernel<decltype(at_once)::value, decltype(add)::value, Index, X, Y>,
                         cuda::blocks_for(n), cuda::kThreads, context, static_cast<Index>(n), nest, scale.with(context),
                         cuda::in<X>(operand, 0), cuda::out<Y>(operand, 1));
          });
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
