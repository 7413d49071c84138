// Nodes that become other nodes, or none: aliases, operators rewritten as others, paddings, masks, sequences.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/network/simplify/branches.h"
#include "compiler/network/simplify/fx_node.h"
#include "compiler/network/simplify/module_path.h"
#include "compiler/network/simplify/nan_guard.h"
#include "compiler/network/simplify/network_builder.h"
#include "compiler/network/simplify/node_checks.h"
#include "compiler/network/simplify/node_values.h"
#include "compiler/network/simplify/padding.h"
#include "compiler/network/simplify/rows.h"
#include "compiler/network/simplify/sample_counts.h"
#include "compiler/network/simplify/sample_order.h"
#include "compiler/network/simplify/sequences.h"
#include "compiler/network/simplify/spellings.h"

namespace plimsoll {
namespace {

// Elements of the constants that replace operators. A small file may ask for many large ones: the kernels of an STFT.
constexpr int64_t kMostWritten = 16 * kKnownLimit;

}  // namespace

// Adds the nodes that a node was rewritten to.
Status NetworkBuilder::add_written(const std::vector<ModelNode>& nodes) {
  for (const ModelNode& node : nodes)
    for (const std::string& output : node.outputs) uses_.readers[output].push_back(kWritten);
  for (const ModelNode& node : nodes) {
    if (is_blocked(node))
      give_up(node, false);
    else if (auto known = fold(node, opset_, known_inputs(network_, table_, node)))
      table_[table_.define(node.outputs[0])].known = std::move(known);
    else
      PLIMSOLL_TRY(place(node, *find_op(node.op)));
  }
  return {};
}

// A sum over samples that is divided by the batch of the exporter's example, as a number: whether the samples are meant
// or the number, the file does not say.
Status NetworkBuilder::check_divisor(const ModelNode& source) {
  if (!exported_batch_ || *exported_batch_ == options_.batch || *exported_batch_ < 2) return {};
  if (source.op != "Div" || source.inputs.size() != 2 || source.inputs[1].empty()) return {};
  const KnownValue* const divisor = table_.known(table_.find(source.inputs[1]));
  if (!divisor || !divisor->real() || divisor->elements() != 1) return {};
  if (divisor->number(0) != static_cast<double>(*exported_batch_)) return {};
  if (!divided_by_samples(model_, uses_, table_, source, 1)) return {};
  return Error{
      ExitCode::invalid_model,
      fmt::format("{}: divides a sum over samples by {}, and the model was exported for a batch of {}: the file "
                  "does not say whether the number of samples is meant",
                  describe(source), *exported_batch_, *exported_batch_),
      {fmt::format("if it is, export the model with a dynamic batch, or compile it with --batch {}", *exported_batch_),
       fmt::format("if {} is meant, export the model for another batch", *exported_batch_)}};
}

// False: neither the number of samples as a real number, nor a division by it.
Result<bool> NetworkBuilder::divide_by_samples(const ModelNode& source) {
  if (is_blocked(source)) return false;
  if (const auto count = counted_samples(table_, source)) {
    table_.define(source.outputs[0]);  // no node computes it; a division by it needs none
    sample_counts_[source.outputs[0]] = *count;
    return true;
  }
  PLIMSOLL_TRY(check_divisor(source));
  const auto read = std::find_if(source.inputs.begin(), source.inputs.end(),
                                 [&](const std::string& name) { return sample_counts_.contains(name); });
  if (read == source.inputs.end()) return false;
  if (source.op == "Div" && source.inputs.size() == 2 && read == source.inputs.begin() + 1) {
    if (const auto nodes = divided_by_samples(model_, uses_, table_, source, sample_counts_.at(*read))) {
      PLIMSOLL_TRY(add_written(*nodes));
      return true;
    }
  }
  unsupported_.add_message(fmt::format("{}: computes with the number of samples, '{}'; only a sum over samples can be "
                                       "divided by it", describe(source), *read));
  give_up(source, false);
  return true;
}

// False: the operator stays as it is.
Result<bool> NetworkBuilder::add_spelled(const ModelNode& given) {
  ModelNode source = given;
  if (is_blocked(source)) {
    if (find_op(source.op)) return false;
    give_up(source, false);
    return true;
  }
  PLIMSOLL_TRY(check_inputs(source, *find_onnx_op(source.op)));
  if (!find_op(source.op)) PLIMSOLL_TRY(write_in_front(fit_inputs(source, table_, inputs_, fitted_)));
  const auto index = [&](size_t i) { return table_.find(source.inputs[i]); };
  if (!table_.dims(index(0))) return false;
  if (written_elements_ > kMostWritten) {
    unsupported_.add_message(
        fmt::format("{}: the constants that replace operators before it have more than {} elements",
                    describe(source), kMostWritten));
    give_up(source, false);
    return true;
  }
  Result<std::vector<ModelNode>> nodes =
      spell_out({.node = source,
                 .opset = opset_,
                 .batch = options_.batch,
                 .exported_batch = exported_batch_,
                 .follow = [&] { return inputs_.meet(), inputs_.follow(); },
                 .dims = [&](size_t i) { return table_.dims(index(i)); },
                 .known =
                     [&](size_t i) {
                       // A constant input of an operator may be an initializer.
                       const Slot slot = slot_of(source.op, i);
                       if (slot == Slot::bound) return table_.known_number(index(i));
                       // Zeros that an optimizer has made an initializer of, which otherwise may be a learned state.
                       if (slot == Slot::state && is_called_with_zeros(source)) return table_.known_constant(index(i));
                       return is_constant(slot) ? table_.known_unless_parameter(index(i)) : table_.known(index(i));
                     },
                 .computed = [&](size_t i) { return !table_[index(i)].initializer && !table_[index(i)].known; },
                 .element =
                     [&](size_t i) {
                       const ElementType element = element_of(network_, table_[index(i)]);
                       if (element != ElementType::undefined) return element;
                       return is_boolean(model_, uses_, source.inputs[i]) ? ElementType::boolean : element;
                     },
                 .rows = [&](size_t i) { return rows_of(model_, uses_, table_, source.inputs[i]); },
                 .of_samples =
                     [&](size_t i) {
                       const auto found = sample_indices_.find(source.inputs[i]);
                       return found == sample_indices_.end() ? nullptr : &found->second;
                     },
                 .reads =
                     [&](size_t i) {
                       const auto found = uses_.readers.find(source.outputs[i]);
                       return found != uses_.readers.end() && !found->second.empty();
                     },
                 .taken = [&](const std::string& name) { return table_.has(name) || uses_.maker.contains(name); },
                 .fuse_recurrence =
                     [&] {
                       const bool fused = options_.recurrence == Recurrence::fused;
                       network_.forms[std::string(kRecurrence)] = fused ? "fused" : "unrolled";
                       return fused;
                     }});
  if (!nodes.ok()) {
    if (nodes.error().code != ExitCode::unsupported) return nodes.error();
    unsupported_.add_message(nodes.error().message);
    give_up(source, false);
    return true;
  }
  for (const ModelNode& node : *nodes)
    for (const ModelAttribute& attribute : node.attributes)
      if (const auto* tensor = std::get_if<ModelTensor>(&attribute.value))
        written_elements_ += elements_of(*tensor).value_or(0);
  PLIMSOLL_TRY(add_written(*nodes));
  if (nodes->empty()) return false;
  // Outputs that the rewriting does not produce have no data, such as the running statistics of a BatchNormalization.
  for (const std::string& output : source.outputs) {
    const auto makes = [&](const ModelNode& node) {
      return std::find(node.outputs.begin(), node.outputs.end(), output) != node.outputs.end();
    };
    if (!output.empty() && std::none_of(nodes->begin(), nodes->end(), makes)) table_.define(output);
  }
  return true;
}

// Replaces values written for the samples of an example by values per sample.
bool NetworkBuilder::know_of_samples(const ModelNode& source) {
  if ((source.op != "Expand" && source.op != "Max") || is_blocked(source)) return false;
  auto known = expanded_to_samples(table_, source, exported_batch_);
  if (!known) known = larger_shape(table_, source, exported_batch_);
  if (known) table_[table_.define(source.outputs[0])].known = std::move(known);
  return known.has_value();
}

// The pieces of a known list of numbers, as tf2onnx splits pads to put them in the order of other axes.
bool NetworkBuilder::know_pieces(const ModelNode& source) {
  if (source.op != "Split" || !is_of_onnx(source) || is_blocked(source)) return false;
  const auto inputs = known_inputs(network_, table_, source);
  const KnownCall call{source, opset_, inputs};
  const KnownValue* list = call.known(0);
  if (!list || list->real() || list->dims.size() != 1 || list->dims[0].batch || !list->steps.empty() ||
      !list->probes.empty())
    return false;
  const auto given = call.list("split", 1);
  const int64_t count = list->dims[0].value, parts = static_cast<int64_t>(source.outputs.size());
  std::vector<int64_t> lengths = given.value_or(std::vector<int64_t>{});
  if (!given || (lengths.empty() && count % parts != 0)) return false;
  if (lengths.empty()) lengths.assign(static_cast<size_t>(parts), count / parts);
  int64_t left = count;
  for (const int64_t length : lengths) {
    if (length < 1 || length > left) return false;
    left -= length;
  }
  if (left != 0 || lengths.size() != source.outputs.size()) return false;
  size_t begin = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    KnownValue piece{.element = list->element, .dims = {{lengths[i]}}};
    if (list->splat()) piece.ints = list->ints;
    else for (int64_t k = 0; k < lengths[i]; ++k) piece.ints.push_back(list->integer(begin++));
    if (!source.outputs[i].empty()) table_[table_.define(source.outputs[i])].known = std::move(piece);
  }
  return true;
}

