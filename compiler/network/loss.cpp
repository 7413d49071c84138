#include "compiler/network/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "compiler/network/class_axis.h"
#include "compiler/network/edit.h"
#include "compiler/network/loss_options.h"
#include "compiler/network/output_form.h"
#include "compiler/network/output_loss.h"
#include "compiler/network/own_loss.h"
#include "compiler/network/prune.h"
#include "compiler/ops/op.h"
#include "runtime/attrs/mixed_label.h"

namespace plimsoll {
namespace {

// The one output that is a loss, if training it covers everything that the other outputs depend on.
std::optional<ValueId> loss_of_all(const Network& network) {
  std::optional<ValueId> loss;
  for (const ValueId output : network.outputs) {
    if (!own_loss(network, output)) continue;
    if (loss) return std::nullopt;
    loss = output;
  }
  if (!loss) return std::nullopt;
  const auto needed = made_of(network, *loss);
  const bool all = std::all_of(network.outputs.begin(), network.outputs.end(),
                               [&](ValueId output) { return covers(network, needed, output); });
  return all ? loss : std::nullopt;
}

// "'logits' f32[N,10], 'aux' f32[N,10]"
std::string outputs_in_words(const Network& network) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, network.outputs.size()); ++i) {
    const Value& value = network.values[network.outputs[i]];
    text += fmt::format("{}'{}' {}", i ? ", " : "", value.name, to_string(value.type));
  }
  return text + (network.outputs.size() > kShown ? ", …" : "");
}

// The value with its dimensions permuted.
Result<ValueId> turned(Network& network, ValueId value, const char* why, const std::vector<int64_t>& order) {
  Node node{.name = unused_name(network, fmt::format("{}/{}", network.values[value].name, why)),
            .op = "Transpose",
            .opset = 13,
            .inputs = {value}};
  node.attributes["perm"] = order;
  node.outputs.push_back(add_value(network, node.name, ValueKind::intermediate, network.values[value].type));
  network.nodes.push_back(std::move(node));
  PLIMSOLL_ASSIGN(const auto inferred, find_op("Transpose")->infer(NodeView(network, network.nodes.back())));
  const ValueId result = network.nodes.back().outputs[0];
  network.values[result].type = inferred[0];
  return result;
}

// 0, 1, 2, … with the dimension `from` moved to `to`.
std::vector<int64_t> order_with(size_t rank, size_t from, size_t to) {
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + static_cast<int64_t>(from));
  order.insert(order.begin() + static_cast<int64_t>(to), static_cast<int64_t>(from));
  return order;
}

// Targets are read from files, where samples come first. If an output does not have its samples first (steps first), it
// is transposed before the loss. A mean over all elements is the same either way.
Result<ValueId> samples_first(Network& network, ValueId output, std::vector<std::string>& notes) {
  const Dims dims = network.values[output].type.dims;
  const auto samples = std::find_if(dims.begin(), dims.end(), [](const Dim& dim) { return dim.batch; });
  if (samples == dims.begin() || samples == dims.end()) return output;
  const auto order = order_with(dims.size(), static_cast<size_t>(samples - dims.begin()), 0);
  PLIMSOLL_ASSIGN(const ValueId result, turned(network, output, "samples_first", order));
  notes.push_back(fmt::format("output '{}' is {}; targets are read with the batch first: {}",
                              network.values[output].name, to_string(dims),
                              to_string(network.values[result].type.dims)));
  return result;
}

// What is trained, in one line.
std::string in_words(const Value& output, const LossRequest& request, std::optional<int64_t> classes) {
  const char* const name = request.kind == LossKind::mse                    ? "mse"
                           : request.kind == LossKind::binary_cross_entropy ? "bce-logits"
                                                                            : "softmax-cross-entropy";
  return fmt::format("loss: {} over output '{}' {}{}{}", name, output.name, to_string(output.type.dims),
                     classes ? fmt::format(", {} classes", *classes) : "",
                     request.by_default ? " (default; for a regression: --loss mse)" : "");
}

