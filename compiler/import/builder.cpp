#include "compiler/import/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/batch.h"
#include "compiler/import/differentiable.h"
#include "compiler/import/graph_edit.h"
#include "compiler/import/load.h"
#include "compiler/import/module_path.h"
#include "compiler/import/network_builder.h"
#include "compiler/import/padding.h"
#include "compiler/import/slots.h"
#include "compiler/import/spellings.h"
#include "compiler/import/weight_roles.h"
#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

ConstantData constant_of(const onnx::TensorProto& tensor) {
  ConstantData data;
  if (const auto known = known_value_of(tensor)) {
    data.reals = known->reals;
    for (const Dim item : known->ints) data.ints.push_back(item.value);
  }
  return data;
}

// Lists of strings (the activations of an LSTM) are joined by commas; graphs and types are of no operator we have.
std::map<std::string, NodeAttribute> attributes_of(const onnx::NodeProto& node) {
  std::map<std::string, NodeAttribute> attributes;
  for (const onnx::AttributeProto& from : node.attribute()) {
    NodeAttribute& to = attributes[from.name()];
    switch (from.type()) {
      case onnx::AttributeProto::INT: to = int64_t{from.i()}; break;
      case onnx::AttributeProto::FLOAT: to = static_cast<double>(from.f()); break;
      case onnx::AttributeProto::STRING: to = from.s(); break;
      case onnx::AttributeProto::INTS: to = std::vector<int64_t>(from.ints().begin(), from.ints().end()); break;
      case onnx::AttributeProto::FLOATS: to = std::vector<double>(from.floats().begin(), from.floats().end()); break;
      case onnx::AttributeProto::TENSOR: to = constant_of(from.t()); break;
      case onnx::AttributeProto::STRINGS: {
        std::string joined;
        for (const std::string& item : from.strings()) joined += (joined.empty() ? "" : ",") + item;
        to = std::move(joined);
        break;
      }
      default: attributes.erase(from.name());
    }
  }
  return attributes;
}

// Nothing is computed there: what is made is what was read.
bool keeps_any_type(std::string_view op) {
  return op == "Reshape" || op == "Flatten" || op == "Squeeze" || op == "Unsqueeze" || op == "Identity" || op == "Transpose" ||
         op == "WholeBatch";
}

}  // namespace

Result<Network> NetworkBuilder::build(const GraphOrder& order) {
  network_.name = graph_.name();
  network_.modes_are_stated = file_.author && file_.author->modes_are_stated;
  find_readers(order);
  std::unordered_set<std::string> outputs;
  for (const auto& output : graph_.output()) outputs.insert(output.name());
  masks_ = find_random_masks(graph_.node(), outputs);
  table_.set_trained(reached_by_gradients(file_, order));
  table_.set_roles(find_weight_roles(file_, order));
  PLIMSOLL_TRY(add_inputs());
  for (const onnx::TensorProto& tensor : graph_.initializer()) table_[table_.define(tensor.name())].initializer = &tensor;
  for (const int node : order.nodes) PLIMSOLL_TRY(add_node(graph_.node(node)));
  PLIMSOLL_TRY(unsupported_.status(opset_));
  PLIMSOLL_TRY(add_outputs());
  say_what_was_rewritten();
  materialise();
  return std::move(network_);
}

void NetworkBuilder::find_readers(const GraphOrder& order) {
  for (const int node : order.nodes) {
    for (const std::string& input : graph_.node(node).input()) readers_[input].push_back(node);
    for (const std::string& output : graph_.node(node).output()) maker_[output] = node;
  }
  for (const auto& output : graph_.output()) readers_[output.name()].push_back(kModelOutput);
}

