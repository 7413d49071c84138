// Rotary {x, cos, sin, y}: pairs of elements of a row are turned (compiler/ops/rotary.cpp). Plain layouts.
#include "runtime/attrs/rotary.h"

#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/layout.h"
#include "runtime/cuda/device/strided.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/kernels.h"
#include "runtime/row_loops.h"

namespace plimsoll {
namespace {

// Where the angles of a row are: the loops over the rows of x, and the angles of a row.
struct Angles {
  cuda::DeviceLoops<1> rows;
  int64_t width;
  bool whole;     // one for each element, not for each pair
  bool backward;
};

// A thread has kAtOnce adjacent pairs of a row; y may be x.
template <int kAtOnce, bool kInterleaved, bool kAdd, class Index, class T>
__global__ void rotary_kernel(Index n, int64_t pairs, Angles angles, const T* x, const float* cos, const float* sin,
                              T* y) {
  const Index number = static_cast<Index>(cuda::thread_number());
  if (number >= n) return;
  const Index in_row = static_cast<Index>(pairs / kAtOnce), row = number / in_row;
  const int64_t i = kAtOnce * static_cast<int64_t>(number - row * in_row);
  const int64_t first = kInterleaved ? 2 * i : i, second = kInterleaved ? 2 * i + 1 : i + pairs;
  const int64_t one = angles.whole ? first : i, other = angles.whole ? second : i;
  const int64_t at = cuda::place(angles.rows, row).of[0] * angles.width, begin = 2 * pairs * static_cast<int64_t>(row);
  const auto a = cuda::load_few<kAtOnce>(x + begin + first), b = cuda::load_few<kAtOnce>(x + begin + second);
  const auto cos_a = cuda::load_few<kAtOnce>(cos + at + one), cos_b = cuda::load_few<kAtOnce>(cos + at + other);
  const auto sin_a = cuda::load_few<kAtOnce>(sin + at + one), sin_b = cuda::load_few<kAtOnce>(sin + at + other);
  auto left = a, right = b;
  for (int k = 0; k < kAtOnce; ++k) {
    // The gradient is the product with the transposed matrix: the sines change their places and their signs.
    const float of_b = angles.backward ? -sin_b.of[k] : sin_a.of[k];
    const float of_a = angles.backward ? -sin_a.of[k] : sin_b.of[k];
    left.of[k] = a.of[k] * cos_a.of[k] - b.of[k] * of_b;
    right.of[k] = b.of[k] * cos_b.of[k] + a.of[k] * of_a;
  }
  if constexpr (kAdd) {
    const auto left_before = cuda::load_few<kAtOnce>(y + begin + first);
    const auto right_before = cuda::load_few<kAtOnce>(y + begin + second);
    for (int k = 0; k < kAtOnce; ++k) left.of[k] += left_before.of[k], right.of[k] += right_before.of[k];
  }
  cuda::store_few(y + begin + first, left);
  cuda::store_few(y + begin + second, right);
}

}  // namespace

PLIMSOLL_CUDA_KERNEL(Rotary, {
  cuda::need_plain(operands);
  const TensorDesc &x = operands[0].tensor, &table = operands[1].tensor;
  const Loops<2> both = loops_over_rows(x, table);
  Loops<1> of_angles;
  of_angles.counts = both.counts;
  of_angles.strides[0] = both.strides[1];
  const bool whole = row_length(table) == row_length(x);
  const Angles angles{cuda::on_device(of_angles), row_length(table), whole, attrs.backward};
  const int64_t pairs = row_length(x) / 2;
  const bool by_four = !attrs.interleaved && pairs % 4 == 0;
  const int64_t n = both.count(0) * pairs / (by_four ? 4 : 1);
  const auto made = [&](auto four, auto interleaved, auto zero, auto add) {
    using T = decltype(zero);
    return cuda::by_index(n, [&](auto index) -> std::unique_ptr<Kernel> {
      using Index = decltype(index);
      constexpr int kAtOnce = decltype(four)::value ? 4 : 1;
      return cuda::kernel([=](const RunContext& context, std::byte* const* operand, std::byte*) {
        cuda::launch("rotary", rotary_kernel<kAtOnce, decltype(interleaved)::value, decltype(add)::value, Index, T>,
                     cuda::blocks_for(n), cuda::kThreads, context, static_cast<Index>(n), pairs, angles,
                     cuda::in<T>(operand, 0), cuda::in(operand, 1), cuda::in(operand, 2), cuda::out<T>(operand, 3));
      });
    });
  };
  return cuda::by_real(x.type, [&](auto zero) {
    return cuda::by_adding<decltype(zero)>(operands[3], [&](auto add) {
      if (attrs.interleaved) return made(std::false_type{}, std::true_type{}, zero, add);
      return cuda::by_flag(by_four, [&](auto four) { return made(four, std::false_type{}, zero, add); });
    });
  });
})

}  // namespace plimsoll