// The result of a node whose inputs are known.
bool NetworkBuilder::know(const ModelNode& source) {
  auto known = fold(source, opset_, known_inputs(network_, table_, source));
  if (!known) return false;
  if (auto of_samples = constant_of_samples(source, table_, *known, exported_batch_)) {
    inputs_.meet();
    if (inputs_.follows_constants()) {
      known = std::move(of_samples);
      ++fitted_.followed;
    }
  }
  table_[table_.define(source.outputs[0])].known = std::move(known);
  return true;
}

// The branch is taken before the network is built (branches.h).
bool NetworkBuilder::know_condition(const ModelNode& source, int index) {
  if (!finds_conditions_ || !is_branching(source) || source.inputs.size() != 1 || is_blocked(source)) return false;
  const KnownValue* const known = table_.known(table_.find(source.inputs[0]));
  if (!known || known->real() || known->elements() != 1 || known->depends_on_batch()) return false;
  conditions_[index] = known->integer(0).value != 0;
  give_up(source, false);
  return true;
}

// Samples that the model puts in another order, and back.
bool NetworkBuilder::leave_in_order(const ModelNode& source) {
  auto left = is_blocked(source) ? std::nullopt : in_order(model_, uses_, table_, source, exported_batch_);
  if (!left) return false;
  table_.alias(source.outputs[0], table_.find(source.inputs[left->input]));
  if (left->order) table_[table_.define(source.outputs[1])].known = std::move(left->order);
  return true;
}

