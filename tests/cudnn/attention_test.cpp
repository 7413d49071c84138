// cuDNN's engines for attention on a described device, on a machine that need not have one.
#include <catch2/catch.hpp>
#include <dlfcn.h>

#include <algorithm>

#include "runtime/cuda/cudnn/attention.h"
#include "runtime/cuda/cudnn/engines.h"
#include "runtime/kernels.h"
#include "tests/cudnn/described.h"

using namespace plimsoll;
using namespace plimsoll::cudnn;

namespace {

struct Case {
  int64_t samples, heads, key_heads, queries, keys, size;
  bool causal;

  AttentionAttrs attrs() const {
    AttentionAttrs made;
    made.scale = 0.125;
    if (causal) made.right = 0;
    return made;
  }
  std::vector<OperandDesc> operands(DataType type, bool backward) const {
    const auto tensor = [&](int64_t of_heads, int64_t rows, Access access) {
      return OperandDesc{.tensor = {type, {samples, of_heads, rows, size}}, .access = access};
    };
    const OperandDesc none{.access = Access::absent};
    const OperandDesc q = tensor(heads, queries, Access::read), k = tensor(key_heads, keys, Access::read);
    const OperandDesc y = tensor(heads, queries, backward ? Access::read : Access::write);
    const OperandDesc statistics{.tensor = {DataType::f32, {samples, heads, queries, 2}}, .access = y.access};
    if (!backward) return {q, k, k, none, y, statistics};
    return {q,
            k,
            k,
            none,
            y,
            statistics,
            q,
            tensor(heads, queries, Access::write),
            tensor(key_heads, keys, Access::write),
            tensor(key_heads, keys, Access::write),
            none};
  }
  AttentionShape shape(DataType type) const {
    const auto all = operands(type, false);
    return {attrs(), all[0].tensor, all[1].tensor, all[2].tensor, all[3]};
  }
};

const std::vector<Case> kCases = {{16, 12, 12, 1024, 1024, 64, true},
                                  {16, 12, 12, 197, 197, 64, false},
                                  {4, 32, 8, 2048, 2048, 128, true},
                                  {2, 4, 4, 33, 70, 32, false}};

// cuDNN lists the engines of attention only where it finds the driver's library, of which it calls nothing then.
// Without a driver the toolkit's stand-in for the linker does: it has the same name (SONAME). It is not loaded outside
// of this test: cuDNN would then also compile engines of convolutions, which takes minutes and fails.
void describe_h200_with_driver() {
  if (dlopen("libcuda.so.1", RTLD_LAZY) == nullptr) REQUIRE(dlopen(PLIMSOLL_CUDA_STUB, RTLD_LAZY) != nullptr);
  describe("h200");
}

std::vector<Algorithm> offered(const Case& one, DataType type, bool backward) {
  const auto operands = one.operands(type, backward);
  return backward ? AttentionBackward::algorithms(one.attrs(), operands)
                  : AttentionForward::algorithms(one.attrs(), operands);
}

bool of_cudnn(const Algorithm& algorithm) { return algorithm.name.starts_with("cudnn_"); }

}  // namespace

TEST_CASE("attention in bf16 and f16 has deterministic engines of cuDNN") {
  describe_h200_with_driver();
  for (const Case& one : kCases)
    for (const DataType type : {DataType::bf16, DataType::f16})
      for (const bool backward : {false, true}) {
        INFO(one.queries << " queries, " << name_of(type) << (backward ? ", backward" : ", forward"));
        const Graph graph =
            backward ? attention_backward(one.shape(type), type) : attention_forward(one.shape(type), type);
        const std::vector<Engine> engines = engines_for(graph);
        INFO(why_no_engine(graph));
        REQUIRE(!engines.empty());
        for (const Engine& engine : engines) {
          CHECK(engine.deterministic);
          CHECK(!engine.tf32);
          CHECK(Plan(graph, engine.name).workspace_bytes() == engine.workspace_bytes);
        }
      }
}

TEST_CASE(
    "cuDNN's algorithms of attention come after our own, only where it computes the same, and no plan uses them yet") {
  describe_h200_with_driver();
  const Case& one = kCases[0];
  for (const bool backward : {false, true}) {
    const std::vector<Algorithm> narrow = offered(one, DataType::bf16, backward);
    CHECK(!of_cudnn(narrow.front()));
    REQUIRE(of_cudnn(narrow.back()));
    for (const Algorithm& algorithm : narrow) CHECK(algorithm.compared == !of_cudnn(algorithm));
    const int64_t of_rows = 16 * 12 * 1024 * 4, of_results = 16 * 12 * 1024 * 64 * 2;
    CHECK(narrow.back().workspace_bytes >= 2 * of_rows + (backward ? 3 : 1) * of_results);
    CHECK(std::ranges::none_of(offered(one, DataType::f32, backward), of_cudnn));

    const auto without = [&](AttentionAttrs attrs, std::vector<OperandDesc> operands) {
      return std::ranges::none_of(
          backward ? AttentionBackward::algorithms(attrs, operands) : AttentionForward::algorithms(attrs, operands),
          of_cudnn);
    };
    AttentionAttrs window = one.attrs(), dropout = one.attrs();
    window.left = 128;
    dropout.dropped = 0.1;
    auto operands = one.operands(DataType::bf16, backward);
    CHECK(without(window, operands));
    CHECK(without(dropout, operands));
    operands[3] = {.tensor = {DataType::f32, {1, 1, 1024, 1024}}, .access = Access::read};
    CHECK(without(one.attrs(), operands));
    operands = one.operands(DataType::bf16, backward);
    if (backward) operands[8].access = Access::absent;
    CHECK(without(one.attrs(), operands) == backward);
  }
}
