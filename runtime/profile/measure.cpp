#include "runtime/profile/measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "runtime/profile/kernel_registry.h"

namespace plimsoll::profile {
namespace {

constexpr int64_t kAlignment = 256;
// Enough runs for a median, and no longer than a planner's user waits: hundreds of kernels are measured in one go.
constexpr size_t kFewest = 5, kMost = 21;
constexpr double kEnoughSeconds = 0.03;
constexpr int64_t kInterludeBytes = int64_t{4} << 20;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Reals in [0.1, 1): no kernel meets a zero, a negative variance or a denormal. Integers are 0: a valid class or index.
void fill(const TensorDesc& desc, std::byte* to) {
  if (desc.type != DataType::f32) {
    std::memset(to, 0, static_cast<size_t>(desc.bytes()));
    return;
  }
  float* values = reinterpret_cast<float*>(to);
  uint32_t state = 1;
  for (int64_t i = 0; i < desc.padded_elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = 0.1f + 0.9f * static_cast<float>(state >> 8) * 0x1p-24f;
  }
}

}  // namespace

// What it passes over is twice the caches beside two cores of today; half of it is read, half written.
Interlude::Interlude() : arena_(2 * kInterludeBytes) {
  const KernelCall call{.name = "ReluForward",
                        .operands = {read(f32({kInterludeBytes / 4})), write(f32({kInterludeBytes / 4}))}};
  kernel_ = make_kernel(call, algorithms_of(call).front().name);
}

void Interlude::run() {
  std::byte* const operands[] = {arena_.data(), arena_.data() + kInterludeBytes};
  kernel_->run({}, operands, nullptr);
  backend::finish(nullptr);
}

int64_t bytes_to_measure(std::span<const OperandDesc> operands, int64_t workspace_bytes) {
  int64_t bytes = aligned(workspace_bytes);
  for (const OperandDesc& operand : operands)
    if (operand.access != Access::absent) bytes += aligned(operand.tensor.bytes());
  return bytes;
}

double median_seconds(Kernel& kernel, std::span<const OperandDesc> operands, int64_t workspace_bytes,
                      const backend::Arena& arena, Interlude* between) {
  std::vector<std::byte*> addresses;
  int64_t offset = aligned(workspace_bytes);
  for (const OperandDesc& operand : operands) {
    addresses.push_back(operand.access == Access::absent ? nullptr : arena.data() + offset);
    if (operand.access == Access::absent) continue;
    fill(operand.tensor, addresses.back());
    offset += aligned(operand.tensor.bytes());
  }
  const RunContext context{.learning_rate = 1e-6};
  const auto run = [&] {
    if (between) between->run();
    const double began = now();
    kernel.run(context, addresses.data(), arena.data());
    backend::finish(context.stream);
    return now() - began;
  };
  run();
  std::vector<double> seconds;
  double sum = 0;
  while (seconds.size() < kFewest || (seconds.size() < kMost && sum < kEnoughSeconds)) {
    seconds.push_back(run());
    sum += seconds.back();
  }
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<int64_t>(seconds.size() / 2), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace plimsoll::profile
