#include "compiler/network/simplify/builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/network/row_order.h"
#include "compiler/network/simplify/batch.h"
#include "compiler/network/simplify/branches.h"
#include "compiler/network/simplify/differentiable.h"
#include "compiler/network/simplify/empty.h"
#include "compiler/network/simplify/fx_node.h"
#include "compiler/network/simplify/graph_edit.h"
#include "compiler/network/simplify/module_path.h"
#include "compiler/network/simplify/network_builder.h"
#include "compiler/network/simplify/node_checks.h"
#include "compiler/network/simplify/node_values.h"
#include "compiler/network/simplify/operator_advice.h"
#include "compiler/network/simplify/padding.h"
#include "compiler/network/simplify/spellings.h"
#include "compiler/network/simplify/weight_roles.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// What to do about a node that is not supported, or empty.
std::string advice_on(const Model& model, const ModelNode& node) {
  if (is_branching(node)) return open_condition(model, node);
  const std::string_view advice = advice_on_operator(node);
  return advice.empty() ? node.refusal : std::string(advice);
}

ConstantData constant_of(const ModelTensor& tensor) {
  ConstantData data;
  if (const auto known = known_value_of(tensor)) {
    data.reals = known->reals;
    for (const Dim item : known->ints) data.ints.push_back(item.value);
  }
  return data;
}

// Lists of strings (the activations of an LSTM) are joined by commas; no supported operator has graphs or types.
struct AsNodeAttribute {
  std::optional<NodeAttribute> operator()(std::monostate) const { return std::nullopt; }
  std::optional<NodeAttribute> operator()(int64_t item) const { return item; }
  std::optional<NodeAttribute> operator()(float item) const { return static_cast<double>(item); }
  std::optional<NodeAttribute> operator()(const std::string& item) const { return item; }
  std::optional<NodeAttribute> operator()(const std::vector<int64_t>& items) const { return items; }
  std::optional<NodeAttribute> operator()(const std::vector<float>& items) const {
    return std::vector<double>(items.begin(), items.end());
  }
  std::optional<NodeAttribute> operator()(const ModelTensor& tensor) const { return constant_of(tensor); }
  std::optional<NodeAttribute> operator()(const std::vector<std::string>& items) const {
    return fmt::format("{}", fmt::join(items, ","));
  }
};

std::map<std::string, NodeAttribute> attributes_of(const ModelNode& node) {
  std::map<std::string, NodeAttribute> attributes;
  for (const ModelAttribute& from : node.attributes)
    if (auto to = std::visit(AsNodeAttribute{}, from.value)) attributes[from.name] = std::move(*to);
  return attributes;
}

// Elements of the constants that a model computes from shapes and from each other.
constexpr int64_t kMostKnown = 16 * kKnownLimit;

}  // namespace

Result<Network> NetworkBuilder::build(const GraphOrder& order) {
  network_.name = model_.name;
  network_.modes_are_stated = model_.author && model_.author->modes_are_stated;
  uses_ = find_uses(model_, order);
  std::unordered_set<std::string> outputs;
  for (const auto& output : model_.outputs) outputs.insert(output.name);
  masks_ = find_random_masks(model_.nodes, outputs);
  table_.set_constants(probabilities_of(model_, uses_, masks_));
  table_.set_unmarked_numbers_may_be_learned(model_.producer == "pytorch" && !model_.author &&
                                             exporter_marks(model_).empty());
  table_.set_unmarked_numbers_are_constants(names_variables_of_tensorflow(model_));
  PLIMSOLL_TRY(add_inputs());
  for (const ModelTensor& tensor : model_.initializers) table_[table_.define(tensor.name)].initializer = &tensor;
  Status first_error = {};
  for (const int node : order.nodes) {
    const ModelNode& source = model_.nodes[node];
    if (!know_condition(source, node)) {
      if (Status added = add_node(source); !added.ok()) {
        if (!finds_conditions_ || !fixes_batch_) return added.error();
        // Invalid for this number of samples. Conditions that do not depend on this node may still be known.
        if (first_error.ok()) first_error = std::move(added);
        give_up(source, false);
      }
    }
    PLIMSOLL_TRY(limit_known(source));
  }
  PLIMSOLL_TRY(first_error);
  PLIMSOLL_TRY(unsupported_.status(opset_));
  PLIMSOLL_TRY(add_outputs());
  say_what_was_rewritten();
  materialise();
  if (const auto orders = find_row_orders(network_, network_.outputs); !orders.ok()) return orders.error();
  return std::move(network_);
}

