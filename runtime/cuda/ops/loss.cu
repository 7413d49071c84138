// SoftmaxCrossEntropy {logits, labels, loss, correct, dlogits}   logits [N, C, d…], labels [N, d…] i32 or i64
// NegativeLogLikelihood {log_probabilities, labels, loss, correct, dlog_probabilities}   likewise
// Mse {prediction, target, loss, dprediction}
// BinaryCrossEntropy {logits, target, loss, correct, dlogits}   targets from 0 to 1
// OutputLoss {x, loss, dx}   of a number that is the loss: its gradient is 1
//
// Loss, hits and gradient in one launch; every block leaves its share in the workspace, and one more block adds the shares
// in a fixed order. `correct` and the gradient may be absent; in evaluation the gradient is not written. The gradient may
// lie on what it is the gradient of.
#include "runtime/cuda/kernel.h"
#include "runtime/cuda/reduce.h"
#include "runtime/cuda/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

struct Share {
  double loss, hits;

  __device__ Share from(int, int distance) const {
    return {__shfl_down_sync(0xFFFFFFFFU, loss, distance), __shfl_down_sync(0xFFFFFFFFU, hits, distance)};
  }
};

__device__ Share plus(Share a, Share b) { return {a.loss + b.loss, a.hits + b.hits}; }

// What a loss is multiplied by: the mean's factor, and the trainer's for a batch that is not whole.
struct LossScale {
  double mean;
  cuda::ChangingArgument changing;

  __device__ double exact() const { return mean * changing.get().loss_scale; }
  __device__ float rounded() const { return static_cast<float>(exact()); }
};

__global__ void total_kernel(int64_t count, LossScale scale, const Share* shares, float* loss, float* hits) {
  Share sum{0, 0};
  for (int64_t i = threadIdx.x; i < count; i += cuda::kThreads) sum = plus(sum, shares[i]);
  sum = cuda::block_reduce<cuda::kThreads>(sum, plus);
  if (threadIdx.x != 0) return;
  *loss = static_cast<float>(sum.loss * scale.exact());
  if (hits) *hits = static_cast<float>(sum.hits);
}

struct Labels {
  const void* data;
  bool wide;
  int64_t ignored;

  __device__ int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
  __device__ bool counts(int64_t label) const { return label >= 0 && label != ignored; }
};

// The largest logit and the first class that has it.
struct Best {
  float value;
  int64_t at;

  __device__ Best from(int, int distance) const {
    return {__shfl_down_sync(0xFFFFFFFFU, value, distance),
            static_cast<int64_t>(__shfl_down_sync(0xFFFFFFFFU, static_cast<long long>(at), distance))};
  }
};

__device__ Best better(Best a, Best b) {
  if (b.at < 0) return a;
  if (a.at < 0 || b.value > a.value || (b.value == a.value && b.at < a.at)) return b;
  return a;
}

// One sample, its classes side by side: a block. A label that is no class makes the loss NaN: loud, and no stray access.
template <int kAtOnce>
__global__ void loss_rows_kernel(int64_t classes, LossScale given_scale, Labels labels, const float* logits, float* gradient,
                                 Share* shares) {
  constexpr int64_t kStep = kAtOnce * cuda::kThreads;
  const int64_t first = kAtOnce * threadIdx.x;
  const float scale = given_scale.rounded();
  const int64_t n = blockIdx.x, label = labels[n];
  const float* const x = logits + n * classes;
  float* const dx = gradient ? gradient + n * classes : nullptr;
  if (!labels.counts(label)) {
    for (int64_t c = first; dx && c < classes; c += kStep) cuda::store_few(dx + c, cuda::Few<kAtOnce>{});
    if (threadIdx.x == 0) shares[n] = {0, 0};
    return;
  }
  Best best{0, -1};
  for (int64_t c = first; c < classes; c += kStep) {
    const auto few = cuda::load_few<kAtOnce>(x + c);
    for (int k = 0; k < kAtOnce; ++k) best = better(best, {few.of[k], c + k});
  }
  __shared__ Best of_all;
  best = cuda::block_reduce<cuda::kThreads>(best, better);
  if (threadIdx.x == 0) of_all = best;
  __syncthreads();
  const float largest = of_all.value;
  const bool known = label < classes;
  const float mine = known ? x[label] : nanf("");
  double sum = 0;
  for (int64_t c = first; c < classes; c += kStep)
    for (const float logit : cuda::load_few<kAtOnce>(x + c).of) sum += static_cast<double>(expf(logit - largest));
  sum = cuda::block_sum_for_all<cuda::kThreads>(sum);  // everybody has read `mine`
  if (threadIdx.x == 0)
    shares[n] = {log(sum) + static_cast<double>(largest) - static_cast<double>(mine), of_all.at == label ? 1.0 : 0.0};
  if (dx == nullptr) return;
  const float factor = static_cast<float>(static_cast<double>(scale) / sum);
  for (int64_t c = first; c < classes; c += kStep) {
    auto few = cuda::load_few<kAtOnce>(x + c);
    for (int k = 0; k < kAtOnce; ++k) {
      const float p = expf(few.of[k] - largest) * factor;
      few.of[k] = c + k == label ? p - scale : p;
    }
    cuda::store_few(dx + c, few);
  }
}

