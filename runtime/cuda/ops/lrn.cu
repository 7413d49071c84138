// LrnForward {x, y}   LrnBackward {x, dy, dx}
//
// A thread for each pixel walks its channels, which lie a plane apart; the threads beside it read beside it. Channels last, a
// thread walks along memory, and what it leaves of a line it finds in the cache when it comes to it. The results may lie on the
// operands, so what a window still needs of channels that were written is kept in rings as long as the window:
//
//   channel  c-before … c … c+after      slot = channel modulo size: the newest takes the place of the one that left
#include "runtime/attrs/lrn.h"

#include <algorithm>

#include "runtime/cuda/kernel.h"
#include "runtime/cuda/layout.h"
#include "runtime/cuda/vector.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

// Rings of windows up to so many channels are a thread's own; longer ones, which no network of note has, lie in the workspace. Own ones
// are local memory, which the driver sets aside for as many threads as a device can hold at once: 52 MiB on an H200 for three rings.
constexpr int kOwn = 16;

struct OwnRing {
  float values[kOwn];
  __device__ float& operator[](int64_t i) { return values[i]; }
};

// Neighbouring threads' values of one slot side by side.
struct WorkspaceRing {
  float* first;
  int64_t threads;
  __device__ float& operator[](int64_t i) { return first[i * threads]; }
};

struct Geometry {
  cuda::PlaneShape shape;
  int64_t step;              // from a channel to the next
  int before, after, size;  // neighbours of a channel that a window covers, where there are so many; the whole window
  float alpha, beta, bias;  // alpha by size

  Geometry(const LrnAttrs& attrs, const TensorDesc& x)
      : shape(x),
        step(shape.channels_last ? 1 : shape.pixels),
        before(static_cast<int>(std::min((attrs.size - 1) / 2, shape.channels))),
        after(static_cast<int>(std::min(attrs.size / 2, shape.channels))),
        size(before + 1 + after),
        alpha(static_cast<float>(attrs.alpha / static_cast<double>(attrs.size))),
        beta(static_cast<float>(attrs.beta)),
        bias(static_cast<float>(attrs.bias)) {}

  __host__ __device__ int64_t threads() const { return shape.samples * shape.pixels; }
  int64_t workspace_bytes(int64_t rings) const {
    return size <= kOwn ? 0 : rings * size * threads() * static_cast<int64_t>(sizeof(float));
  }
  // 32 bits: half a hundred instructions less than 64.
  __device__ int slot(int64_t channel) const {
    return static_cast<int>(static_cast<uint32_t>(channel) % static_cast<uint32_t>(size));
  }
  // Where a thread's pixel is in channel 0.
  __device__ int64_t start(int64_t number) const {
    if (shape.channels_last) return number * shape.channels;
    return number / shape.pixels * shape.channels * shape.pixels + number % shape.pixels;
  }
  template <class Ring>
  __device__ float sum(Ring& ring) const {
    float sum = 0;
    for (int i = 0; i < size; ++i) sum += ring[i];
    return sum;
  }
  // scale^-beta; AlexNet's beta without a logarithm.
  __device__ float power(float scale) const {
    return beta == 0.75F ? 1.0F / (sqrtf(scale) * sqrtf(sqrtf(scale))) : powf(scale, -beta);
  }
};

// Ring number `which` of thread `number`.
template <bool kFar>
__device__ auto ring_of(const Geometry& g, float* workspace, int which, int64_t number) {
  if constexpr (kFar) return WorkspaceRing{workspace + which * g.size * g.threads() + number, g.threads()};
  else return OwnRing{};
}

// The squares under the window of a channel, as it moves on.
template <class Ring>
struct Squares {
  Ring& ring;