// A small file may compute many large constants.
Status NetworkBuilder::limit_known(const ModelNode& source) {
  for (const std::string& output : source.outputs) {
    const ValueTable::Index index = table_.has(output) ? table_.find(output) : 0;
    if (index < counted_ || !table_[index].known) continue;
    known_elements_ += static_cast<int64_t>(table_[index].known->ints.size() + table_[index].known->reals.size());
  }
  counted_ = table_.size();
  if (known_elements_ <= kMostKnown) return {};
  return Error{ExitCode::unsupported,
               fmt::format("{}: the constants that the model computes up to here have more than {} elements",
                           describe(source), kMostKnown)};
}

Status NetworkBuilder::add_inputs() {
  PLIMSOLL_ASSIGN(ModelInputs inputs, find_inputs(model_, options_));
  exported_batch_ = inputs.exported_batch;
  inputs_.set_exported_batch(exported_batch_);
  for (const ModelInput& input : inputs.inputs) {
    const ValueId id = table_.add({.name = input.name, .kind = ValueKind::input, .type = input.type});
    table_[table_.define(input.name)].data = id;
    network_.inputs.push_back(id);
    if (fixes_batch_ && input.type.depends_on_batch()) PLIMSOLL_TRY(fix_batch(input.name));
  }
  return {};
}

// From here on, nodes that read the input see a constant number of samples.
Status NetworkBuilder::fix_batch(const std::string& name) {
  const ModelNode whole{.op = "WholeBatch",
                        .name = name + "/whole_batch",
                        .inputs = {name},
                        .outputs = {name},
                        .attributes = {{.name = "samples", .value = options_.batch}}};
  return infer(whole, *find_op("WholeBatch"));
}

Status NetworkBuilder::add_outputs() {
  for (const auto& output : model_.outputs) {
    PLIMSOLL_ASSIGN(const ValueId id, table_.as_data(table_.find(output.name), Slot::data));
    // If there are several outputs, one is selected by its name, which an alias has lost.
    Value& value = network_.values[id];
    const bool fresh = std::find(network_.outputs.begin(), network_.outputs.end(), id) == network_.outputs.end();
    const bool named = model_.outputs.size() > 1 || !options_.output.empty();
    if (named && fresh && value.kind == ValueKind::intermediate) value.name = output.name;
    network_.outputs.push_back(id);
  }
  return {};
}

Status NetworkBuilder::add_node(const ModelNode& source) {
  if (source.outputs.empty()) return {};
  PLIMSOLL_TRY(check_outputs(source));
  if (const auto mask = masks_.by_output.find(source.outputs[0]); mask != masks_.by_output.end())
    return add_mask(source, mask->second);
  if (masks_.steps.contains(source.outputs[0])) return {};
  PLIMSOLL_ASSIGN(const bool guards, leave_out_guard(source));
  if (guards) return {};
  if (is_alias(model_, uses_, network_, table_, source)) {
    table_.alias(source.outputs[0], table_.find(source.inputs[0]));
    return {};
  }
  if (is_of_onnx(source)) {
    if (know_of_samples(source) || know_pieces(source) || know(source)) return {};
    if (leave_in_order(source)) return {};
    if (leave_to_readers(source)) return {};
    PLIMSOLL_ASSIGN(const bool divided, divide_by_samples(source));
    if (divided) return {};
  }
  if (is_of_onnx(source)) {
    if (auto empty = is_blocked(source) ? std::nullopt : empty_output(network_, table_, source, opset_)) {
      table_[table_.define(source.outputs[0])].known = std::move(empty);
      return {};
    }
    if (const auto less = without_empty_parts(table_, source)) {
      if (less->inputs.size() > 1) return add_operator(*less);
      table_.alias(source.outputs[0], table_.find(less->inputs[0]));
      return {};
    }
  }
  if (source.op == "SplitToSequence" && is_of_onnx(source)) return add_sequence(source);
  if (source.op == "SequenceAt" && is_of_onnx(source) && take_from_sequence(source)) return {};
  if (source.op == "Pad" && is_of_onnx(source) && absorb_pad(source)) return {};
  if (has_spelling(source.op) && is_of_onnx(source)) {
    PLIMSOLL_ASSIGN(const bool spelled, add_spelled(source));
    if (spelled) return {};
  }
  return add_operator(source);
}

