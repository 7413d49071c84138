// SumToShape {x, y}          y = scale · x, summed over the dimensions that are 1 in y (aligned at the last dimension)
// ProductSum {a, b, y}       the same for a · b
// BroadcastTo {x, y}         y = scale · x, broadcast
// SumSamples {x, y}          SumToShape over samples: a round's share of the iteration's sum or mean
// SpreadSamples {dy, dx}     its gradient, like BroadcastTo
//
// y may be an `update` operand: the result is accumulated. Few sums over many elements (the gradient of a bias) are
// divided into parts, whose number follows from the shape; the workspace has their sums. Each part is added up by one
// thread in a fixed order, in double precision beyond a stretch of a row, and parts are added in order, so the bits do
// not depend on the number of threads.
#include <optional>
#include <utility>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/real.h"
#include "runtime/host/rows.h"
#include "runtime/host/work_items.h"
#include "runtime/kernels.h"
#include "runtime/loops.h"

namespace plimsoll {
namespace {

constexpr int64_t kColumns = 128;  // accumulators of one thread, on its stack
constexpr int64_t kSumStretch = 16384;  // elements of a row

// y is the last operand, in f32 or bf16; the preceding ones, of type T, are multiplied.
template <size_t Factors, class T>
class SumKernel final : public Kernel {
 public:
  static constexpr size_t kY = Factors;

  // `of_samples`: with the trainer's factor for an incomplete batch.
  SumKernel(double scale, std::span<const OperandDesc> operands, std::optional<SampleSumAttrs> of_samples = {})
      : scale_(static_cast<float>(scale)),
        of_samples_(of_samples),
        accumulates_(operands[kY].access == Access::update),
        rounds_(operands[kY].tensor.type == DataType::bf16) {
    std::array<TensorDesc, Factors + 1> descs;
    for (size_t k = 0; k <= Factors; ++k) descs[k] = operands[k].tensor;
    const Loops<Factors + 1> all = loops_over(descs);
    inner_kept_ = all.strides[kY][0] != 0;
    inner_count_ = all.counts[0];
    for (size_t k = 0; k < Factors; ++k) inner_step_[k] = all.strides[k][0];
    unit_ = std::all_of(inner_step_.begin(), inner_step_.end(), [](int64_t step) { return step == 1; });
    bool row = true;
    for (size_t i = 1; i < all.depth(); ++i) {
      std::array<int64_t, Factors + 1> step;
      for (size_t k = 0; k <= Factors; ++k) step[k] = all.strides[k][i];
      if (step[kY] != 0) {
        kept_.around(all.counts[i], step);
      } else if (std::exchange(row, false)) {
        // The innermost reduced loop uses a stride, the outer ones use division.
        row_count_ = all.counts[i];
        row_step_ = step;
      } else {
        reduced_.around(all.counts[i], step);
      }
    }
    blocks_ = inner_kept_ ? (inner_count_ + kColumns - 1) / kColumns : 1;
    stretches_ = inner_kept_ ? 1 : (inner_count_ + kSumStretch - 1) / kSumStretch;
    sums_ = kept_.count(0) * blocks_;
    const int64_t rows = row_count_ * reduced_.count(0);
    units_ = rows * stretches_;
    parts_ = std::min(units_, host::parts_of(sums_, rows * (inner_kept_ ? width() : inner_count_)));
  }

  int64_t workspace_bytes() const {
    return parts_ == 1 ? 0 : sums_ * parts_ * width() * static_cast<int64_t>(sizeof(double));
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    if (of_samples_) scale_ = of_samples_->of_batch(context.loss_scale);
    std::array<const T*, Factors> x;
    for (size_t k = 0; k < Factors; ++k) x[k] = host::in<T>(operands, k);
    double* const shares = reinterpret_cast<double*>(workspace);
    const int64_t work = kept_.count(0) * inner_count_ * row_count_ * reduced_.count(0);
    if (!inner_kept_ && units_ == 1) return single_rows(x, operands[kY], work);
#pragma omp parallel for schedule(static) if (work > 16384)
    for (int64_t i = 0; i < sums_ * parts_; ++i) {
      const int64_t sum = parts_ == 1 ? i : i / parts_;
      std::array<const T*, Factors> from;
      for (size_t k = 0; k < Factors; ++k) from[k] = x[k] + kept_.offset(k, sum / blocks_, 0);
      double own[kColumns];
      double* const to = parts_ == 1 ? own : shares + i * width();
      const host::Part part = parts_ == 1 ? host::Part{0, units_} : host::part_of(i % parts_, parts_, units_);
      if (inner_kept_) {
        unit_ ? columns<true>(from, part, sum % blocks_, to) : columns<false>(from, part, sum % blocks_, to);
      } else {
        to[0] = unit_ ? row_sums<true>(from, part) : row_sums<false>(from, part);
      }
      if (parts_ == 1) store_sums(operands[kY], sum, own);
    }
    if (parts_ == 1) return;
#pragma omp parallel for schedule(static) if (sums_ * parts_ * width() > 16384)
    for (int64_t sum = 0; sum < sums_; ++sum) {
      double total[kColumns] = {};
      for (int64_t part = 0; part < parts_; ++part)
        for (int64_t j = 0; j < width(); ++j) total[j] += shares[(sum * parts_ + part) * width() + j];
      store_sums(operands[kY], sum, total);
    }
  }