Status NetworkBuilder::add_inputs() {
  PLIMSOLL_ASSIGN(ModelInputs inputs, find_inputs(graph_, options_));
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

// For all nodes that read the input, the number of samples is then a constant.
Status NetworkBuilder::fix_batch(const std::string& name) {
  onnx::NodeProto whole;
  whole.set_op_type("WholeBatch");
  whole.set_name(name + "/whole_batch");
  whole.add_input(name);
  whole.add_output(name);
  onnx::AttributeProto& samples = *whole.add_attribute();
  samples.set_name("samples");
  samples.set_type(onnx::AttributeProto::INT);
  samples.set_i(options_.batch);
  return infer(whole, *find_op("WholeBatch"));
}

Status NetworkBuilder::add_outputs() {
  for (const auto& output : graph_.output()) {
    PLIMSOLL_ASSIGN(const ValueId id, table_.as_data(table_.find(output.name()), Slot::data));
    // Of several outputs one is chosen by its name, which an alias has lost.
    Value& value = network_.values[id];
    const bool fresh = std::find(network_.outputs.begin(), network_.outputs.end(), id) == network_.outputs.end();
    if (graph_.output_size() > 1 && fresh && value.kind == ValueKind::intermediate) value.name = output.name();
    network_.outputs.push_back(id);
  }
  return {};
}

Status NetworkBuilder::add_node(const onnx::NodeProto& proto) {
  if (proto.output_size() == 0) return {};
  PLIMSOLL_TRY(check_outputs(proto));
  if (const auto mask = masks_.by_output.find(proto.output(0)); mask != masks_.by_output.end()) return add_mask(proto, mask->second);
  if (masks_.steps.contains(proto.output(0))) return {};
  if (leave_out_guard(proto)) return {};
  if (is_alias(proto)) {
    table_.alias(proto.output(0), table_.find(proto.input(0)));
    return {};
  }
  if (is_onnx_domain(proto.domain())) {
    if (auto known = fold(proto, opset_, fold_inputs(proto))) {
      Entry& entry = table_[table_.define(proto.output(0))];
      entry.known = std::move(known);
      return {};
    }
  }
  if (is_onnx_domain(proto.domain())) {
    if (add_empty_slice(proto)) return {};
    if (const auto less = without_empty_parts(proto)) {
      if (less->input_size() > 1) return add_operator(*less);
      table_.alias(proto.output(0), table_.find(less->input(0)));
      return {};
    }
  }
  if (proto.op_type() == "SplitToSequence" && is_onnx_domain(proto.domain())) return add_sequence(proto);
  if (proto.op_type() == "SequenceAt" && is_onnx_domain(proto.domain()) && take_from_sequence(proto)) return {};
  if (proto.op_type() == "Pad" && is_onnx_domain(proto.domain()) && absorb_pad(proto)) return {};
  if (has_spelling(proto.op_type()) && is_onnx_domain(proto.domain())) {
    PLIMSOLL_ASSIGN(const bool spelled, add_spelled(proto));
    if (spelled) return {};
  }
  return add_operator(proto);
}

// A node that stays one. What is not supported is collected, to be told all at once; a model that is wrong ends here.
Status NetworkBuilder::add_operator(const onnx::NodeProto& proto) {
  const Op* op = is_onnx_domain(proto.domain()) ? find_op(proto.op_type()) : nullptr;
  const bool known = op && op->of_onnx() && opset_ >= op->first_opset && opset_ <= op->last_opset;
  const bool blocked = is_blocked(proto);
  // Behind what is not supported there are no types, but the names of operators are looked at all the same; not those
  // that may be folded, which perhaps would not be nodes if the types were there.
  const bool of_shapes = blocked && computes_shapes(proto);
  if (proto.op_type() == "Constant" && is_onnx_domain(proto.domain()))
    unsupported_.add_message(fmt::format("{}: has no value that is read; sparse tensors and texts are not", describe(proto)));
  else if (!known && !(blocked && is_onnx_domain(proto.domain()) && can_fold(proto.op_type())))
    unsupported_.add_operator(proto, op);
  if (!known || blocked) {
    give_up(proto, of_shapes);
    return {};
  }
  PLIMSOLL_TRY(check_inputs(proto));
  if (op->addend >= 0 && proto.input_size() > op->addend)
    return Error{ExitCode::invalid_model, fmt::format("{}: has {}, it takes {}", describe(proto), counted(proto.input_size(), "input"), op->addend)};
  return place(proto, *op);
}

bool NetworkBuilder::is_blocked(const onnx::NodeProto& proto) {
  return std::any_of(proto.input().begin(), proto.input().end(), [&](const std::string& name) {
    return !name.empty() && table_[table_.find(name)].unsupported;
  });
}

Status NetworkBuilder::check_outputs(const onnx::NodeProto& proto) const {
  const std::string& op = proto.op_type();
  if (!is_onnx_domain(proto.domain()) || !(find_op(op) || can_fold(op) || has_spelling(op))) return {};
  auto count = static_cast<size_t>(proto.output_size());
  while (count > 0 && proto.output(static_cast<int>(count) - 1).empty()) --count;
  if (count <= most_outputs(op)) return {};
  return Error{ExitCode::invalid_model, fmt::format("{}: has {}, ONNX gives it at most {}", describe(proto),
                                                    counted(static_cast<int64_t>(count), "output"), most_outputs(op))};
}

Status NetworkBuilder::check_inputs(const onnx::NodeProto& proto) const {
  if (static_cast<size_t>(proto.input_size()) < required_inputs(proto.op_type()))
    return Error{ExitCode::invalid_model, fmt::format("{}: has {}, it needs {}", describe(proto),
                                                      counted(proto.input_size(), "input"), required_inputs(proto.op_type()))};
  for (size_t i = 0; i < required_inputs(proto.op_type()); ++i)
    if (proto.input(static_cast<int>(i)).empty())
      return Error{ExitCode::invalid_model, fmt::format("{}: its input {} is left out", describe(proto), i)};
  return {};
}

Status NetworkBuilder::place(const onnx::NodeProto& proto, const Op& op) {
  if (Status status = infer(proto, op); !status.ok()) {
    if (status.error().code != ExitCode::unsupported) return status;
    unsupported_.add_message(status.error().message);
    give_up(proto, false);
  }
  return {};
}

bool NetworkBuilder::computes_shapes(const onnx::NodeProto& proto) {
  if (!is_onnx_domain(proto.domain()) || !can_fold(proto.op_type())) return false;
  if (proto.op_type() == "Shape" || proto.op_type() == "Size") return true;
  return std::all_of(proto.input().begin(), proto.input().end(), [&](const std::string& name) {
    return name.empty() || table_[table_.find(name)].perhaps_known || table_.known(table_.find(name));
  });
}

void NetworkBuilder::give_up(const onnx::NodeProto& proto, bool of_shapes) {
  for (const std::string& output : proto.output()) {
    if (output.empty()) continue;
    Entry& entry = table_[table_.define(output)];
    entry.unsupported = true;
    entry.perhaps_known = of_shapes;
  }
}

// A constant whose shape depends on the number of samples (the state before the first step of a loop, written out) is no weight:
// its elements, of which each sample has the same, are stretched to the samples that are there.
Status NetworkBuilder::stretch_constants(const onnx::NodeProto& proto) {
  const Op* op = find_op(proto.op_type());
  for (int i = 0; i < proto.input_size(); ++i) {
    if (proto.input(i).empty()) continue;
    const Slot slot = slot_of(proto.op_type(), static_cast<size_t>(i));
    const ValueTable::Index index = table_.find(proto.input(i));
    const Entry& entry = table_[index];
    if (entry.data.valid() || !entry.known || !entry.known->alike_for_each_sample()) continue;
    if (!entry.known->real() && !(op && op->any_type && data_type_of(entry.known->element))) continue;
    if (slot != Slot::data && slot != Slot::number && slot != Slot::weight) continue;
    const Dims& dims = entry.known->dims;
    const auto of_samples = std::count_if(dims.begin(), dims.end(), [](Dim dim) { return dim.batch; });
    if (of_samples != 1 || (entry.known->real() && entry.known->element != onnx::TensorProto::FLOAT)) continue;
    if (std::any_of(entry.known->ints.begin(), entry.known->ints.end(), [](Dim item) { return item.batch; })) continue;
    std::string one = proto.input(i) + "/number";
    if (entry.known->splat()) {
      add_fitted(one, {.element = entry.known->element, .ints = entry.known->ints, .reals = entry.known->reals});
    } else {
      if (std::none_of(dims.begin(), dims.end(), [](Dim dim) { return dim == kBatch; })) continue;
      KnownValue first = *entry.known;
      std::replace(first.dims.begin(), first.dims.end(), kBatch, Dim{1});
      one = add_fitted(proto.input(i) + "/of_one_sample", std::move(first));
    }
    PLIMSOLL_TRY(add_expand(one, Dims(dims), proto.input(i)));
  }
  return {};
}

Status NetworkBuilder::infer(const onnx::NodeProto& given, const Op& op) {
  onnx::NodeProto proto = given;
  PLIMSOLL_TRY(fit_inputs(proto));
  PLIMSOLL_TRY(stretch_constants(proto));
  Node node{.name = unique_name(proto),
            .op = proto.op_type(),
            .opset = static_cast<int>(opset_),
            .attributes = attributes_of(proto),
            .module_path = module_path_of(proto)};
  if (file_.author && node.op == "Gather" && given.input_size() > 0)
    if (const auto padding = file_.author->padding.find(given.input(0)); padding != file_.author->padding.end())
      node.attributes["padding_idx"] = padding->second;
  if (is_detached(given, file_)) node.attributes["detached"] = int64_t{1};
  if (const auto zeros = proto.input_size() > 0 ? absorbed_.find(proto.input(0)) : absorbed_.end(); zeros != absorbed_.end())
    absorb(zeros->second, node);
  for (size_t i = 0; i < static_cast<size_t>(proto.input_size()); ++i) {
    Result<ValueId> input = inputs_.add(proto, i);
    if (!input.ok()) {
      Error error = input.error();
      error.message = fmt::format("{}: {}", NodeView(network_, node).describe(), error.message);
      return error;
    }
    node.inputs.push_back(*input);
  }
  while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
  // Outputs that nobody reads do not exist: the running statistics of a BatchNormalization, the mask of a Dropout. The parts of a
  // Split do, for their lengths are told by their places.
  for (int i = 0; i < proto.output_size(); ++i)
    node.outputs.push_back(i == 0 || readers_.contains(proto.output(i)) || proto.op_type() == "Split"
                               ? table_.add({.name = proto.output(i).empty() ? node.name + ":0" : proto.output(i)})
                               : ValueId());
  while (!node.outputs.back().valid()) node.outputs.pop_back();

  const NodeView view(network_, node);
  // The kernel's second output is how many labels were right; ONNX's is the logarithms of the probabilities.
  if (node.op == "SoftmaxCrossEntropyLoss" && node.outputs.size() > 1)
    return view.unsupported("output 1, the logarithms of the probabilities, is read, but no kernel makes it");
  PLIMSOLL_ASSIGN(const std::vector<TensorType> types, op.infer(view));
  PLIMSOLL_TRY(check_inputs_are_real(view, op));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    if (i >= types.size()) return view.unsupported(fmt::format("output {} is read, but no kernel makes it", i));
    PLIMSOLL_TRY(check_type(view, types[i]));
    network_.values[node.outputs[i]].type = types[i];
    if (!proto.output(static_cast<int>(i)).empty())
      table_[table_.define(proto.output(static_cast<int>(i)))].data = node.outputs[i];
  }
  for (int i = static_cast<int>(node.outputs.size()); i < proto.output_size(); ++i)
    if (!proto.output(i).empty()) table_.define(proto.output(i));
  network_.nodes.push_back(std::move(node));
  return {};
}

