// Attention in bf16 with heads whose sizes are multiples of 16, which AVX512-BF16 multiplies in pairs: every algorithm
// compared with the kernel in f32 on the same numbers. Lengths are odd, and longer than a tile.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "executor.h"
#include "runtime/kernels.h"
#include "team.h"

namespace plimsoll::test {
namespace {

struct PairsCase {
  const char* what;
  int64_t heads, key_heads, queries, keys, size, value_size;
  AttentionAttrs attrs = {.scale = 0.13};
  OperandDesc mask = absent();
};

const PairsCase kPairsCases[] = {
    {"one key", 1, 1, 3, 1, 16, 16},
    {"odd lengths", 2, 2, 71, 135, 32, 48},
    {"causal", 2, 2, 131, 131, 64, 64, {.scale = 0.125, .right = 0}},
    {"a window and shared keys", 4, 2, 100, 100, 32, 16, {.scale = 0.2, .left = 20, .right = 3}},
    {"a mask of truth values", 2, 1, 67, 66, 32, 32, {.scale = 0.3}, read(u8({67, 66}))},
    {"an additive mask", 2, 2, 65, 129, 48, 32, {.scale = 0.1}, read(bf16({2, 1, 129}))},
    {"dropout", 2, 2, 70, 90, 32, 32, {.scale = 0.2, .dropped = 0.25, .dropout_key = 5}},
};

Values numbers_of(size_t slot, const TensorDesc& desc) {
  Values values(static_cast<size_t>(desc.elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    const float wave = std::sin(0.37F * static_cast<float>(i % 4099) + static_cast<float>(7 * slot));
    values[i] = desc.type == DataType::u8 ? (wave > -0.5F ? 1 : 0) : static_cast<double>(widened(narrowed(wave)));
  }
  return values;
}

// y and statistics, and dq, dk, dv, as the kernels of one type compute them.
std::vector<Values> attention_of(const PairsCase& c, DataType type, int threads, const std::string& algorithm) {
  const Team team(threads);
  const auto tensor = [&](int64_t heads, int64_t rows, int64_t size) {
    return TensorDesc{type, {2, heads, rows, size}, Layout::plain};
  };
  const TensorDesc q = tensor(c.heads, c.queries, c.size), k = tensor(c.key_heads, c.keys, c.size),
                   v = tensor(c.key_heads, c.keys, c.value_size), y = tensor(c.heads, c.queries, c.value_size),
                   statistics = f32({2, c.heads, c.queries, 2});
  std::vector<OperandDesc> operands = {read(q), read(k), read(v), c.mask, write(y), write(statistics)};
  std::vector<Buffer> buffers;
  std::vector<std::byte*> addresses;
  const auto add = [&](const OperandDesc& operand, size_t slot) {
    buffers.emplace_back(operand.tensor.bytes(), 0);
    if (operand.access == Access::read) store(operand.tensor, numbers_of(slot, operand.tensor), buffers.back().data());
    addresses.push_back(operand.access == Access::absent ? nullptr : buffers.back().data());
  };
  buffers.reserve(16);
  for (size_t slot = 0; slot < operands.size(); ++slot) add(operands[slot], slot);
  const RunContext context{.training = true, .seed = 3};
  const auto run = [&](auto kernel, std::span<const OperandDesc> given, std::byte* const* at) {
    using Kernel = decltype(kernel);
    const std::vector<Algorithm> offered = Kernel::algorithms(c.attrs, given);
    const auto named =
        std::find_if(offered.begin(), offered.end(), [&](const Algorithm& one) { return one.name == algorithm; });
    REQUIRE(named != offered.end());
    Buffer workspace(named->workspace_bytes);
    Kernel::make(c.attrs, given, algorithm)->run(context, at, workspace.data());
    CHECK(workspace.guards_intact());
  };
  run(AttentionForward{}, operands, addresses.data());
  operands[4].access = operands[5].access = Access::read;
  for (const OperandDesc& operand : {read(y), write(q), write(k), write(v)}) {
    operands.push_back(operand);
    add(operand, operands.size());
  }
  operands.push_back(absent());
  addresses.push_back(nullptr);
  run(AttentionBackward{}, operands, addresses.data());
  for (const Buffer& buffer : buffers) CHECK(buffer.guards_intact());
  std::vector<Values> results;
  for (const size_t slot : {4, 7, 8, 9}) results.push_back(load(operands[slot].tensor, buffers[slot].data()));
  return results;
}

double relative_norm(const Values& a, const Values& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / std::max(norm, 1e-30));
}

}  // namespace

TEST_CASE("attention in bf16 is as near to f32 as bf16 allows, and has the same bits with any number of threads") {
  for (const PairsCase& c : kPairsCases) {
    INFO(c.what);
    const std::vector<Values> exact = attention_of(c, DataType::f32, 2, "default");
    for (const char* const algorithm : {"default", "pairs"}) {
#ifndef __AVX512BF16__
      if (std::string("pairs") == algorithm) continue;
#endif
      INFO(algorithm);
      const std::vector<Values> got = attention_of(c, DataType::bf16, 2, algorithm);
      const char* const names[] = {"y", "dq", "dk", "dv"};
      for (size_t i = 0; i < exact.size(); ++i) {
        INFO(names[i]);
        // With one key the gradients of q and k are zero except for rounding.
        if (c.keys > 1 || i == 0 || i == 3) CHECK(relative_norm(got[i], exact[i]) < 1.2e-2);
      }
      CHECK((attention_of(c, DataType::bf16, 3, algorithm) == got));
    }
  }
}

}  // namespace plimsoll::test