 private:
  int64_t width() const { return inner_kept_ ? std::min(kColumns, inner_count_) : 1; }

  void store_sums(std::byte* y, int64_t sum, const double* sums) const {
    const int64_t to = kept_.offset(kY, sum / blocks_, 0), first = sum % blocks_ * kColumns;
    const int64_t count = inner_kept_ ? std::min(kColumns, inner_count_ - first) : 1;
    for (int64_t j = 0; j < count; ++j) store(y, to + first + j, sums[j]);
  }

  void store(std::byte* y, int64_t at, double sum) const {
    const float value = scale_ * static_cast<float>(sum);
    if (rounds_) {
      reinterpret_cast<Bf16*>(y)[at] = value;
      return;
    }
    float& to = reinterpret_cast<float*>(y)[at];
    to = accumulates_ ? to + value : value;
  }

  // The product of the factors at step j of the innermost loop. Unit: every stride is 1, which the compiler can use for
  // vectorization.
  template <bool Unit>
  float at(const std::array<const T*, Factors>& row, int64_t j) const {
    float value = row[0][Unit ? j : j * inner_step_[0]];
    if constexpr (Factors == 2) value *= row[1][Unit ? j : j * inner_step_[1]];
    return value;
  }

  // The innermost loop is kept: up to kColumns sums at a time, over the rows of a part.
  template <bool Unit>
  void columns(std::array<const T*, Factors> from, host::Part part, int64_t block, double* to) const {
    const int64_t first = block * kColumns, n = std::min(kColumns, inner_count_ - first);
    double sums[kColumns] = {};
    for (int64_t u = part.first; u < part.end;) {
      const int64_t from_row = u % row_count_, rows = std::min(row_count_ - from_row, part.end - u);
      std::array<const T*, Factors> row;
      for (size_t k = 0; k < Factors; ++k)
        row[k] = from[k] + reduced_.offset(k, u / row_count_, 0) + from_row * row_step_[k] + first * inner_step_[k];
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t j = 0; j < n; ++j) sums[j] += static_cast<double>(at<Unit>(row, j));
        for (size_t k = 0; k < Factors; ++k) row[k] += row_step_[k];
      }
      u += rows;
    }
    std::copy_n(sums, width(), to);
  }