// A loss on scores of an output that is not scores, as far as the network shows.
std::string of_probabilities(const Network& network, ValueId output, bool classes) {
  if (!are_probabilities(network, output)) return {};
  return fmt::format("output '{}' consists of probabilities: {}", network.values[output].name,
                     classes ? "softmax-cross-entropy applies a softmax to them, as to scores. If each is an "
                               "independent yes or no: --loss bce-logits"
                             : "bce-logits applies a sigmoid to them, as to logits. If they are those of classes, of "
                               "which one is true: --loss softmax-cross-entropy");
}

}  // namespace

Status choose_output(Network& network, const std::string& name, std::vector<std::string>& notes) {
  if (network.outputs.empty()) return Error{ExitCode::invalid_model, "the model has no output"};
  std::vector<ValueId>& outputs = network.outputs;
  std::optional<ValueId> chosen;
  if (!name.empty()) {
    const auto named =
        std::find_if(outputs.begin(), outputs.end(), [&](ValueId id) { return network.values[id].name == name; });
    if (named == outputs.end())
      return Error{ExitCode::usage, fmt::format("the model has no output '{}' (--output); outputs: {}", name,
                                                outputs_in_words(network))};
    chosen = *named;
  } else if (std::all_of(outputs.begin(), outputs.end(), [&](ValueId id) { return id == outputs[0]; })) {
    chosen = outputs[0];
  } else {
    chosen = loss_of_all(network);
  }
  if (!chosen) {
    // The first may be the numbers of the classes, which have no gradient, or a loss.
    const std::vector<ValueId> scalars = scalar_outputs(network);
    const bool has_loss = scalars.size() == 1;
    const auto scores = std::find_if(outputs.begin(), outputs.end(), [&](ValueId id) {
      return network.values[id].type.type == DataType::f32 && !(has_loss && id == scalars[0]);
    });
    Error error{
        ExitCode::invalid_model,
        fmt::format("the model has {} outputs: {}; choose the one that the loss reads, for example --output '{}'",
                    outputs.size(), outputs_in_words(network),
                    network.values[scores == outputs.end() ? outputs[0] : *scores].name),
        {"layers that feed only the other outputs are then not trained"}};
    if (has_loss)
      error.notes.push_back(
          fmt::format("--loss output: if '{}' is the loss, which the model computes", network.values[scalars[0]].name));
    return error;
  }
  for (const ValueId id : outputs)
    if (id != *chosen)
      notes.push_back(fmt::format("output '{}' is ignored: the loss reads output '{}'", network.values[id].name,
                                  network.values[*chosen].name));
  outputs = {*chosen};
  const auto needed = made_of(network, *chosen);
  for (const ValueId id : ids_of(network.values))
    if (!needed[id]) network.values[id].trainable = false;
  return {};
}