// A node that is not rewritten. Unsupported features are collected and reported together; an invalid model fails here.
Status NetworkBuilder::add_operator(const ModelNode& source) {
  const Op* op = is_of_onnx(source) ? find_op(source.op) : nullptr;
  const bool in_opset = op && (source.newest || (opset_ >= op->first_opset && opset_ <= op->last_opset));
  const bool known = in_opset && op->of_onnx();
  const bool blocked = is_blocked(source);
  // After an unsupported node there are no types, but operator names are still checked, except for operators that might
  // be folded: with known types they might not be nodes at all.
  const bool of_shapes = blocked && computes_shapes(source);
  if (source.op == "Constant" && is_of_onnx(source))
    unsupported_.add_message(
        fmt::format("{}: its value is of an unsupported kind, such as a sparse tensor or a string", describe(source)));
  else if (!known && !(blocked && is_of_onnx(source) && can_fold(source.op)))
    unsupported_.add_operator(source, op, unsupported_.takes_advice() ? advice_on(model_, source) : "");
  if (!known || blocked) {
    give_up(source, of_shapes);
    return {};
  }
  PLIMSOLL_TRY(check_inputs(source, *op));
  if (op->addend >= 0 && source.inputs.size() > static_cast<size_t>(op->addend))
    return Error{ExitCode::invalid_model,
                 fmt::format("{}: has {}, expected {}", describe(source),
                             counted(static_cast<int64_t>(source.inputs.size()), "input"), op->addend)};
  return place(with_mode(source), *op);
}

// PyTorch's exporters write no node for a dropout that drops nothing. Those of F.scaled_dot_product_attention lack the
// training_mode, which ONNX reads as false.
ModelNode NetworkBuilder::with_mode(const ModelNode& source) {
  constexpr int64_t kFirstWithMode = 12;  // opset
  ModelNode stated = source;
  const bool lacks = stated.inputs.size() < 3 || stated.inputs[2].empty();
  if (source.op != "Dropout" || model_.producer != "pytorch" || opset_ < kFirstWithMode || !lacks) return stated;
  stated.inputs.resize(3);
  stated.inputs[2] = source.outputs[0] + "/training_mode";
  table_[table_.define(stated.inputs[2])].known = KnownValue{.element = ElementType::boolean, .ints = {{1}}};
  return stated;
}

bool NetworkBuilder::is_blocked(const ModelNode& source) {
  return std::any_of(source.inputs.begin(), source.inputs.end(), [&](const std::string& name) {
    return !name.empty() && table_[table_.find(name)].unsupported;
  });
}

Status NetworkBuilder::place(const ModelNode& source, const Op& op) {
  if (Status status = infer(source, op); !status.ok()) {
    if (status.error().code != ExitCode::unsupported) return status;
    unsupported_.add_message(status.error().message);
    give_up(source, false);
  }
  return {};
}

bool NetworkBuilder::computes_shapes(const ModelNode& source) {
  if (!is_of_onnx(source) || !can_fold(source.op)) return false;
  if (const Op* op = find_onnx_op(source.op); op && op->reads_shapes) return true;
  return std::all_of(source.inputs.begin(), source.inputs.end(), [&](const std::string& name) {
    return name.empty() || table_[table_.find(name)].perhaps_known || table_.known(table_.find(name));
  });
}

void NetworkBuilder::give_up(const ModelNode& source, bool of_shapes) {
  for (const std::string& output : source.outputs) {
    if (output.empty()) continue;
    Entry& entry = table_[table_.define(output)];
    entry.unsupported = true;
    entry.perhaps_known = of_shapes;
  }
}

// Nodes that another node requires as input.
Status NetworkBuilder::write_in_front(const std::vector<ModelNode>& nodes) {
  for (const ModelNode& node : nodes) {
    uses_.readers[node.outputs[0]].push_back(kWritten);
    PLIMSOLL_TRY(infer(node, *find_op(node.op)));
  }
  return {};
}

// The call says it for each node; plimsoll.export for a table, which a node without padding may share.
std::optional<int64_t> NetworkBuilder::padding_of(const ModelNode& source) const {
  if (const CalledPadding called = padding_of_call(source); called.is_embedding) return called.row;
  if (!model_.author || slot_of(source.op, 1) != Slot::indices || source.inputs.empty()) return std::nullopt;
  const auto row = model_.author->padding.find(source.inputs[0]);
  return row != model_.author->padding.end() ? std::optional(row->second) : std::nullopt;
}