  // The innermost loop is reduced: stretches of rows are summed in vector lanes.
  template <bool Unit>
  double row_sums(std::array<const T*, Factors> from, host::Part part) const {
    double sums[kDoubles] = {};
    for (int64_t u = part.first; u < part.end; ++u) {
      const int64_t at_row = u / stretches_, stretch = u % stretches_;
      std::array<const T*, Factors> row;
      for (size_t k = 0; k < Factors; ++k)
        row[k] = from[k] + reduced_.offset(k, at_row / row_count_, 0) + at_row % row_count_ * row_step_[k] +
                 stretch * kSumStretch * inner_step_[k];
      add_row<Unit>(row, std::min(kSumStretch, inner_count_ - stretch * kSumStretch), sums);
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  // Each sum is one row. It may be shorter than the divisions take by which run() finds it.
  void single_rows(const std::array<const T*, Factors>& x, std::byte* y, int64_t work) const {
    constexpr int64_t kAtOnce = 64;
#pragma omp parallel for schedule(static) if (work > 16384)
    for (int64_t i = 0; i < (sums_ + kAtOnce - 1) / kAtOnce; ++i)
      kept_.walk(0, i * kAtOnce, std::min(sums_, (i + 1) * kAtOnce), [&](const auto& offsets) {
        std::array<const T*, Factors> row;
        for (size_t k = 0; k < Factors; ++k) row[k] = x[k] + offsets[k];
        double sums[kDoubles] = {};
        unit_ ? add_row<true>(row, inner_count_, sums) : add_row<false>(row, inner_count_, sums);
        store(y, offsets[kY], (sums[0] + sums[1]) + (sums[2] + sums[3]));
      });
  }

  static constexpr int64_t kDoubles = 4;  // several, so that an addition need not wait for the one before

  template <bool Unit>
  void add_row(const std::array<const T*, Factors>& row, int64_t count, double* sums) const {
    constexpr int64_t kSumLanes = 32;
    int64_t j = 0;
    if (count >= kSumLanes) {
      float lanes[kSumLanes] = {};
      for (; j + kSumLanes <= count; j += kSumLanes)
        for (int64_t l = 0; l < kSumLanes; ++l) lanes[l] += at<Unit>(row, j + l);
      double own[kDoubles] = {};
      for (int64_t l = 0; l < kSumLanes; l += kDoubles)
        for (int64_t d = 0; d < kDoubles; ++d) own[d] += static_cast<double>(lanes[l + d]);
      for (int64_t d = 0; d < kDoubles; ++d) sums[d] += own[d];
    }
    for (; j < count; ++j) sums[j % kDoubles] += static_cast<double>(at<Unit>(row, j));
  }

  float scale_;  // in this run
  std::optional<SampleSumAttrs> of_samples_;
  bool accumulates_, rounds_;
  bool inner_kept_ = false, unit_ = false;
  int64_t inner_count_ = 1, row_count_ = 1;
  int64_t blocks_ = 1, stretches_ = 1;  // of kept columns, of a reduced row
  int64_t sums_ = 1, units_ = 1, parts_ = 1;
  std::array<int64_t, Factors> inner_step_ = {};
  std::array<int64_t, Factors + 1> row_step_ = {};
  Loops<Factors + 1> kept_, reduced_;  // without the innermost loop
};

template <size_t Factors>
std::unique_ptr<Kernel> summed(double scale, std::span<const OperandDesc> operands,
                               std::optional<SampleSumAttrs> of_samples = {}) {
  return host::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
    return std::make_unique<SumKernel<Factors, decltype(zero)>>(scale, operands, of_samples);
  });
}

template <size_t Factors>
std::vector<Algorithm> algorithms_of_sum(std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = SumKernel<Factors, float>(1, operands).workspace_bytes()}};
}

template <class X, class Y>
std::unique_ptr<Kernel> stretched(double plain_scale, std::span<const OperandDesc> operands,
                                  std::optional<SampleSumAttrs> of_samples) {
  const Loops<2> loops = loops_over<2>({operands[1].tensor, operands[0].tensor});
  const bool accumulates = operands[1].access == Access::update;
  return host::flat_kernel([=](const RunContext& context, std::byte* const* operand) {
    const float scale = of_samples ? of_samples->of_batch(context.loss_scale) : static_cast<float>(plain_scale);
    const X* x = host::in<X>(operand, 0);
    Y* y = host::out<Y>(operand, 1);
    const int64_t length = loops.counts[0], step = loops.strides[1][0];
    host::for_rows(loops, [=](const auto& offsets) {
      Y* to = y + offsets[0];
      const X* from = x + offsets[1];
      if (accumulates) {
        for (int64_t j = 0; j < length; ++j) to[j] = to[j] + scale * from[j * step];
      } else if (step == 0) {
        std::fill_n(to, length, Y(scale * from[0]));
      } else {
        for (int64_t j = 0; j < length; ++j) to[j] = scale * from[j * step];
      }
    });
  });
}

std::unique_ptr<Kernel> stretched(double scale, std::span<const OperandDesc> operands,
                                  std::optional<SampleSumAttrs> of_samples = {}) {
  return host::by_real(operands[0].tensor.type, [&](auto x) {
    return host::by_real(operands[1].tensor.type,
                         [&](auto y) { return stretched<decltype(x), decltype(y)>(scale, operands, of_samples); });
  });
}

}  // namespace

std::vector<Algorithm> SumToShape::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return algorithms_of_sum<1>(operands);
}

std::unique_ptr<Kernel> SumToShape::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return summed<1>(attrs.scale, operands);
}

std::vector<Algorithm> ProductSum::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return algorithms_of_sum<2>(operands);
}

std::unique_ptr<Kernel> ProductSum::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return summed<2>(attrs.scale, operands);
}

std::vector<Algorithm> BroadcastTo::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> BroadcastTo::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return stretched(attrs.scale, operands);
}

std::vector<Algorithm> SumSamples::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return algorithms_of_sum<1>(operands);
}

std::unique_ptr<Kernel> SumSamples::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return summed<1>(0, operands, of_what_is_there(attrs, operands[0].tensor, operands[1].tensor));
}

std::vector<Algorithm> SpreadSamples::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> SpreadSamples::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                            std::string_view) {
  return stretched(0, operands, of_what_is_there(attrs, operands[1].tensor, operands[0].tensor));
}

}  // namespace plimsoll