// Indices that begin with the sample number: no node computes them, because their readers do not need it.
bool NetworkBuilder::leave_to_readers(const ModelNode& source) {
  if (is_blocked(source)) return false;
  const std::string like = input_of_that_shape(model_, uses_, table_, source, exported_batch_);
  if (!like.empty()) {
    table_.alias(source.outputs[0], table_.find(like));
    return true;
  }
  auto indices = sample_indices(model_, uses_, table_, source, exported_batch_);
  if (!indices) return false;
  if (source.op == "Add")
    table_.alias(source.outputs[0], table_.find(indices->parts[0]));  // whose shape may be read
  else
    table_.define(source.outputs[0]);
  sample_indices_[source.outputs[0]] = std::move(*indices);
  return true;
}

// Removes Where(IsNaN(x), 0, x) together with its IsNaN. If it inserts another value, both become nodes.
Result<bool> NetworkBuilder::leave_out_guard(const ModelNode& source) {
  if (only_guards(model_, uses_, source)) {
    guards_[source.outputs[0]] = &source;
    return true;
  }
  if (!is_of_onnx(source) || source.inputs.empty()) return false;
  const auto guard = guards_.find(source.inputs[0]);
  if (guard == guards_.end()) return false;
  if (puts_zero(table_, source)) {
    table_.alias(source.outputs[0], table_.find(source.inputs[2]));
    ++guards_left_out_;
    return true;
  }
  const ModelNode* const test = std::exchange(guard->second, nullptr);
  if (test) PLIMSOLL_TRY(add_spelled(*test));
  return false;
}

// An empty Pad is removed; one that its readers can absorb is left to them.
bool NetworkBuilder::absorb_pad(const ModelNode& source) {
  if (source.inputs.empty() || source.inputs[0].empty() || absorbed_.contains(source.inputs[0])) return false;
  std::vector<const KnownValue*> known;
  for (const std::string& input : source.inputs)
    known.push_back(input.empty() ? nullptr : table_.known_constant(table_.find(input)));
  const auto zeros = spatial_zeros(source, known);
  if (!zeros) return false;
  if (std::any_of(zeros->begin(), zeros->end(), [](int64_t n) { return n != 0; })) {
    if (!readers_can_absorb(model_, uses_, source.outputs[0], *zeros)) return false;
    absorbed_[source.outputs[0]] = *zeros;
  }
  table_.alias(source.outputs[0], table_.find(source.inputs[0]));
  return true;
}

