// Tensors in bf16 in the task graph: what may share bytes with what.
#include <catch2/catch.hpp>

#include <algorithm>

#include "compiler/network/loss.h"
#include "compiler/network/output_loss.h"
#include "compiler/network/precision.h"
#include "compiler/ops/op.h"
#include "compiler/training/build.h"
#include "written_network.h"

namespace plimsoll {
namespace {

using test::WrittenNetwork;

}  // namespace

TEST_CASE("a result is not written over an operand with elements of another size") {
  WrittenNetwork b;
  const ValueId x = b.value("x", ValueKind::input, {kBatch, {4}}), w = b.value("w", ValueKind::parameter, {{4}, {4}});
  const ValueId product = b.node("MatMul", {x, w}), f32 = b.node("Exp", {product});
  b.network.outputs = {b.node("ReduceMean", {b.node("Sub", {f32, product})}, {{"keepdims", int64_t{0}}})};
  std::vector<std::string> notes;
  REQUIRE(attach_loss(b.network, LossKind::output, notes).ok());

  // {bytes of an element read, written} of the pairs of the difference
  const auto pairs = [&](Precision precision) {
    REQUIRE(assign_precision(b.network, {.precision = precision}).ok());
    const auto graph = build_task_graph(b.network, {.batch = 8});
    REQUIRE(graph.ok());
    std::vector<std::pair<int64_t, int64_t>> found;
    for (const Task& task : graph->tasks) {
      if (task.kernel != "BinarySub") continue;
      for (const Task::InPlace& pair : task.in_place)
        found.push_back(
            {bytes_of(graph->tensors[pair.read].type.type), bytes_of(graph->tensors[pair.written].type.type)});
    }
    return found;
  };
  CHECK(pairs(Precision::fp32) == std::vector<std::pair<int64_t, int64_t>>{{4, 4}, {4, 4}});
  CHECK(pairs(Precision::bf16) == std::vector<std::pair<int64_t, int64_t>>{{2, 2}});
}

}  // namespace plimsoll