// A thread for each pixel, whose classes are `pixels` apart.
__global__ void pixels_kernel(int64_t rows, int64_t classes, int64_t pixels, LossScale given_scale, Labels labels,
                              const float* logits, float* gradient, Share* shares) {
  const float scale = given_scale.rounded();
  const int64_t number = cuda::thread_number();
  Share share{0, 0};
  if (number < rows) {
    const int64_t start = number / pixels * classes * pixels + number % pixels;
    const float* const x = logits + start;
    float* const dx = gradient ? gradient + start : nullptr;
    const int64_t label = labels[number];
    if (!labels.counts(label)) {
      for (int64_t c = 0; dx && c < classes; ++c) dx[c * pixels] = 0;
    } else {
      Best best{x[0], 0};
      for (int64_t c = 1; c < classes; ++c)
        if (x[c * pixels] > best.value) best = {x[c * pixels], c};
      float sum = 0;
      for (int64_t c = 0; c < classes; ++c) sum += expf(x[c * pixels] - best.value);
      const float mine = label < classes ? x[label * pixels] : nanf("");
      share = {log(static_cast<double>(sum)) + static_cast<double>(best.value) - static_cast<double>(mine),
               best.at == label ? 1.0 : 0.0};
      const float factor = scale / sum;
      for (int64_t c = 0; dx && c < classes; ++c) {
        const float p = expf(x[c * pixels] - best.value) * factor;
        dx[c * pixels] = c == label ? p - scale : p;
      }
    }
  }
  share = cuda::block_reduce<cuda::kThreads>(share, plus);
  if (threadIdx.x == 0) shares[blockIdx.x] = share;
}

// The logarithms of probabilities are given: nothing but the label's counts. A thread for each row, read before it is written.
__global__ void likelihood_kernel(int64_t rows, int64_t classes, int64_t pixels, LossScale given_scale, Labels labels,
                                  const float* given, float* gradient, Share* shares) {
  const float scale = given_scale.rounded();
  const int64_t number = cuda::thread_number();
  Share share{0, 0};
  if (number < rows) {
    const int64_t start = number / pixels * classes * pixels + number % pixels;
    const float* const x = given + start;
    float* const dx = gradient ? gradient + start : nullptr;
    const int64_t label = labels[number];
    const bool counted = labels.counts(label);
    if (counted) {
      Best best{x[0], 0};
      for (int64_t c = 1; c < classes; ++c)
        if (x[c * pixels] > best.value) best = {x[c * pixels], c};
      const float mine = label < classes ? x[label * pixels] : nanf("");
      share = {-static_cast<double>(mine), best.at == label ? 1.0 : 0.0};
    }
    for (int64_t c = 0; dx && c < classes; ++c) dx[c * pixels] = counted && c == label ? -scale : 0;
  }
  share = cuda::block_reduce<cuda::kThreads>(share, plus);
  if (threadIdx.x == 0) shares[blockIdx.x] = share;
}

