#include "compiler/ops/whole.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "compiler/ops/broadcast.h"

namespace plimsoll {
namespace {

constexpr std::array<std::pair<std::string_view, int64_t>, 7> kArithmetic = {
    {{"Add", kAdd}, {"Sub", kSub}, {"Mul", kMul}, {"Div", kDiv}, {"Mod", kMod}, {"Max", kMax}, {"Min", kMin}}};

int64_t operation_of(const NodeView& node) {
  const auto found = std::find_if(kArithmetic.begin(), kArithmetic.end(),
                                  [&](const auto& row) { return row.first == node.node().op; });
  PLIMSOLL_CHECK(found != kArithmetic.end(), node.describe() + ": no arithmetic of whole numbers");
  return found->second;
}

bool is_number(const NodeView& node, size_t i) { return node.input(i).constant.has_value(); }

// Two operands of one type, at most one of which is a number.
Result<Dims> dims_of_pair(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("requires two operands");
  const TensorType &a = node.input_type(0), &b = node.input_type(1);
  if (a.type != b.type)
    return node.invalid("its operands are " + to_string(a) + " and " + to_string(b) + ", of different types");
  for (size_t i = 0; i < 2; ++i)
    if (is_number(node, i) && !node.constant_real(i))
      return node.unsupported("operand " + std::to_string(i) + " is a constant with more than one element");
  if (is_number(node, 0) && is_number(node, 1)) return node.unsupported("both operands are constants");
  return broadcast(node, a.dims, b.dims);
}

TaskSpec pair_task(TaskBuilder& build, std::string_view kernel, int64_t operation, bool turned) {
  const NodeView& node = build.node();
  PairAttrs attrs{.operation = operation};
  TaskSpec task{.kernel = std::string(kernel), .flops = flops_per_element(node.output_type(0), 1)};
  for (const size_t i : {turned ? size_t{1} : size_t{0}, turned ? size_t{0} : size_t{1}}) {
    if (!is_number(node, i)) {
      task.operands.push_back(build.read_input(i));
      continue;
    }
    task.operands.push_back(Operand{});
    const ConstantData& data = *node.input(i).constant;
    constexpr double kMost = std::numeric_limits<double>::max();
    if (!data.ints.empty()) attrs.whole = data.ints[0];
    else attrs.real = std::clamp(data.reals[0], -kMost, kMost);
  }
  task.operands.push_back(build.write_output(0));
  task.attributes = to_attributes(attrs);
  return task;
}

// Tensor operands with the result's shape and type may be overwritten.
void allow_in_place(const TaskBuilder& build, TaskSpec& task) {
  for (int slot = 0; slot < 2; ++slot)
    if (task.operands[static_cast<size_t>(slot)].access == Access::read &&
        task.operands[static_cast<size_t>(slot)].type == build.node().output_type(0))
      task.in_place.push_back({slot, 2});
}

Sample pair_sample(std::string name, DataType type, Dims a, Dims b, double low, double high) {
  return {.name = std::move(name),
          .inputs = {{.dims = std::move(a), .type = type, .low = low, .high = high},
                     {.dims = std::move(b), .type = type, .low = low, .high = high}}};
}

}  // namespace

bool is_whole(const NodeView& node) {
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && node.input_type(i).type != DataType::f32) return true;
  return false;
}

Result<std::vector<TensorType>> infer_whole(const NodeView& node) {
  PLIMSOLL_ASSIGN(const Dims dims, dims_of_pair(node));
  const DataType type = node.input_type(0).type;
  if (type != DataType::i32 && type != DataType::i64)
    return node.unsupported("only f32, i32 and i64 are supported, operand 0 is " + to_string(node.input_type(0)));
  return std::vector{TensorType{type, dims}};
}

void forward_whole(TaskBuilder& build) {
  TaskSpec task = pair_task(build, "WholeArithmetic", operation_of(build.node()), false);
  allow_in_place(build, task);
  build.task(std::move(task));
}

Result<std::vector<TensorType>> infer_logic(const NodeView& node) {
  PLIMSOLL_ASSIGN(const Dims dims, dims_of_pair(node));
  if (node.input_type(0).type != DataType::u8)
    return node.invalid("its operands are " + to_string(node.input_type(0)) + ", not booleans");
  return std::vector{TensorType{DataType::u8, dims}};
}

void forward_logic(TaskBuilder& build, int64_t operation) {
  TaskSpec task = pair_task(build, "WholeArithmetic", operation, false);
  allow_in_place(build, task);
  build.task(std::move(task));
}

std::vector<Sample> logic_samples() {
  Sample number = pair_sample("number", DataType::u8, {kBatch, {7}}, {}, 0, 2);
  number.inputs[1] = {.kind = ValueKind::constant, .constant = {1}, .type = DataType::u8};
  return {pair_sample("masks", DataType::u8, {kBatch, {1}, {1}, {9}}, {{1}, {1}, {9}, {9}}, 0, 2),
          pair_sample("same", DataType::u8, {kBatch, {13}}, {kBatch, {13}}, 0, 2), number};
}

Result<std::vector<TensorType>> infer_relation(const NodeView& node) {
  PLIMSOLL_ASSIGN(const Dims dims, dims_of_pair(node));
  return std::vector{TensorType{DataType::u8, dims}};
}

void forward_relation(TaskBuilder& build, int64_t relation, bool turned) {
  build.task(pair_task(build, "Compare", relation, turned));
}

std::vector<Sample> relation_samples() {
  const auto number = [](std::string name, DataType type, double value, bool first) {
    Sample sample = pair_sample(std::move(name), type, {kBatch, {11}}, {kBatch, {11}}, -3, 4);
    sample.inputs[first ? 0 : 1] = {.kind = ValueKind::constant, .constant = {value}, .type = type};
    return sample;
  };
  return {pair_sample("ids", DataType::i64, {kBatch, {6}, {1}}, {{1}, {7}}, -3, 4),
          pair_sample("narrow", DataType::i32, {kBatch, {5}}, {kBatch, {5}}, 0, 3),
          pair_sample("reals", DataType::f32, {kBatch, {3}, {4}}, {kBatch, {1}, {4}}, -1, 1),
          pair_sample("booleans", DataType::u8, {kBatch, {9}}, {{9}}, 0, 2),
          number("padding", DataType::i64, 1, false),
          number("number_left", DataType::i32, 1, true),
          number("threshold", DataType::f32, 0.25, false)};
}

void move_elements(TaskBuilder& build, const MoveAttrs& attrs, size_t output) {
  build.task({.kernel = "Move",
              .attributes = to_attributes(attrs),
              .operands = {build.read_input(0), build.write_output(output)}});
}

MoveAttrs as_it_is(size_t rank) {
  MoveAttrs attrs;
  for (size_t i = 0; i < rank; ++i) {
    attrs.order.push_back(static_cast<int64_t>(i));
    attrs.steps.push_back(1);
    attrs.starts.push_back(0);
  }
  return attrs;
}

}  // namespace plimsoll
