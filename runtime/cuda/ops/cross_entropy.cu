// SoftmaxCrossEntropy {logits, labels, loss, correct, dlogits, weights?}   logits [N, C, d…], labels [N, d…] i32 or
// i64, weights [C]
// NegativeLogLikelihood {log_probabilities, labels, loss, correct, dlog_probabilities, weights?}   likewise
// SoftmaxCrossEntropyEach {logits, labels, losses, weights?}            a loss per label
// SoftmaxCrossEntropyEachBackward {logits, labels, dlosses, dlogits, weights?}
// NegativeLogLikelihoodEach {log_probabilities, labels, losses, weights?}
// NegativeLogLikelihoodEachBackward {labels, dlosses, dlog_probabilities, weights?}
//
// Loss, hits and gradient in one launch; each block writes its share to the workspace, and the block that arrives last
// adds the shares in a fixed order. `correct` and the gradient may be absent; in evaluation the gradient is not
// written. The gradient may overwrite the scores.
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/ops/entropy_rows.h"
#include "runtime/cuda/ops/loss_share.h"
#include "runtime/cuda/ops/weighed_entropy.h"
#include "runtime/kernels.h"
#include "runtime/precision.h"

namespace plimsoll {
namespace {

using cuda::BestClass, cuda::ClassLabels, cuda::EachLoss, cuda::EntropyScale, cuda::kBytesOfCount, cuda::Weighing;

// One thread per pixel, whose classes are `pixels` elements apart.
template <class T>
__global__ void pixels_kernel(int64_t rows, int64_t classes, int64_t pixels, EntropyScale given_scale,
                              ClassLabels labels, const T* logits, T* gradient, cuda::LossTotal total) {
  const float scale = static_cast<float>(given_scale.slope());
  const int64_t number = cuda::thread_number();
  cuda::LossShare share{0, 0};
  if (number < rows) {
    const int64_t start = number / pixels * classes * pixels + number % pixels;
    const auto x = [&](int64_t c) { return cuda::load_one(logits + start + c * pixels); };
    T* const dx = gradient ? gradient + start : nullptr;
    const int64_t label = labels[number];
    if (!labels.counts(label)) {
      for (int64_t c = 0; dx && c < classes; ++c) cuda::store_one(dx + c * pixels, 0.0F);
    } else {
      BestClass best{x(0), 0};
      for (int64_t c = 1; c < classes; ++c)
        if (x(c) > best.value) best = {x(c), c};
      float sum = 0;
      for (int64_t c = 0; c < classes; ++c) sum += expf(x(c) - best.value);
      const float mine = label < classes ? x(label) : nanf("");
      share = {log(static_cast<double>(sum)) + static_cast<double>(best.value) - static_cast<double>(mine),
               best.at == label ? 1.0 : 0.0};
      const float factor = scale / sum;
      for (int64_t c = 0; dx && c < classes; ++c) {
        const float p = expf(x(c) - best.value) * factor;
        cuda::store_one(dx + c * pixels, c == label ? p - scale : p);
      }
    }
  }
  total.settle(cuda::block_reduce<cuda::kThreads>(share, cuda::plus), given_scale);
}

// The same with class weights or label smoothing.
__global__ void weighed_pixels_kernel(int64_t rows, int64_t classes, int64_t pixels, EntropyScale given_scale,
                                      Weighing weighing, ClassLabels labels, const float* logits, float* gradient,
                                      cuda::LossTotal total, EachLoss each) {
  const int64_t number = cuda::thread_number();
  cuda::LossShare share{0, 0};
  if (number < rows) {
    const double scale = each.slopes ? static_cast<double>(each.slopes[number]) : given_scale.slope();
    const int64_t start = number / pixels * classes * pixels + number % pixels;
    const float* const x = logits + start;
    float* const dx = gradient ? gradient + start : nullptr;
    const int64_t label = labels[number];
    if (!labels.counts(label)) {
      for (int64_t c = 0; dx && c < classes; ++c) dx[c * pixels] = 0;
    } else {
      BestClass best{x[0], 0};
      for (int64_t c = 1; c < classes; ++c)
        if (x[c * pixels] > best.value) best = {x[c * pixels], c};
      double sum = 0, off = 0, all = 0;
      for (int64_t c = 0; c < classes; ++c) {
        const float below = x[c * pixels] - best.value;
        sum += static_cast<double>(expf(below));
        off += weighing.smoothing != 0 ? weighing.of(c) * static_cast<double>(below) : 0;
        all += weighing.of(c);
      }
      const double mine =
          label < classes ? static_cast<double>(x[label * pixels] - best.value) : static_cast<double>(nanf(""));
      share = {weighing.loss(label, sum, mine, off, all), best.at == label ? 1.0 : 0.0};
      const double of_label = (1 - weighing.smoothing) * weighing.of(label);
      for (int64_t c = 0; dx && c < classes; ++c)
        dx[c * pixels] =
            static_cast<float>(scale) *
            weighing.slope(c == label, c, static_cast<double>(expf(x[c * pixels] - best.value)) / sum, all, of_label);
    }
    if (each.losses) each.losses[number] = static_cast<float>(share.loss);
  }
  if (total.shares) total.settle(cuda::block_reduce<cuda::kThreads>(share, cuda::plus), given_scale);
}

// On log-probabilities: only the label's counts. One thread per row, which is read before it is written.
__global__ void likelihood_kernel(int64_t rows, int64_t pixels, EntropyScale given_scale, Weighing weighing,
                                  ClassLabels labels, const float* given, float* gradient, cuda::LossTotal total,
                                  EachLoss each) {
  const int64_t number = cuda::thread_number(), classes = weighing.classes;
  cuda::LossShare share{0, 0};
  if (number < rows) {
    const double scale = each.slopes ? static_cast<double>(each.slopes[number]) : gradient ? given_scale.slope() : 0;
    const int64_t start = number / pixels * classes * pixels + number % pixels;
    float* const dx = gradient ? gradient + start : nullptr;
    const int64_t label = labels[number];
    const bool counted = labels.counts(label);
    if (counted && given) {
      const float* const x = given + start;
      BestClass best{x[0], 0};
      for (int64_t c = 1; c < classes; ++c)
        if (x[c * pixels] > best.value) best = {x[c * pixels], c};
      const float mine = label < classes ? x[label * pixels] : nanf("");
      share = {-(weighing.of(label) * static_cast<double>(mine)), best.at == label ? 1.0 : 0.0};
    }
    for (int64_t c = 0; dx && c < classes; ++c)
      dx[c * pixels] = counted && c == label ? static_cast<float>(-(weighing.of(label) * scale)) : 0;
    if (each.losses) each.losses[number] = static_cast<float>(share.loss);
  }
  if (total.shares) total.settle(cuda::block_reduce<cuda::kThreads>(share, cuda::plus), given_scale);
}

struct CrossEntropy {
  int64_t batch, classes, pixels = 1;