struct CrossEntropy {
  int64_t batch, classes, pixels = 1;

  explicit CrossEntropy(const TensorDesc& logits) : batch(logits.dim(0)), classes(logits.dim(1)) {
    for (size_t i = 2; i < logits.rank(); ++i) pixels *= logits.dim(i);
  }
  int64_t blocks() const { return pixels == 1 ? batch : cuda::blocks_for(batch * pixels); }
};

constexpr int kHeld = 16;  // values of a thread
constexpr int64_t kPart = cuda::kThreads * kHeld;

// slope_of(x, t, share) adds what an element has of the loss and says its slope.
template <int kAtOnce, class SlopeOf>
__device__ void loss_of_elements(int64_t n, const float* x, const float* t, float* dx, Share* shares, SlopeOf slope_of) {
  Share share{0, 0};
  for (int k = 0; k < kHeld / kAtOnce; ++k) {
    const int64_t i = blockIdx.x * kPart + kAtOnce * (k * cuda::kThreads + threadIdx.x);
    if (i >= n) break;
    auto few = cuda::load_few<kAtOnce>(x + i);
    const auto targets = cuda::load_few<kAtOnce>(t + i);
    for (int j = 0; j < kAtOnce; ++j) few.of[j] = slope_of(few.of[j], targets.of[j], share);
    if (dx) cuda::store_few(dx + i, few);
  }
  share = cuda::block_reduce<cuda::kThreads>(share, plus);
  if (threadIdx.x == 0) shares[blockIdx.x] = share;
}

template <int kAtOnce>
__global__ void mse_kernel(int64_t n, LossScale scale, const float* x, const float* t, float* dx, Share* shares) {
  const float factor = static_cast<float>(2 * scale.exact());
  loss_of_elements<kAtOnce>(n, x, t, dx, shares, [factor](float given, float target, Share& share) {
    const float difference = given - target;
    share.loss += static_cast<double>(difference) * static_cast<double>(difference);
    return factor * difference;
  });
}

// max(x, 0) - x·t + ln(1 + e^-|x|), which overflows nowhere; its slope is sigmoid(x) - t.
template <int kAtOnce>
__global__ void binary_loss_kernel(int64_t n, LossScale scale, const float* x, const float* t, float* dx, Share* shares) {
  const float factor = scale.rounded();
  loss_of_elements<kAtOnce>(n, x, t, dx, shares, [factor](float logit, float target, Share& share) {
    const float above = logit > 0 ? logit : 0;
    share.loss += static_cast<double>(above - logit * target) + log1p(static_cast<double>(expf(-fabsf(logit))));
    share.hits += (logit > 0) == (target > 0.5F) ? 1 : 0;
    return factor * (1.0F / (1.0F + expf(-logit)) - target);
  });
}

int64_t bytes_of_shares(int64_t blocks) { return blocks * static_cast<int64_t>(sizeof(Share)); }

__global__ void output_loss_kernel(const float* x, float* loss, float* dx) {
  if (cuda::thread_number() > 0) return;
  *loss = *x;
  if (dx) *dx = 1;
}

}  // namespace

std::vector<Algorithm> SoftmaxCrossEntropy::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = bytes_of_shares(CrossEntropy(operands[0].tensor).blocks())}};
}

std::unique_ptr<Kernel> SoftmaxCrossEntropy::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                  std::string_view) {
  const CrossEntropy shape(operands[0].tensor);
  const bool wide = operands[1].tensor.type == DataType::i64;
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    Share* const shares = reinterpret_cast<Share*>(workspace);
    const Labels labels{operand[1], wide, attrs.ignore_index};
    const LossScale scale{attrs.scale, cuda::changing(context)};
    float* const gradient = context.training ? cuda::out(operand, 4) : nullptr;
    if (shape.pixels == 1)
      cuda::by_row(shape.classes, [&](auto at_once) {
        cuda::launch("softmax and cross entropy", loss_rows_kernel<decltype(at_once)::value>, shape.blocks(), cuda::kThreads, context,
                     shape.classes, scale, labels, cuda::in(operand, 0), gradient, shares);
      });
    else
      cuda::launch("softmax and cross entropy", pixels_kernel, shape.blocks(), cuda::kThreads, context,
                   shape.batch * shape.pixels, shape.classes, shape.pixels, scale, labels, cuda::in(operand, 0), gradient,
                   shares);
    cuda::launch("sum of the loss", total_kernel, 1, cuda::kThreads, context, shape.blocks(), scale, shares,
                 cuda::out(operand, 2), cuda::out(operand, 3));
  });
}