// One node for the steps in which exporters draw a mask.
Status NetworkBuilder::add_mask(const ModelNode& source, const RandomMask& mask) {
  const ValueTable::Index like = table_.find(mask.like);
  const ValueTable::Index probability = table_.find(mask.probabilities());
  if (table_[like].unsupported || table_[probability].unsupported) return give_up(source, false), Status{};
  const auto drawn = drawn_mask(source, table_.dims(like), table_.known(probability), inputs_, masks_followed_);
  if (drawn) return infer(*drawn, op_Bernoulli);
  // An initializer may be a single number whose role the file does not tell.
  if (table_.dims(like) && !table_[probability].initializer) return add_steps_of(source, mask);
  unsupported_.add_message(
      fmt::format("{}: draws a random mask whose probability is not a single number known at compile time",
                  describe_in_module(source)));
  return give_up(source, false), Status{};
}

// Draws random numbers and compares them with the probabilities, which the network computes.
Status NetworkBuilder::add_steps_of(const ModelNode& source, const RandomMask& mask) {
  const auto added = [&](const ModelNode& node) {
    uses_.readers[node.outputs[0]].push_back(kWritten);
    return add_node(node);
  };
  const RandomMask steps = mask;  // which is erased here
  for (const ModelNode* step : steps.steps) masks_.steps.erase(step->outputs[0]);
  masks_.by_output.erase(source.outputs[0]);
  for (const ModelNode* step : steps.steps) PLIMSOLL_TRY(add_node(*step));
  if (source.op != "Bernoulli") return add_node(source);
  const auto part = [&](const char* op, std::vector<std::string> inputs) {
    return ModelNode{.op = op,
                     .name = (source.name.empty() ? source.outputs[0] : source.name) + "/" + op,
                     .inputs = std::move(inputs),
                     .outputs = {source.outputs[0] + "/" + op},
                     .metadata = source.metadata};
  };
  const ModelNode random = part("RandomUniformLike", {steps.like});
  const ModelNode compare = part("Less", {random.outputs[0], steps.like});
  ModelNode cast = part("Cast", {compare.outputs[0]});
  cast.outputs = source.outputs;
  cast.attributes = {{.name = "to", .value = static_cast<int64_t>(ElementType::f32)}};
  PLIMSOLL_TRY(added(random));
  PLIMSOLL_TRY(added(compare));
  return add_node(cast);
}

// A sequence is not a value of the network; its tensors are.
Status NetworkBuilder::add_sequence(const ModelNode& source) {
  const ValueTable::Index sequence = table_.define(source.outputs[0]);
  table_[sequence].unsupported = true;  // the sequence itself
  const ValueTable::Index whole = table_.find(source.inputs[0]);
  const Dims* x = table_.dims(whole);
  std::vector<std::string>& items = sequences_[sequence];
  if (!x || table_[whole].unsupported) return {};
  const bool given = source.inputs.size() > 1 && !source.inputs[1].empty();
  Result<SpelledSequence> spelled =
      spell_out(source, *x, given ? table_.known_constant(table_.find(source.inputs[1])) : nullptr);
  if (!spelled.ok()) {
    if (spelled.error().code != ExitCode::unsupported) return spelled.error();
    unsupported_.add_message(spelled.error().message);
    return {};
  }
  items = spelled->items;
  for (const ModelNode& node : spelled->nodes)
    for (const std::string& output : node.outputs) uses_.readers[output].push_back(kWritten);
  for (const ModelNode& node : spelled->nodes) PLIMSOLL_TRY(add_operator(node));
  return {};
}

// False: not from a known sequence, or at an unknown position.
bool NetworkBuilder::take_from_sequence(const ModelNode& source) {
  if (source.inputs.size() != 2) return false;
  const auto sequence = sequences_.find(table_.find(source.inputs[0]));
  if (sequence == sequences_.end()) return false;
  if (sequence->second.empty()) return give_up(source, false), true;
  const KnownValue* at = table_.known(table_.find(source.inputs[1]));
  if (!at || at->real() || at->elements() != 1 || at->integer(0).batch) return false;
  const int64_t count = static_cast<int64_t>(sequence->second.size()), given = at->integer(0).value,
                index = given < 0 ? given + count : given;
  if (index < 0 || index >= count) return false;
  table_.alias(source.outputs[0], table_.find(sequence->second[static_cast<size_t>(index)]));
  return true;
}

}  // namespace plimsoll