  explicit CrossEntropy(const TensorDesc& logits) : batch(logits.dim(0)), classes(logits.dim(1)) {
    for (size_t i = 2; i < logits.rank(); ++i) pixels *= logits.dim(i);
  }
  int64_t rows() const { return batch * pixels; }
  int64_t blocks() const { return pixels == 1 ? batch : cuda::blocks_for(rows()); }
};

constexpr size_t kWeightsOfLoss = 5;

bool has_weights(std::span<const OperandDesc> operands, size_t slot) {
  return operands.size() > slot && operands[slot].access != Access::absent;
}

const float* weights_in(std::byte* const* operand, bool weighed, size_t slot) {
  return weighed ? cuda::in(operand, slot) : nullptr;
}

// The scale of a loss as one number, after the kernel that computes it, and where the loss is written.
struct Begun {
  EntropyScale scale;
  cuda::LossTotal total;
};

Begun begin(const SoftmaxCrossEntropyAttrs& attrs, const RunContext& context, int64_t rows, const Weighing& weighing,
            const ClassLabels& labels, std::byte* const* operand, std::byte* workspace) {
  const int64_t bytes_of_count = attrs.counts ? kBytesOfCount : 0;
  return {cuda::entropy_scale(attrs, context, rows, weighing, labels, reinterpret_cast<double*>(workspace)),
          {reinterpret_cast<cuda::LossShare*>(workspace + bytes_of_count), cuda::out(operand, 2),
           cuda::out(operand, 3)}};
}

int64_t workspace_of(const SoftmaxCrossEntropyAttrs& attrs, int64_t blocks) {
  return cuda::bytes_of_shares(blocks) + (attrs.counts ? kBytesOfCount : 0);
}

bool wide_labels(const OperandDesc& labels) { return labels.tensor.type == DataType::i64; }

void launch_weighed(const CrossEntropy& shape, const RunContext& context, const EntropyScale& scale,
                    const Weighing& weighing, const ClassLabels& labels, const float* logits, float* gradient,
                    const cuda::LossTotal& total, const EachLoss& each) {
  if (shape.pixels == 1)
    cuda::launch("softmax and cross entropy", cuda::weighed_rows_kernel<float, cuda::LossTotal>, shape.batch,
                 cuda::kThreads, context, shape.classes, scale, weighing, labels, logits, gradient, total, each);
  else
    cuda::launch("softmax and cross entropy", weighed_pixels_kernel, shape.blocks(), cuda::kThreads, context,
                 shape.rows(), shape.classes, shape.pixels, scale, weighing, labels, logits, gradient, total, each);
}

void launch_likelihood(const CrossEntropy& shape, const RunContext& context, const EntropyScale& scale,
                       const Weighing& weighing, const ClassLabels& labels, const float* given, float* gradient,
                       const cuda::LossTotal& total, const EachLoss& each) {
  cuda::launch("likelihood", likelihood_kernel, cuda::blocks_for(shape.rows()), cuda::kThreads, context, shape.rows(),
               shape.pixels, scale, weighing, labels, given, gradient, total, each);
}

}  // namespace

std::vector<Algorithm> SoftmaxCrossEntropy::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  if (uses_narrow(operands) && (attrs.smoothing != 0 || has_weights(operands, kWeightsOfLoss)))
    throw KernelError("a weighed cross entropy in 16 bits");  // on widened operands
  return {{.workspace_bytes = workspace_of(attrs, CrossEntropy(operands[0].tensor).blocks())}};
}