std::vector<Algorithm> NegativeLogLikelihood::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  const CrossEntropy shape(operands[0].tensor);
  return {{.workspace_bytes = bytes_of_shares(cuda::blocks_for(shape.batch * shape.pixels))}};
}

std::unique_ptr<Kernel> NegativeLogLikelihood::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                    std::string_view) {
  const CrossEntropy shape(operands[0].tensor);
  const bool wide = operands[1].tensor.type == DataType::i64;
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    Share* const shares = reinterpret_cast<Share*>(workspace);
    const Labels labels{operand[1], wide, attrs.ignore_index};
    const LossScale scale{attrs.scale, cuda::changing(context)};
    const int64_t rows = shape.batch * shape.pixels, blocks = cuda::blocks_for(rows);
    cuda::launch("likelihood", likelihood_kernel, blocks, cuda::kThreads, context, rows, shape.classes, shape.pixels, scale, labels,
                 cuda::in(operand, 0), context.training ? cuda::out(operand, 4) : nullptr, shares);
    cuda::launch("sum of the loss", total_kernel, 1, cuda::kThreads, context, blocks, scale, shares, cuda::out(operand, 2),
                 cuda::out(operand, 3));
  });
}

std::vector<Algorithm> Mse::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = bytes_of_shares(cuda::divided_up(operands[0].tensor.elements(), kPart))}};
}

std::unique_ptr<Kernel> Mse::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const int64_t n = operands[0].tensor.elements(), blocks = cuda::divided_up(n, kPart);
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    Share* const shares = reinterpret_cast<Share*>(workspace);
    const LossScale scale{attrs.scale, cuda::changing(context)};
    cuda::by_row(n, [&](auto at_once) {
      cuda::launch("squared error", mse_kernel<decltype(at_once)::value>, blocks, cuda::kThreads, context, n, scale,
                   cuda::in(operand, 0), cuda::in(operand, 1), context.training ? cuda::out(operand, 3) : nullptr, shares);
    });
    cuda::launch("sum of the loss", total_kernel, 1, cuda::kThreads, context, blocks, scale, shares,
                 cuda::out(operand, 2), nullptr);
  });
}

std::vector<Algorithm> BinaryCrossEntropy::algorithms(const Attrs&, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = bytes_of_shares(cuda::divided_up(operands[0].tensor.elements(), kPart))}};
}

std::unique_ptr<Kernel> BinaryCrossEntropy::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                 std::string_view) {
  const int64_t n = operands[0].tensor.elements(), blocks = cuda::divided_up(n, kPart);
  return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
    Share* const shares = reinterpret_cast<Share*>(workspace);
    const LossScale scale{attrs.scale, cuda::changing(context)};
    cuda::by_row(n, [&](auto at_once) {
      cuda::launch("binary cross entropy", binary_loss_kernel<decltype(at_once)::value>, blocks, cuda::kThreads, context, n, scale,
                   cuda::in(operand, 0), cuda::in(operand, 1), context.training ? cuda::out(operand, 4) : nullptr, shares);
    });
    cuda::launch("sum of the loss", total_kernel, 1, cuda::kThreads, context, blocks, scale, shares,
                 cuda::out(operand, 2), cuda::out(operand, 3));
  });
}

PLIMSOLL_CUDA_KERNEL(OutputLoss, {
  static_cast<void>(attrs);
  static_cast<void>(operands);
  return cuda::kernel([](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::launch("the loss", output_loss_kernel, 1, cuda::kThreads, context, cuda::in(operand, 0), cuda::out(operand, 1),
                 context.training ? cuda::out(operand, 2) : nullptr);
  });
})

}  // namespace plimsoll