  __device__ Squares(const Geometry& g, const float* x, Ring& to) : ring(to) {
    for (int i = 0; i < g.size; ++i) ring[i] = 0;
    for (int k = 0; k < g.after; ++k) put(g, x, k);
  }
  __device__ void put(const Geometry& g, const float* x, int64_t channel) {
    const float value = channel < g.shape.channels ? x[channel * g.step] : 0;
    ring[g.slot(channel)] = value * value;
  }
  // The scale of channel c; called for each channel in turn.
  __device__ float scale(const Geometry& g, const float* x, int64_t c) {
    put(g, x, c + g.after);
    return g.bias + g.alpha * g.sum(ring);
  }
};

template <bool kFar>
__global__ void lrn_kernel(Geometry g, const float* from, float* to, float* workspace) {
  const int64_t number = cuda::thread_number();
  if (number >= g.threads()) return;
  const float* const x = from + g.start(number);
  float* const y = to + g.start(number);
  auto ring = ring_of<kFar>(g, workspace, 0, number);
  Squares squares(g, x, ring);
  for (int64_t c = 0; c < g.shape.channels; ++c)
    y[c * g.step] = x[c * g.step] * g.power(squares.scale(g, x, c));
}

// With s the scale and t = s^-beta:  dx_c = dy_c t_c - 2 alpha beta x_c * sum of dy_j x_j t_j / s_j over the windows j
// that c lies in, which reach to the other side: j goes ahead of c.
template <bool kFar>
__global__ void lrn_backward_kernel(Geometry g, const float* from, const float* slope, float* to, float* workspace) {
  const int64_t number = cuda::thread_number();
  if (number >= g.threads()) return;
  const float *const x = from + g.start(number), *const dy = slope + g.start(number);
  float* const dx = to + g.start(number);
  auto ring = ring_of<kFar>(g, workspace, 0, number), shares = ring_of<kFar>(g, workspace, 1, number),
       powers = ring_of<kFar>(g, workspace, 2, number);
  Squares squares(g, x, ring);
  for (int i = 0; i < g.size; ++i) shares[i] = 0;
  for (int64_t j = 0; j < g.shape.channels + g.before; ++j) {
    float share = 0;
    if (j < g.shape.channels) {
      const float s = squares.scale(g, x, j), t = g.power(s);
      powers[g.slot(j)] = t;
      share = dy[j * g.step] * x[j * g.step] * t / s;
    }
    shares[g.slot(j)] = share;
    const int64_t c = j - g.before;
    if (c < 0) continue;
    const int64_t at = c * g.step;
    dx[at] = dy[at] * powers[g.slot(c)] - 2 * g.alpha * g.beta * x[at] * g.sum(shares);
  }
}

}  // namespace

std::vector<Algorithm> LrnForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = Geometry(attrs, operands[0].tensor).workspace_bytes(1)}};
}

std::unique_ptr<Kernel> LrnForward::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  cuda::need_one_order(operands);
  const Geometry g(attrs, operands[0].tensor);
  return cuda::by_flag(g.size > kOwn, [&](auto far) -> std::unique_ptr<Kernel> {
    return cuda::kernel([g](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
      cuda::launch("local response normalization", lrn_kernel<decltype(far)::value>, cuda::blocks_for(g.threads()),
                   cuda::kThreads, context, g, cuda::in(operand, 0), cuda::out(operand, 1), reinterpret_cast<float*>(workspace));
    });
  });
}

std::vector<Algorithm> LrnBackward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = Geometry(attrs, operands[0].tensor).workspace_bytes(3)}};
}

std::unique_ptr<Kernel> LrnBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  cuda::need_one_order(operands);
  const Geometry g(attrs, operands[0].tensor);
  return cuda::by_flag(g.size > kOwn, [&](auto far) -> std::unique_ptr<Kernel> {
    return cuda::kernel([g](const RunContext& context, std::byte* const* operand, std::byte* workspace) {
      cuda::launch("local response normalization's gradient", lrn_backward_kernel<decltype(far)::value>,
                   cuda::blocks_for(g.threads()), cuda::kThreads, context, g, cuda::in(operand, 0), cuda::in(operand, 1),
                   cuda::out(operand, 2), reinterpret_cast<float*>(workspace));
    });
  });
}

}  // namespace plimsoll