std::string NetworkBuilder::unique_name(const onnx::NodeProto& proto) {
  const std::string base = !proto.name().empty() ? proto.name() : !proto.output(0).empty() ? proto.output(0) : proto.op_type();
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

Status NetworkBuilder::check_inputs_are_real(const NodeView& view, const Op& op) const {
  if (keeps_any_type(op.name) || op.any_type) return {};
  for (size_t i = 0; i < view.input_count(); ++i)
    if (view.has_input(i) && view.input(i).kind != ValueKind::constant && view.input_type(i).type != DataType::f32 &&
        static_cast<int>(i) != op.whole_numbers)
      return view.unsupported(fmt::format("only f32 has kernels, input {} is {}", i, to_string(view.input_type(i))));
  return {};
}

// Sizes are sums and products of bytes later on; here is where they are known to fit.
Status NetworkBuilder::check_type(const NodeView& view, const TensorType& type) const {
  if (type.type != DataType::f32 && !keeps_any_type(view.node().op) && !find_op(view.node().op)->any_type)
    return view.unsupported("only f32 has kernels, the input is " + to_string(view.input_type(0)));
  if (type.rank() > kMaxRank)
    return view.unsupported(fmt::format("its output has {} dimensions, at most {} are supported", type.rank(), kMaxRank));
  int64_t count = options_.batch;
  int batches = 0;
  for (const Dim dim : type.dims) {
    const auto product = checked_mul(count, dim.value);
    if (dim.value <= 0) return view.invalid(fmt::format("its output would be {}", to_string(type.dims)));
    if (!product || *product > kElementLimit)
      return view.invalid(fmt::format("its output {} has too many elements", to_string(type.dims)));
    count = *product;
    batches += dim.batch;
  }
  if (batches > 1)
    return view.unsupported(fmt::format("its output {} has the batch in several dimensions", to_string(type.dims)));
  return {};
}

void NetworkBuilder::say_what_was_rewritten() {
  if (exported_batch_)
    notes_.push_back(fmt::format("the model was exported for a batch of {}; its first dimension is taken as the batch",
                                 *exported_batch_));
  if (inputs_.reshapes_rewritten() > 0)
    notes_.push_back(fmt::format("{} had the batch of {} written into the target; it follows the batch now",
                                 counted(inputs_.reshapes_rewritten(), "Reshape node"), *exported_batch_));
  if (const int followed = followed_ + inputs_.expands_rewritten() + masks_followed_; followed > 0)
    notes_.push_back(fmt::format("{} repeated something for the batch of {}; it is repeated for each sample now", counted(followed, "node"), *exported_batch_));
  if (guards_left_out_ > 0) {
    const bool one = guards_left_out_ == 1;
    notes_.push_back(fmt::format("{} that only {} NaN {} left out; NaN in training ends it, by name",
                                 counted(guards_left_out_, "Where node"), one ? "replaces" : "replace", one ? "is" : "are"));
  }
}

// The trainer reads frozen and filled weights from the model file like any other, so they are initializers there.
void NetworkBuilder::materialise() {
  std::unordered_set<std::string> replaced;
  for (const ValueTable::Index index : table_.materialised()) {
    const Entry& entry = table_[index];
    replaced.insert(entry.name);
    add_initializer(file_.model, to_tensor(*entry.known, entry.name));
  }
  remove_makers(graph_, replaced);
}

// Only if the model is none without, what was repeated for the samples of the exporter's example is taken to be repeated for each
// sample; it is, if all shapes then go together.
Result<Network> build_network(ModelFile& file, const GraphOrder& order, const ImportOptions& options,
                              std::vector<std::string>& notes) {
  std::vector<std::string> said = notes;
  NetworkBuilder builder(file, options, said, false);
  Result<Network> network = builder.build(order);
  if (!network.ok() && builder.may_follow()) {
    said = notes;
    network = NetworkBuilder(file, options, said, true).build(order);
  }
  // A model that computes its loss may compute with samples beside each other.
  const bool fits = !builder.exported_batch() || *builder.exported_batch() == options.batch;
  if (!network.ok() && options.may_fix_batch && fits && options.batch > 1) {
    std::vector<std::string> said_then = notes;
    NetworkBuilder whole(file, options, said_then, false);
    whole.fix_batches();
    if (Result<Network> fixed = whole.build(order); fixed.ok()) {
      notes = std::move(said_then);
      notes.push_back(fmt::format("the number of samples is {} from here on, for with any number the model is none: {}", options.batch,
                                  network.error().notes.empty() ? network.error().message : network.error().notes[0]));
      return fixed;
    }
  }
  notes = std::move(said);
  if (network.ok() || network.error().code != ExitCode::invalid_model || !builder.exported_batch()) return network;
  Error error = network.error();
  error.notes.push_back(fmt::format("the model was exported for a batch of {}, and what follows from that cannot be told everywhere; export it with a dynamic "
                                    "batch: dynamic_shapes=({{0: 'batch'}},), or dynamic_axes={{'input': {{0: 'batch'}}}} with dynamo=False",
                                    *builder.exported_batch()));
  return error;
}

}  // namespace plimsoll