std::unique_ptr<Kernel> SoftmaxCrossEntropy::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                  std::string_view) {
  const CrossEntropy shape(operands[0].tensor);
  const bool wide = wide_labels(operands[1]), weighed = has_weights(operands, kWeightsOfLoss),
             plain = attrs.smoothing == 0 && !weighed;
  const DataType type = operands[0].tensor.type;
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    const ClassLabels labels{operand[1], wide, attrs.ignore_index};
    const Weighing weighing{weights_in(operand, weighed, kWeightsOfLoss), shape.classes, attrs.smoothing};
    const Begun begun = begin(attrs, context, shape.rows(), weighing, labels, operand, workspace);
    const EntropyScale of = begun.scale;
    const cuda::LossTotal total = begun.total;
    if (!plain)
      return launch_weighed(shape, context, of, weighing, labels, cuda::in(operand, 0),
                            context.training ? cuda::out(operand, 4) : nullptr, total, {});
    cuda::by_real(type, [&](auto zero) {
      using T = decltype(zero);
      const T* const logits = cuda::in<T>(operand, 0);
      T* const gradient = context.training ? cuda::out<T>(operand, 4) : nullptr;
      if (shape.pixels == 1)
        cuda::by_step_of_plane(cuda::step_of_plane(shape.classes), [&](auto step) {
          cuda::launch("softmax and cross entropy",
                       cuda::loss_rows_kernel<decltype(step)::value, T, cuda::LossTotal>, shape.blocks(),
                       cuda::kThreads, context, shape.classes, of, labels, logits, gradient, total);
        });
      else
        cuda::launch("softmax and cross entropy", pixels_kernel<T>, shape.blocks(), cuda::kThreads, context,
                     shape.rows(), shape.classes, shape.pixels, of, labels, logits, gradient, total);
    });
  });
}

std::vector<Algorithm> NegativeLogLikelihood::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = workspace_of(attrs, cuda::blocks_for(CrossEntropy(operands[0].tensor).rows()))}};
}

std::unique_ptr<Kernel> NegativeLogLikelihood::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                    std::string_view) {
  const CrossEntropy shape(operands[0].tensor);
  const bool wide = wide_labels(operands[1]), weighed = has_weights(operands, kWeightsOfLoss);
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    const ClassLabels labels{operand[1], wide, attrs.ignore_index};
    const Weighing weighing{weights_in(operand, weighed, kWeightsOfLoss), shape.classes, 0};
    const Begun begun = begin(attrs, context, shape.rows(), weighing, labels, operand, workspace);
    launch_likelihood(shape, context, begun.scale, weighing, labels, cuda::in(operand, 0),
                      context.training ? cuda::out(operand, 4) : nullptr, begun.total, {});
  });
}

PLIMSOLL_CUDA_KERNEL(SoftmaxCrossEntropyEach, {
  const CrossEntropy shape(operands[0].tensor);
  const bool wide = wide_labels(operands[1]), weighed = has_weights(operands, 3);
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
    launch_weighed(shape, context, {}, {weights_in(operand, weighed, 3), shape.classes, attrs.smoothing},
                   {operand[1], wide, attrs.ignore_index}, cuda::in(operand, 0), nullptr, {},
                   {.losses = cuda::out(operand, 2), .slopes = nullptr});
  });
})

PLIMSOLL_CUDA_KERNEL(SoftmaxCrossEntropyEachBackward, {
  const CrossEntropy shape(operands[0].tensor);
  const bool wide = wide_labels(operands[1]), weighed = has_weights(operands, 4);
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
    launch_weighed(shape, context, {}, {weights_in(operand, weighed, 4), shape.classes, attrs.smoothing},
                   {operand[1], wide, attrs.ignore_index}, cuda::in(operand, 0), cuda::out(operand, 3), {},
                   {.losses = nullptr, .slopes = cuda::in(operand, 2)});
  });
})

PLIMSOLL_CUDA_KERNEL(NegativeLogLikelihoodEach, {
  const CrossEntropy shape(operands[0].tensor);
  const bool wide = wide_labels(operands[1]), weighed = has_weights(operands, 3);
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
    launch_likelihood(shape, context, {}, {weights_in(operand, weighed, 3), shape.classes, 0},
                      {operand[1], wide, attrs.ignore_index}, cuda::in(operand, 0), nullptr, {},
                      {.losses = cuda::out(operand, 2), .slopes = nullptr});
  });
})

PLIMSOLL_CUDA_KERNEL(NegativeLogLikelihoodEachBackward, {
  const CrossEntropy shape(operands[2].tensor);
  const bool wide = wide_labels(operands[0]), weighed = has_weights(operands, 3);
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
    launch_likelihood(shape, context, {}, {weights_in(operand, weighed, 3), shape.classes, 0},
                      {operand[0], wide, attrs.ignore_index}, nullptr, cuda::out(operand, 2), {},
                      {.losses = nullptr, .slopes = cuda::in(operand, 1)});
  });
})

}  // namespace plimsoll
