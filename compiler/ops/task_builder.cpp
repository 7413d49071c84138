#include "compiler/ops/task_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/ops/op.h"
#include "runtime/attrs/scale.h"
#include "runtime/attrs/whole.h"

namespace plimsoll {

TaskBuilder::TaskBuilder(const Network& network, TaskGraph& graph, int threads)
    : network_(network),
      graph_(graph),
      tensor_of_(network.values.size()),
      gradient_of_(network.values.size()),
      wants_(network.values.size(), false),
      stashes_(network.nodes.size()),
      tensor_names_(threads),
      task_names_(threads) {}

Operand TaskBuilder::operand(TensorId tensor, Access access, TensorType type) const {
  if (!tensor.valid()) return Operand{};
  return Operand{tensor, access, std::move(type)};
}

Operand TaskBuilder::read_input(size_t i) {
  if (!node_->has_input(i)) return Operand{};
  const ValueId value = node_->node().inputs[i];
  PLIMSOLL_CHECK(tensor_of_[value].valid(), fmt::format("{}: input {} has no tensor", node_->describe(), i));
  if (is_cast_factor(i))
    return operand(cast_factor(value), Access::read, stored_as(network_.values[value].type, type_of_results()));
  return operand(tensor_of_[value], Access::read, stored_type(value));
}

TensorType TaskBuilder::stored_type(ValueId value) const {
  const Value& meaning = network_.values[value];
  return is_narrow(meaning.reduced) ? stored_as(meaning.type, meaning.reduced) : meaning.type;
}

DataType TaskBuilder::type_of_results() const {
  for (const ValueId id : node_->node().outputs)
    if (id.valid() && is_narrow(network_.values[id].reduced)) return network_.values[id].reduced;
  return node_->node().marks.factors;
}

bool TaskBuilder::is_cast_factor(size_t input) const {
  const Node& node = node_->node();
  const FixedList<size_t, 3>& factors = op_->factors;
  return is_narrow(type_of_results()) && std::find(factors.begin(), factors.end(), input) != factors.end() &&
         graph_.tensors[tensor_of_[node.inputs[input]]].type.type == DataType::f32;
}

TensorId TaskBuilder::cast_factor(ValueId value) {
  const DataType narrow = type_of_results();
  const auto [at, is_new] = casts_.try_emplace({value, narrow});
  if (!is_new) return at->second;
  const TensorId given = tensor_of_[value];
  const TensorType type = network_.values[value].type, cast = stored_as(type, narrow);
  at->second = add_tensor({.name = fmt::format("{}.{}", unique_name_of(given), name_of(narrow)), .type = cast});
  task({.kernel = "CastTo",
        .attributes = to_attributes(CastAttrs{}),
        .operands = {operand(given, Access::read, type), operand(at->second, Access::write, cast)},
        .flops = flops_per_element(type, 1)});
  return at->second;
}

Operand TaskBuilder::update_input(size_t i) {
  Operand input = read_input(i);
  if (input.tensor.valid()) input.access = Access::update;
  return input;
}

// A fed tensor that is only transposed (steps first) still counts as fed.
Tensor* TaskBuilder::fed_to(size_t i) {
  TensorId made = tensor_of_[node_->node().inputs[i]];
  while (graph_.tensors[made].kind != TensorKind::input) {
    const auto turns = [&](const Node& node) {
      return find_op(node.op)->moves_only && tensor_of_[node.outputs[0]] == made && tensor_of_[node.inputs[0]] != made;
    };
    const auto found = std::find_if(network_.nodes.begin(), network_.nodes.end(), turns);
    if (found == network_.nodes.end()) return nullptr;
    made = tensor_of_[found->inputs[0]];
  }
  return &graph_.tensors[made];
}

void TaskBuilder::bound_input(size_t i, int64_t bound) {
  if (Tensor* const tensor = fed_to(i)) tensor->bound = tensor->bound == 0 ? bound : std::min(tensor->bound, bound);
}

void TaskBuilder::bound_labels(size_t i, int64_t classes, int64_t ignored) {
  Tensor* const tensor = fed_to(i);
  if (!tensor) return;
  bound_input(i, classes);
  if (!tensor->ignored) tensor->ignored = ignored;
}

void TaskBuilder::feed_labels(const FedLabels& labels, int64_t classes, int64_t ignored, const Operand& weights,
                              bool is_term) {
  Tensor& tensor = graph_.tensors[tensor_of_[labels.input]];
  tensor.ignored = ignored;
  tensor.class_weights = weights.tensor;
  const bool all = labels.first == 0 && labels.end == network_.values[labels.input].type.elements().per_sample;
  if (is_term || !all) tensor.first_label = labels.first, tensor.end_label = labels.end;
  // Else the trainer learns the number of classes from the scores, if they are an output of samples.
  if (is_term || !node_->input_type(0).depends_on_batch())
    tensor.bound = tensor.bound == 0 ? classes : std::min(tensor.bound, classes);
}

void TaskBuilder::feed_mixed_labels(size_t i, int64_t ignored, const Operand& weights) {
  Tensor& tensor = graph_.tensors[tensor_of_[node_->node().inputs[i]]];
  tensor.ignored = ignored;
  tensor.class_weights = weights.tensor;
  tensor.mixed_labels = true;
}

Operand TaskBuilder::write_output(size_t i) {
  if (!node_->has_output(i)) return Operand{};
  const ValueId value = node_->node().outputs[i];
  const Value& meaning = network_.values[value];
  TensorType type = stored_type(value);
  tensor_of_[value] =
      add_tensor({.name = meaning.name, .kind = TensorKind::activation, .type = type, .onnx_name = meaning.name});
  return operand(tensor_of_[value], Access::write, std::move(type));
}

void TaskBuilder::alias_output(size_t output, size_t input) {
  tensor_of_[node_->node().outputs[output]] = tensor_of_[node_->node().inputs[input]];
}

Operand TaskBuilder::write_stash(const std::string& what, const TensorType& type) {
  const TensorId tensor =
      add_tensor({.name = node_->node().name + "." + what, .kind = TensorKind::stash, .type = type});
  Operand made = operand(tensor, Access::write, type);
  stashes_[node_id_].emplace_back(what, made);
  return made;
}

Operand TaskBuilder::read_stash(const std::string& what) const {
  const auto& stashes = stashes_[node_id_];
  const auto found = std::find_if(stashes.begin(), stashes.end(), [&](const auto& one) { return one.first == what; });
  PLIMSOLL_CHECK(found != stashes.end(), fmt::format("{}: no stash '{}'", node_->describe(), what));
  return as_read(found->second);
}

Operand TaskBuilder::read_output(size_t i) {
  const ValueId value = node_->node().outputs[i];
  return operand(tensor_of_[value], Access::read, stored_type(value));
}

bool TaskBuilder::has_gradient(size_t output) const {
  return node_->has_output(output) && gradient_of_[node_->node().outputs[output]].valid();
}

Operand TaskBuilder::read_gradient(size_t output) {
  if (!has_gradient(output)) return Operand{};
  const ValueId value = node_->node().outputs[output];
  return operand(gradient_of_[value], Access::read, stored_type(value));
}

bool TaskBuilder::wants_gradient(size_t input) const {
  return node_->has_input(input) && wants_[node_->node().inputs[input]];
}

Operand TaskBuilder::write_gradient(size_t input) {
  if (!wants_gradient(input)) return Operand{};
  const ValueId value = node_->node().inputs[input];
  const Value& meaning = network_.values[value];
  const bool weight = meaning.kind == ValueKind::parameter;
  const bool as_data = weight && !is_weight(slot_of(*op_, input));
  if (weight && gradient_of_[value].valid()) {
    if (as_data) gradients_of_data_.insert(gradient_of_[value]);
    of_one_product_.erase(value);
    return operand(gradient_of_[value], Access::update, meaning.type);
  }
  TensorType type = weight ? meaning.type : stored_type(value);
  const TensorId made = add_tensor({.name = "d" + meaning.name,
                                    .kind = weight ? TensorKind::weight_gradient : TensorKind::activation_gradient,
                                    .type = type});
  Operand gradient = operand(made, Access::write, std::move(type));
  if (weight) {
    gradient_of_[value] = made;
    if (as_data) gradients_of_data_.insert(made);
  } else {
    give_gradient(input, gradient);
  }
  return gradient;
}

Operand TaskBuilder::write_gradient_of_product(size_t input) {
  const Operand made = write_gradient(input);
  const ValueId value = node_->node().inputs[input];
  if (made.access == Access::write && !gradients_of_data_.contains(made.tensor)) of_one_product_.insert(value);
  return made;
}

void TaskBuilder::narrow_gradients() {
  for (const ValueId value : of_one_product_) {
    const Value& weight = network_.values[value];
    if (weight.kind == ValueKind::parameter && is_narrow(weight.reduced))
      graph_.tensors[gradient_of_[value]].type.type = weight.reduced;
  }
}

void TaskBuilder::give_gradient(size_t input, const Operand& made) {
  if (!wants_gradient(input)) return;
  const ValueId value = node_->node().inputs[input];
  PLIMSOLL_CHECK(network_.values[value].kind != ValueKind::parameter,
                 node_->describe() + ": a weight gradient must be written with write_gradient");
  if (gradient_of_[value].valid()) {
    arrived_twice_.push_back({value, made.tensor});
  } else {
    gradient_of_[value] = made.tensor;
  }
}

Operand TaskBuilder::write_between(const std::string& what, const TensorType& type) {
  const TensorType stored = stored_as(type, type_of_results());
  const TensorId tensor =
      add_tensor({.name = node_->node().name + "." + what, .kind = TensorKind::activation, .type = stored});
  return operand(tensor, Access::write, stored);
}

Operand TaskBuilder::write_scratch(const std::string& what, const TensorType& type) {
  const TensorType stored = type.type == DataType::f32 ? stored_as(type, type_of_results()) : type;
  const TensorId tensor =
      add_tensor({.name = node_->node().name + "." + what, .kind = TensorKind::activation_gradient, .type = stored});
  return operand(tensor, Access::write, stored);
}

void TaskBuilder::task(TaskSpec spec) {
  // the tensor that the task writes, and the tensor to which it is added
  std::vector<std::pair<Operand, Operand>> to_add;
  for (Operand& operand : spec.operands) {
    if (spec.kind == TaskKind::backward_weights || operand.access == Access::read ||
        !gradients_of_data_.contains(operand.tensor))
      continue;
    const Operand written = write_scratch("d" + unique_name_of(operand.tensor), operand.type);
    to_add.push_back({written, std::exchange(operand, written)});
  }
  Task task{.op = node_->node().op,
            .kind = spec.kind,
            .layer = layer_name(node_->node()),
            .kernel = std::move(spec.kernel),
            .attributes = std::move(spec.attributes),
            .operands = std::move(spec.operands),
            .flops = spec.flops,
            .may_run_again = spec.may_run_again,
            .mixes_samples = spec.mixes_samples};
  for (const auto& [read, written] : spec.in_place) {
    const Operand& from = task.operands[static_cast<size_t>(read)];
    const Operand& to = task.operands[static_cast<size_t>(written)];
    if (from.access == Access::read && to.access == Access::write) task.in_place.push_back({from.tensor, to.tensor});
  }
  for (const int slot : spec.twice) task.operands[static_cast<size_t>(slot)].twice = true;
  for (const int slot : spec.remembers)
    if (const Operand& operand = task.operands[static_cast<size_t>(slot)]; operand.access == Access::write)
      task.remembers.push_back(operand.tensor);
  if (is_forward(task.kind) && whole_.contains(node_id_) && whole_[node_id_])
    task.mixes_samples = task.whole_batch = true;
  task.name = fmt::format("{}.{}", task.layer, to_string(task.kind));
  task_names_.add(static_cast<int32_t>(graph_.tasks.size()), task.name);
  const TensorId adds_to = spec.adds_to < 0 ? TensorId{} : task.operands[static_cast<size_t>(spec.adds_to)].tensor;
  const TaskId id = graph_.tasks.push_back(std::move(task));
  if (adds_to.valid()) may_add_[adds_to] = id;
  for (const auto& [written, sum] : to_add)
    this->task({.kernel = "SumToShape",
                .kind = TaskKind::backward_weights,
                .attributes = to_attributes(ScaleAttrs{.scale = 1}),
                .operands = {as_read(written), sum},
                .flops = flops_per_element(written.type, 1)});
}

void TaskBuilder::need_whole_batch(IdVector<NodeId, bool> whole) {
  whole_ = std::move(whole);
  batch_is_whole_ = std::find(whole_.begin(), whole_.end(), true) != whole_.end();
}

void TaskBuilder::enter_forward(NodeId node) {
  node_id_ = node;
  node_.emplace(network_, network_.nodes[node]);
  op_ = find_op(network_.nodes[node].op);
}

void TaskBuilder::enter_backward(NodeId node) {
  enter_forward(node);
  arrived_twice_.clear();
  gradients_of_data_.clear();
  may_add_.clear();
}

bool TaskBuilder::joined(TensorId before, TensorId more) {
  const auto found = may_add_.find(more);
  if (!joins_ || found == may_add_.end()) return false;
  const auto type_of = [&](TensorId tensor) { return graph_.tensors[tensor].type.type; };
  Task& task = graph_.tasks[found->second];
  if (type_of(before) != type_of(more)) return false;
  // Not if this node computes `before` later.
  for (int64_t i = found->second.value + 1; i < static_cast<int64_t>(graph_.tasks.size()); ++i)
    for (const Operand& operand : graph_.tasks[TaskId(i)].operands)
      if (operand.tensor == before && operand.access != Access::read) return false;
  const auto written = std::find_if(task.operands.begin(), task.operands.end(),
                                    [&](const Operand& operand) { return operand.tensor == more; });
  const TensorType type = written->type;
  // Where the branches of a sum meet, both may have the same gradient: the kernel then also computes with `before`.
  const bool is_read = std::any_of(task.operands.begin(), task.operands.end(),
                                   [&](const Operand& operand) { return operand.tensor == before; });
  task.operands.push_back({before, Access::read, type});
  if (!is_read) task.in_place.push_back({before, more});
  const Affine more_flops = flops_per_element(type, 1);
  task.flops.fixed += more_flops.fixed;
  task.flops.per_sample += more_flops.per_sample;
  return true;
}

// A value read by several nodes gets several gradients. Each is added to the sum as soon as it is available, so that at
// most two are live at a time.
void TaskBuilder::leave_backward() {
  for (const auto& [value, more] : std::exchange(arrived_twice_, {})) {
    if (joined(gradient_of_[value], more)) {
      gradient_of_[value] = more;
      continue;
    }
    const Value& meaning = network_.values[value];
    const TensorId sum = add_tensor({.name = "d" + meaning.name,
                                     .kind = TensorKind::activation_gradient,
                                     .type = stored_type(value)});
    task({.kernel = "BinaryAdd",
          .kind = TaskKind::backward,
          .operands = {operand(gradient_of_[value], Access::read, meaning.type),
                       operand(more, Access::read, meaning.type), operand(sum, Access::write, meaning.type)},
          .in_place = {{0, 2}, {1, 2}},
          .flops = flops_per_element(meaning.type, 1)});
    gradient_of_[value] = sum;
  }
}

void TaskBuilder::seed_gradient(ValueId value, TensorId gradient) { gradient_of_[value] = gradient; }

void TaskBuilder::settle_element_types() {
  for (Task& task : graph_.tasks)
    for (Operand& operand : task.operands)
      if (operand.tensor.valid()) operand.type.type = graph_.tensors[operand.tensor].type.type;
  // In place, element i is written where element i is read: not if the elements differ in size.
  const auto differ = [&](const Task::InPlace& pair) {
    return bytes_of(graph_.tensors[pair.read].type.type) != bytes_of(graph_.tensors[pair.written].type.type);
  };
  for (Task& task : graph_.tasks) std::erase_if(task.in_place, differ);
}

TensorId TaskBuilder::add_tensor(Tensor tensor) {
  tensor_names_.add(static_cast<int32_t>(graph_.tensors.size()), tensor.name);
  return graph_.tensors.push_back(std::move(tensor));
}

void TaskBuilder::settle_names() {
  for (auto& [id, name] : tensor_names_.take_changes()) graph_.tensors[TensorId(id)].name = std::move(name);
  for (auto& [id, name] : task_names_.take_changes()) graph_.tasks[TaskId(id)].name = std::move(name);
}

const std::string& TaskBuilder::unique_name_of(TensorId tensor) {
  settle_names();
  return graph_.tensors[tensor].name;
}

Affine flops_per_element(const TensorType& type, int64_t flops) {
  const Affine elements = type.elements();
  return {elements.fixed * flops, elements.per_sample * flops};
}

}  // namespace plimsoll
