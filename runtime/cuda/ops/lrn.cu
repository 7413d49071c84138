// LrnForward {x, y}   LrnBackward {x, dy, dx}
//
// A thread for each pixel walks its channels, which lie a plane apart; the threads beside it read beside it. The results may
// lie on the operands, so what a window still needs of channels that were written is kept in rings as long as the window:
//
//   channel  c-before … c … c+after      slot = channel modulo size: the newest takes the place of the one that left
#include "runtime/attrs/lrn.h"

#include "runtime/cuda/kernel.h"
#include "runtime/cuda/plain.h"
#include "runtime/cuda/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

constexpr int kLongest = 64;  // channels in a window

struct Geometry {
  cuda::PlaneShape shape;
  int size, before, after;  // of a window; neighbours of a channel that it covers
  float alpha, beta, bias;  // alpha by size

  Geometry(const LrnAttrs& attrs, const TensorDesc& x)
      : shape(x),
        size(static_cast<int>(attrs.size)),
        before(static_cast<int>((attrs.size - 1) / 2)),
        after(static_cast<int>(attrs.size / 2)),
        alpha(static_cast<float>(attrs.alpha / static_cast<double>(attrs.size))),
        beta(static_cast<float>(attrs.beta)),
        bias(static_cast<float>(attrs.bias)) {
    if (attrs.size > kLongest)
      throw KernelError("local response normalization over " + std::to_string(attrs.size) + " channels; on cuda " +
                        std::to_string(kLongest) + " at most");
  }

  int64_t threads() const { return shape.samples * shape.pixels; }
  // Where a thread's pixel is in channel 0.
  __device__ int64_t start(int64_t number) const {
    return number / shape.pixels * shape.channels * shape.pixels + number % shape.pixels;
  }
  __device__ float sum(const float* ring) const {
    float sum = 0;
    for (int i = 0; i < size; ++i) sum += ring[i];
    return sum;
  }
  // scale^-beta; AlexNet's beta without a logarithm.
  __device__ float power(float scale) const {
    return beta == 0.75F ? 1.0F / (sqrtf(scale) * sqrtf(sqrtf(scale))) : powf(scale, -beta);
  }
};

// The squares under the window of a channel, as it moves on.
struct Squares {
  float ring[kLongest];

  __device__ Squares(const Geometry& g, const float* x) {
    for (int i = 0; i < g.size; ++i) ring[i] = 0;
    for (int k = 0; k < g.after; ++k) put(g, x, k);
  }
  __device__ void put(const Geometry& g, const float* x, int64_t channel) {
    const float value = channel < g.shape.channels ? x[channel * g.shape.pixels] : 0;
    ring[channel % g.size] = value * value;
  }
  // The scale of channel c; called for each channel in turn.
  __device__ float scale(const Geometry& g, const float* x, int64_t c) {
    put(g, x, c + g.after);
    return g.bias + g.alpha * g.sum(ring);
  }
};

__global__ void forward_kernel(Geometry g, const float* from, float* to) {
  const int64_t number = cuda::thread_number();
  if (number >= g.shape.samples * g.shape.pixels) return;
  const float* const x = from + g.start(number);
  float* const y = to + g.start(number);
  Squares squares(g, x);
  for (int64_t c = 0; c < g.shape.channels; ++c)
    y[c * g.shape.pixels] = x[c * g.shape.pixels] * g.power(squares.scale(g, x, c));
}

// With s the scale and t = s^-beta:  dx_c = dy_c t_c - 2 alpha beta x_c * sum of dy_j x_j t_j / s_j over the windows j
// that c lies in, which reach to the other side: j goes ahead of c.
__global__ void backward_kernel(Geometry g, const float* from, const float* slope, float* to) {
  const int64_t number = cuda::thread_number();
  if (number >= g.shape.samples * g.shape.pixels) return;
  const float *const x = from + g.start(number), *const dy = slope + g.start(number);
  float* const dx = to + g.start(number);
  Squares squares(g, x);
  float shares[kLongest], powers[kLongest];
  for (int i = 0; i < g.size; ++i) shares[i] = 0;
  for (int64_t j = 0; j < g.shape.channels + g.before; ++j) {
    float share = 0;
    if (j < g.shape.channels) {
      const float s = squares.scale(g, x, j), t = g.power(s);
      powers[j % g.size] = t;
      share = dy[j * g.shape.pixels] * x[j * g.shape.pixels] * t / s;
    }
    shares[j % g.size] = share;
    const int64_t c = j - g.before;
    if (c < 0) continue;
    const int64_t at = c * g.shape.pixels;
    dx[at] = dy[at] * powers[c % g.size] - 2 * g.alpha * g.beta * x[at] * g.sum(shares);
  }
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(LrnForward, {
  cuda::need_plain(operands);
  const Geometry g(attrs, operands[0].tensor);
  return cuda::kernel([g](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::launch("local response normalization", forward_kernel, cuda::blocks_for(g.threads()), cuda::kThreads, context, g,
                 cuda::in(operand, 0), cuda::out(operand, 1));
  });
})

PLIMSOLL_CUDA_KERNEL(LrnBackward, {
  cuda::need_plain(operands);
  const Geometry g(attrs, operands[0].tensor);
  return cuda::kernel([g](const RunContext& context, std::byte* const* operand, std::byte*) {
    cuda::launch("local response normalization's gradient", backward_kernel, cuda::blocks_for(g.threads()), cuda::kThreads,
                 context, g, cuda::in(operand, 0), cuda::in(operand, 1), cuda::out(operand, 2));
  });
})

}  // namespace plimsoll