Status attach_loss(Network& network, const LossRequest& request, std::vector<std::string>& notes, StatedLoss* stated) {
  const LossKind kind = request.kind;
  const bool is_output = kind == LossKind::output;
  std::string named = request.output;
  if (is_output) {
    PLIMSOLL_ASSIGN(named, find_output_loss(network, request.output));
  }
  PLIMSOLL_TRY(choose_output(network, named, notes));
  ValueId output = network.outputs[0];
  const bool classes = kind == LossKind::softmax_cross_entropy, binary = kind == LossKind::binary_cross_entropy;
  const auto own = own_loss(network, output);
  std::optional<std::string> own_in_words;
  if (own) own_in_words = NodeView(network, network.nodes[*own]).describe();
  PLIMSOLL_TRY(check_loss_options(request, own_in_words));
  const auto state = [stated](std::string line, bool is_default = false) {
    if (stated) *stated = {std::move(line), is_default};
  };
  if (is_output && !own) {
    state(fmt::format("loss: output '{}' of the model", network.values[output].name));
    end_in_output(network);
    return {};
  }
  if (own) {
    state(fmt::format("loss: the model's own, {}", *own_in_words));
    keep_own_loss(network, *own, notes);
    return {};
  }
  if (kind == LossKind::none)
    return Error{ExitCode::usage,
                 "the model has no loss; choose one, for example --loss softmax-cross-entropy, or --loss output if an "
                 "output is the loss"};
  if (const TensorType& type = network.values[output].type; type.type != DataType::f32)
    return Error{ExitCode::invalid_model, fmt::format("output '{}' is {}: a loss needs an f32 output",
                                                      network.values[output].name, to_string(type))};

  size_t axis = 0;
  bool tokens = false, weighed = false;
  if (classes) {
    PLIMSOLL_ASSIGN(axis, class_axis_of(network, output, request.class_axis));
  } else if (binary) {
    PLIMSOLL_ASSIGN(const auto of_weights, axis_of_weights(network, output, request));
    weighed = of_weights.has_value();
    axis = of_weights.value_or(0);
  }
  const int64_t class_count = classes || weighed ? network.values[output].type.dims[axis].value : 1;
  state(in_words(network.values[output], request, classes ? std::optional(class_count) : std::nullopt),
        request.by_default);
  const Activation included = classes ? Activation::softmax : binary ? Activation::sigmoid : Activation::none;
  const ValueId scores = without_activation(network, output, included, axis, notes);
  if (stated && scores == output && (classes || binary))
    stated->warning = of_probabilities(network, output, classes);
  output = scores;
  const size_t rank = network.values[output].type.rank();
  const Dims& whole = network.values[output].type.dims;
  const bool behind_samples = std::any_of(whole.begin(), whole.begin() + static_cast<int64_t>(axis),
                                          [](const Dim& dim) { return dim.batch; });
  PLIMSOLL_ASSIGN(output, with_axis_of_samples(network, output, notes));
  if (behind_samples) axis += network.values[output].type.rank() - rank;
  const Dims dims = network.values[output].type.dims;
  const auto samples = std::find_if(dims.begin(), dims.end(), [](const Dim& dim) { return dim.batch; });
  if (samples != dims.end() && axis < static_cast<size_t>(samples - dims.begin())) ++axis;
  PLIMSOLL_ASSIGN(output, samples_first(network, output, notes));
  if (classes) {
    tokens = axis > 1 && axis + 1 == dims.size();
    if (axis > 1 && !tokens) {
      PLIMSOLL_ASSIGN(output, turned(network, output, "classes_second", order_with(dims.size(), axis, 1)));
      axis = 1;
    }
  }
  const TensorType type = network.values[output].type;
  TensorType given = type;
  given.layout = Layout::plain;
  if (classes) {
    given.type = DataType::i32;
    given.dims = without_axis(given.dims, axis);
    const bool one_pixel = !tokens &&
        std::all_of(given.dims.begin() + 1, given.dims.end(), [](const Dim& dim) { return dim == Dim{1}; });
    if (one_pixel) given.dims.resize(1);
    if (request.mixed_labels) {
      if (given.dims.size() != 1)
        return Error{ExitCode::usage, fmt::format("--mixed-labels needs one label for each sample; the labels are {}",
                                                  to_string(given.dims))};
      given.dims.push_back({kNumbersOfMixedLabel});
    }
  }
  const ValueId labels = add_value(network, classes ? "labels" : "target", ValueKind::input, given);
  network.inputs.push_back(labels);
  Node node{.name = unused_name(network, "loss"),
            .op = request.mixed_labels ? "MixedCrossEntropyLoss"
                  : classes            ? "SoftmaxCrossEntropyLoss"
                  : binary             ? "BinaryCrossEntropyLoss"
                                       : "MseLoss",
            .opset = 13,
            .inputs = {output, labels}};
  if (weighed) node.attributes["axis"] = static_cast<int64_t>(axis);
  if (classes || binary) PLIMSOLL_TRY(weigh(network, node, request, class_count));
  if (tokens) {
    node.marks.classes_last = true;
    notes.push_back(fmt::format("per-token loss: logits {}, labels {}", to_string(type.dims), to_string(given.dims)));
  }
  const TensorType number{DataType::f32, {{1}}};
  node.outputs.push_back(add_value(network, "loss", ValueKind::intermediate, number));
  if (classes || binary) node.outputs.push_back(add_value(network, "correct", ValueKind::intermediate, number));
  network.outputs = node.outputs;
  network.nodes.push_back(std::move(node));
  const auto inferred = find_op(network.nodes.back().op)->infer(NodeView(network, network.nodes.back()));
  PLIMSOLL_TRY(inferred);
  prune_dead_nodes(network);
  return {};
}

}  // namespace plimsoll
