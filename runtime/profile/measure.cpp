#include "runtime/profile/measure.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/attrs/bf16.h"
#include "runtime/attrs/f16.h"
#include "runtime/profile/device.h"

namespace plimsoll::profile {
namespace {

constexpr int64_t kAlignment = 256;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Integers in [0, rows), without an order. The factor is Knuth's for multiplicative hashing: 2^32 divided by the golden
// ratio.
template <class T>
std::vector<std::byte> spread(int64_t rows, size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (size_t i = 0; i < bytes / sizeof(T); ++i) {
    const T value = static_cast<T>(static_cast<int64_t>(static_cast<uint32_t>(i) * 2654435769u) % rows);
    std::memcpy(all.data() + i * sizeof(T), &value, sizeof(T));
  }
  return all;
}

// Reals in [0.1, 1), so that no kernel sees a zero, a negative variance or a denormal. Integers are below `rows`; with
// one row they are 0, a valid class or index.
void fill(const TensorDesc& desc, int64_t rows, std::byte* to) {
  static const std::vector<float> reals = [] {
    std::vector<float> values(size_t{1} << 20);
    uint32_t state = 1;
    for (float& value : values) {
      state = state * 1664525u + 1013904223u;
      value = 0.1f + 0.9f * static_cast<float>(state >> 8) * 0x1p-24f;
    }
    return values;
  }();
  static const std::vector<float> zeros(reals.size());
  const int64_t piece = static_cast<int64_t>(reals.size() * sizeof(float));
  const auto in_16_bits = [](auto narrow) {
    std::vector<uint16_t> values(2 * reals.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = narrow(reals[i % reals.size()]);
    return values;
  };
  static const std::vector<uint16_t> bf16s = in_16_bits(narrowed), f16s = in_16_bits(narrowed_f16);
  const auto* from = is_narrow(desc.type)
                         ? reinterpret_cast<const std::byte*>((desc.type == DataType::bf16 ? bf16s : f16s).data())
                         : reinterpret_cast<const std::byte*>(desc.type == DataType::f32 ? reals.data() : zeros.data());
  std::vector<std::byte> indices;
  if (rows > 1 && (desc.type == DataType::i32 || desc.type == DataType::i64)) {
    const size_t bytes = static_cast<size_t>(std::min(piece, desc.bytes()));
    indices = desc.type == DataType::i32 ? spread<int32_t>(rows, bytes) : spread<int64_t>(rows, bytes);
    from = indices.data();
  }
  for (int64_t at = 0; at < desc.bytes(); at += piece)
    backend::copy_in(stream(), to + at, from, std::min(piece, desc.bytes() - at));
}

// Puts every operand where an iteration would leave it: in memory, with dirty lines of other data in the caches; in a
// shared cache; or in the cores' private caches.
void lay_out(std::span<const OperandDesc> operands, const std::vector<std::byte*>& addresses,
             std::span<const int64_t> reuse_bytes, Interlude& between) {
  const Caches sizes = caches();
  between.run();
  const auto touch_those = [&](int64_t from, int64_t to) {
    std::vector<std::pair<int64_t, size_t>> order;  // most recently used last
    for (size_t i = 0; i < reuse_bytes.size(); ++i)
      if (operands[i].access != Access::absent && reuse_bytes[i] >= from && reuse_bytes[i] < to)
        order.emplace_back(-reuse_bytes[i], i);
    std::sort(order.begin(), order.end());
    for (const auto& [ago, i] : order) touch(addresses[i], operands[i].tensor.bytes());
    return !order.empty();
  };
  if (touch_those(sizes.own, sizes.all)) between.touch_some(4 * sizes.own);
  touch_those(0, sizes.own);
}

}  // namespace

Interlude::Interlude() : arena_(interlude_bytes()) {
  const KernelCall call{.name = "ReluForward",
                        .operands = {read(f32({interlude_bytes() / 8})), write(f32({interlude_bytes() / 8}))}};
  kernel_ = make_kernel(call, algorithms_of(call).front().name);
}

void Interlude::run() {
  std::byte* const operands[] = {arena_.data(), arena_.data() + interlude_bytes() / 2};
  kernel_->run({.stream = stream()}, operands, nullptr);
}

void Interlude::touch_some(int64_t bytes) { touch(arena_.data(), std::min(bytes, interlude_bytes())); }

bool Interlude::is_disturbed() {
  const double queued = waited_for_processors();
  Stopwatch all, one;
  all.start();
  run();
  std::vector<double> seconds;
  while (seconds.size() < kFewestRuns) {
    one.start();
    run();
    seconds.push_back(one.stop());
  }
  return profile::is_disturbed(timing_of(std::move(seconds)), waited_for_processors() - queued, all.stop());
}

int64_t bytes_to_measure(std::span<const OperandDesc> operands, int64_t workspace_bytes) {
  int64_t bytes = aligned(workspace_bytes);
  for (const OperandDesc& operand : operands)
    if (operand.access != Access::absent) bytes += aligned(operand.tensor.bytes());
  return bytes;
}

void poison_workspace(void* stream, std::byte* workspace, int64_t bytes) {
  const std::vector<std::byte> poison(static_cast<size_t>(bytes), std::byte{0xFF});
  if (!poison.empty()) backend::copy_in(stream, workspace, poison.data(), bytes);
}

int64_t indexed_rows(const KernelCall& call) {
  const bool gathers = call.name == "GatherForward" || call.name == "GatherWhole";
  if (!gathers && call.name != "GatherBackward" && call.name != "PaddedGatherBackward") return 1;
  const TensorDesc& table = call.operands[gathers ? 0 : 2].tensor;  // [rows, width] or [tables, rows, width]
  return table.rank() < 2 ? 1 : std::max<int64_t>(1, table.dim(table.rank() - 2));
}

Workpiece::Workpiece(std::span<const OperandDesc> operands, const backend::Arena& arena, int64_t rows)
    : workspace(arena.data()) {
  for (const OperandDesc& operand : operands) {
    addresses.push_back(operand.access == Access::absent ? nullptr : workspace);
    if (operand.access == Access::absent) continue;
    fill(operand.tensor, rows, workspace);
    workspace += aligned(operand.tensor.bytes());
  }
}

Timing time_of(Kernel& kernel, std::span<const OperandDesc> operands, std::span<const int64_t> reuse_bytes,
               const Workpiece& workpiece, Interlude* between) {
  const RunContext context{.stream = stream(), .learning_rate = 1e-6};
  Stopwatch watch;
  const auto run = [&] {
    if (between) lay_out(operands, workpiece.addresses, reuse_bytes, *between);
    watch.start();
    kernel.run(context, workpiece.addresses.data(), workpiece.workspace);
    return watch.stop();
  };
  const double queued = waited_for_processors();
  Stopwatch all;
  all.start();
  std::vector<double> seconds;
  if (const double to_warm_up = run(); to_warm_up >= kLongSeconds) seconds.push_back(to_warm_up);
  while (!are_enough(seconds)) seconds.push_back(run());
  Timing timing = timing_of(std::move(seconds));
  timing.disturbed = is_disturbed(timing, waited_for_processors() - queued, all.stop());
  return timing;
}

Timing undisturbed_time_of(Kernel& kernel, std::span<const OperandDesc> operands, std::span<const int64_t> reuse_bytes,
                           const Workpiece& workpiece, Interlude* between, Retakes& retakes) {
  Timing best = time_of(kernel, operands, reuse_bytes, workpiece, between);
  int takes = 1;
  while (best.disturbed && retakes.may_try_again(takes)) {
    const Timing again = time_of(kernel, operands, reuse_bytes, workpiece, between);
    ++takes;
    if (!again.disturbed || again.median < best.median) best = again;
  }
  retakes.ended(takes, best.disturbed);
  return best;
}

}  // namespace plimsoll::profile
