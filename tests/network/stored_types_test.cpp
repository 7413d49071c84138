// Tensors in bf16 and f16 in the task graph: what may share bytes with what, and what undoes the loss's scale.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <string>

#include "compiler/network/loss.h"
#include "compiler/network/output_loss.h"
#include "compiler/network/precision.h"
#include "compiler/ops/op.h"
#include "compiler/training/build.h"
#include "runtime/attrs/activation.h"
#include "runtime/attrs/bf16.h"
#include "runtime/attrs/f16.h"
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

TEST_CASE("the bounds of a Clip are rounded as its result is, which is compared with them in the backward") {
  WrittenNetwork b;
  const ValueId x = b.value("x", ValueKind::input, {kBatch, {4}}), w = b.value("w", ValueKind::parameter, {{4}, {4}}),
                low = b.value("low", ValueKind::constant, {}), high = b.value("high", ValueKind::constant, {});
  b.network.values[low].constant = ConstantData{.reals = {-0.7}};
  b.network.values[high].constant = ConstantData{.reals = {1e38}};
  b.network.outputs = {
      b.node("ReduceMean", {b.node("Clip", {b.node("MatMul", {x, w}), low, high})}, {{"keepdims", int64_t{0}}})};
  std::vector<std::string> notes;
  REQUIRE(attach_loss(b.network, LossKind::output, notes).ok());

  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
    REQUIRE(assign_precision(b.network, {.precision = precision}).ok());
    const auto graph = build_task_graph(b.network, {.batch = 8});
    REQUIRE(graph.ok());
    // 1e38 has no f16: it remains a bound that no result reaches
    const ClipAttrs stored = precision == Precision::bf16   ? ClipAttrs{.min = Bf16(-0.7F), .max = Bf16(1e38F)}
                             : precision == Precision::fp16 ? ClipAttrs{.min = F16(-0.7F), .max = 1e38}
                                                            : ClipAttrs{.min = -0.7, .max = 1e38};
    int64_t clips = 0;
    for (const Task& task : graph->tasks)
      if (task.kernel == "ClipForward" || task.kernel == "ClipBackward") {
        ++clips;
        CHECK(task.attributes == to_attributes(stored));
      }
    CHECK(clips == 2);
  }
}

TEST_CASE("in fp16 one task reads every weight gradient before the first update, clips too, and gives its factor") {
  const auto graph_in = [](Precision precision, double clip_norm) {
    WrittenNetwork b;
    const ValueId x = b.value("x", ValueKind::input, {kBatch, {4}}), w = b.value("w", ValueKind::parameter, {{4}, {4}}),
                  v = b.value("v", ValueKind::parameter, {{4}, {4}});
    b.network.outputs = {
        b.node("ReduceMean", {b.node("MatMul", {b.node("MatMul", {x, w}), v})}, {{"keepdims", int64_t{0}}})};
    std::vector<std::string> notes;
    REQUIRE(attach_loss(b.network, LossKind::output, notes).ok());
    REQUIRE(assign_precision(b.network, {.precision = precision}).ok());
    auto graph = build_task_graph(b.network, {.batch = 8, .optimizer = {.clip_norm = clip_norm}});
    REQUIRE(graph.ok());
    return std::move(*graph);
  };
  for (const double clip_norm : {0.0, 3.0}) {
    const TaskGraph graph = graph_in(Precision::fp16, clip_norm);
    const auto is_factor = [](const Task& task) { return task.kernel == "UnscaleFactor"; };
    const auto found = std::find_if(graph.tasks.begin(), graph.tasks.end(), is_factor);
    REQUIRE(found != graph.tasks.end());
    CHECK(found->name == "gradients.unscale");
    CHECK(found->attributes == (clip_norm > 0 ? Attributes{{"max_norm", clip_norm}} : Attributes{}));
    REQUIRE(found->operands.size() == 3);
    for (size_t i = 0; i < 2; ++i) {
      const Tensor& gradient = graph.tensors[found->operands[i].tensor];
      CHECK(gradient.kind == TensorKind::weight_gradient);
      CHECK(gradient.type.type == DataType::f32);
    }
    CHECK(graph.factor == found->operands.back().tensor);
    CHECK(graph.tensors[graph.factor].bytes(1) == 4);
    int64_t updates = 0;
    for (const Task& task : graph.tasks)
      if (task.kernel == "MomentumUpdate") {
        ++updates;
        CHECK(task.operands.back().tensor == graph.factor);
      }
    CHECK(updates == 2);
    const auto in_f16 = [](const Tensor& tensor) { return tensor.type.type == DataType::f16; };
    CHECK(std::any_of(graph.tensors.begin(), graph.tensors.end(), in_f16));
  }
  CHECK_FALSE(graph_in(Precision::bf16, 0).factor.valid());
  CHECK_FALSE(graph_in(Precision::bf16, 3).factor.valid());
}

TEST_CASE("in bf16 the gradient of a weight is in bf16 where one product computes it and nothing is added") {
  WrittenNetwork b;
  const auto weight = [&](const char* name, Dims dims) { return b.value(name, ValueKind::parameter, std::move(dims)); };
  const ValueId x = b.value("x", ValueKind::input, {kBatch, {4}}), once = weight("once", {{4}, {4}}),
                twice = weight("twice", {{4}, {4}}), row = weight("row", {{4}});
  const ValueId first = b.node("Add", {b.node("MatMul", {x, once}), row});
  b.network.outputs = {b.node("ReduceMean", {b.node("MatMul", {b.node("MatMul", {first, twice}), twice})},
                              {{"keepdims", int64_t{0}}})};
  std::vector<std::string> notes;
  REQUIRE(attach_loss(b.network, LossKind::output, notes).ok());
  const auto types = [&](Precision precision) {
    REQUIRE(assign_precision(b.network, {.precision = precision}).ok());
    const auto graph = build_task_graph(b.network, {.batch = 8});
    REQUIRE(graph.ok());
    std::map<std::string, DataType> found;
    for (const Tensor& tensor : graph->tensors)
      if (tensor.kind == TensorKind::weight_gradient) found[tensor.name] = tensor.type.type;
    for (const Task& task : graph->tasks)
      for (const Operand& operand : task.operands)
        if (operand.access != Access::absent) CHECK(operand.type.type == graph->tensors[operand.tensor].type.type);
    return found;
  };
  using Types = std::map<std::string, DataType>;
  CHECK(types(Precision::fp32) ==
        Types{{"donce", DataType::f32}, {"dtwice", DataType::f32}, {"drow", DataType::f32}});
  // The factor that undoes the loss's scale is of gradients in f32.
  CHECK(types(Precision::fp16) ==
        Types{{"donce", DataType::f32}, {"dtwice", DataType::f32}, {"drow", DataType::f32}});
  CHECK(types(Precision::bf16) ==
        Types{{"donce", DataType::bf16}, {"dtwice", DataType::f32}, {"drow", DataType::f32}});
}

}  // namespace plimsoll