Status NetworkBuilder::infer(const ModelNode& given, const Op& op) {
  ModelNode source = given;
  PLIMSOLL_TRY(write_in_front(fit_inputs(source, table_, inputs_, fitted_)));
  PLIMSOLL_TRY(write_in_front(stretch_constants(source, table_)));
  Node node{.name = unique_name(source),
            .op = source.op,
            .opset = static_cast<int>(opset_),
            .attributes = attributes_of(source),
            .module_path = module_path_of(source)};
  if (op.marks.padding_index) node.marks.padding_index = padding_of(given);
  node.marks.detached = is_detached(given, model_);
  if (op.marks.label_smoothing > 0) node.marks.label_smoothing = smoothing_of_call(given);
  if (const auto zeros = !source.inputs.empty() ? absorbed_.find(source.inputs[0]) : absorbed_.end();
      zeros != absorbed_.end())
    absorb(zeros->second, node);
  for (size_t i = 0; i < source.inputs.size(); ++i) {
    Result<ValueId> input = inputs_.add(source, i);
    if (!input.ok()) {
      Error error = input.error();
      error.message = fmt::format("{}: {}", NodeView(network_, node).describe(), error.message);
      return error;
    }
    node.inputs.push_back(*input);
  }
  while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
  // Unread outputs do not exist: the running statistics of a BatchNormalization, the mask of a Dropout. The outputs of
  // a Split do: their positions determine their lengths.
  for (size_t i = 0; i < source.outputs.size(); ++i)
    node.outputs.push_back(i == 0 || uses_.readers.contains(source.outputs[i]) || op.most_outputs == kAnyNumber
                               ? table_.add({.name = source.outputs[i].empty() ? node.name + ":0" : source.outputs[i]})
                               : ValueId());
  while (!node.outputs.back().valid()) node.outputs.pop_back();

  const NodeView view(network_, node);
  if (!op.unmade_output.empty() && node.outputs.size() > 1)
    return view.unsupported(fmt::format("output 1, {}, is read, but not supported", op.unmade_output));
  PLIMSOLL_ASSIGN(const std::vector<TensorType> types, op.infer(view));
  PLIMSOLL_TRY(check_inputs_are_real(view, op));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    if (i >= types.size()) return view.unsupported(fmt::format("output {} is read, but not supported", i));
    PLIMSOLL_TRY(check_type(view, types[i], options_.batch));
    network_.values[node.outputs[i]].type = types[i];
    if (!source.outputs[i].empty())
      table_[table_.define(source.outputs[i])].data = node.outputs[i];
  }
  for (size_t i = static_cast<int>(node.outputs.size()); i < source.outputs.size(); ++i)
    if (!source.outputs[i].empty()) table_.define(source.outputs[i]);
  network_.nodes.push_back(std::move(node));
  return {};
}

std::string NetworkBuilder::unique_name(const ModelNode& source) {
  const std::string base = !source.name.empty()         ? source.name
                           : !source.outputs[0].empty() ? source.outputs[0]
                                                        : source.op;
  std::string name = base;
  for (int& copy = node_names_[base]; copy++ > 0;) {
    name = fmt::format("{}:{}", base, copy);
    if (!node_names_.contains(name)) {
      node_names_[name] = 1;
      break;
    }
  }
  return name;
}

void NetworkBuilder::say_what_was_rewritten() {
  if (exported_batch_)
    notes_.push_back(
        fmt::format("the model was exported for a batch of {}; the first dimension of its inputs is taken as the batch",
                    *exported_batch_));
  if (inputs_.reshapes_rewritten() > 0)
    notes_.push_back(fmt::format("{} with a fixed batch of {} in the target: adapted to any batch",
                                 counted(inputs_.reshapes_rewritten(), "Reshape node"), *exported_batch_));
  if (const int followed = fitted_.followed + inputs_.expands_rewritten() + masks_followed_; followed > 0)
    notes_.push_back(
        fmt::format("{} with a fixed batch of {}: adapted to any batch", counted(followed, "node"), *exported_batch_));
  if (guards_left_out_ > 0) {
    const bool one = guards_left_out_ == 1;
    notes_.push_back(fmt::format("{} that only {} NaN {} removed; training stops at the first NaN and names its origin",
                                 counted(guards_left_out_, "Where node"), one ? "replaces" : "replace",
                                 one ? "is" : "are"));
  }
}

// The trainer reads frozen and filled weights from the model file like any other, so they become initializers.
void NetworkBuilder::materialise() {
  std::unordered_set<std::string> replaced;
  std::vector<ModelTensor> made;
  for (const ValueTable::Index index : table_.materialised()) {
    const Entry& entry = table_[index];
    replaced.insert(entry.name);
    made.push_back(to_tensor(*entry.known, entry.name));
  }
  for (ModelTensor& tensor : made) model_.initializers.push_back(std::move(tensor));
  remove_makers(model_, replaced);
}

}  // namespace plimsoll
