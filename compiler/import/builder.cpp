#include "compiler/import/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "compiler/import/batch.h"
#include "compiler/import/differentiable.h"
#include "compiler/import/fold.h"
#include "compiler/import/graph_edit.h"
#include "compiler/import/load.h"
#include "compiler/import/module_path.h"
#include "compiler/import/node_inputs.h"
#include "compiler/import/padding.h"
#include "compiler/import/prune.h"
#include "compiler/import/random_mask.h"
#include "compiler/import/sequences.h"
#include "compiler/import/spellings.h"
#include "compiler/import/unsupported.h"
#include "compiler/import/values.h"
#include "compiler/ops/op.h"
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
  return op == "Reshape" || op == "Flatten" || op == "Squeeze" || op == "Unsqueeze" || op == "Identity";
}

class NetworkBuilder {
 public:
  NetworkBuilder(ModelFile& file, const ImportOptions& options, std::vector<std::string>& notes)
      : file_(file), graph_(*file.model.mutable_graph()), options_(options), notes_(notes),
        opset_(opset_of(file.model)), table_(network_) {}

  Result<Network> build(const GraphOrder& order) {
    network_.name = graph_.name();
    find_readers(order);
    std::unordered_set<std::string> outputs;
    for (const auto& output : graph_.output()) outputs.insert(output.name());
    masks_ = find_random_masks(graph_.node(), outputs);
    table_.set_trained(reached_by_gradients(graph_, order));
    PLIMSOLL_TRY(add_inputs());
    for (const onnx::TensorProto& tensor : graph_.initializer()) table_[table_.define(tensor.name())].initializer = &tensor;
    for (const int node : order.nodes) PLIMSOLL_TRY(add_node(graph_.node(node)));
    PLIMSOLL_TRY(unsupported_.status(opset_));
    PLIMSOLL_TRY(add_outputs());
    say_what_was_rewritten();
    materialise();
    return prune(std::move(network_), notes_);
  }

 private:
  void find_readers(const GraphOrder& order) {
    for (const int node : order.nodes)
      for (const std::string& input : graph_.node(node).input()) readers_[input].push_back(node);
    for (const auto& output : graph_.output()) readers_[output.name()].push_back(kModelOutput);
  }

  Status add_inputs() {
    PLIMSOLL_ASSIGN(ModelInputs inputs, find_inputs(graph_, options_));
    exported_batch_ = inputs.exported_batch;
    inputs_.set_exported_batch(exported_batch_);
    for (ModelInput& input : inputs.inputs) {
      const ValueId id = table_.add({.name = input.name, .kind = ValueKind::input, .type = std::move(input.type)});
      table_[table_.define(input.name)].data = id;
      network_.inputs.push_back(id);
    }
    return {};
  }

  Status add_outputs() {
    for (const auto& output : graph_.output()) {
      PLIMSOLL_ASSIGN(const ValueId id, table_.as_data(table_.find(output.name()), Slot::data));
      network_.outputs.push_back(id);
    }
    return {};
  }

  Status add_node(const onnx::NodeProto& proto) {
    if (proto.output_size() == 0) return {};
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
    if (proto.op_type() == "SplitToSequence" && is_onnx_domain(proto.domain())) return add_sequence(proto);
    if (proto.op_type() == "SequenceAt" && is_onnx_domain(proto.domain()) && take_from_sequence(proto)) return {};
    if (proto.op_type() == "Pad" && is_onnx_domain(proto.domain()) && absorb_pad(proto)) return {};
    if (has_spelling(proto.op_type()) && is_onnx_domain(proto.domain())) {
      PLIMSOLL_ASSIGN(const bool spelled, add_spelled(proto));
      if (spelled) return {};
    }
    return add_operator(proto);
  }

  // False: the operator says itself.
  Result<bool> add_spelled(const onnx::NodeProto& proto) {
    if (is_blocked(proto)) {
      if (find_op(proto.op_type())) return false;
      give_up(proto, false);
      return true;
    }
    PLIMSOLL_TRY(check_inputs(proto));
    const auto index = [&](size_t i) { return table_.find(proto.input(static_cast<int>(i))); };
    if (!table_.dims(index(0))) return false;
    Result<std::vector<onnx::NodeProto>> nodes = spell_out({.node = proto,
                                                            .opset = opset_,
                                                            .dims = [&](size_t i) { return table_.dims(index(i)); },
                                                            .known = [&](size_t i) { return table_.known(index(i)); }});
    if (!nodes.ok()) {
      if (nodes.error().code != ExitCode::unsupported) return nodes.error();
      unsupported_.add_message(nodes.error().message);
      give_up(proto, false);
      return true;
    }
    for (const onnx::NodeProto& node : *nodes) {
      if (is_blocked(node)) give_up(node, false);
      else if (auto known = fold(node, opset_, fold_inputs(node))) table_[table_.define(node.output(0))].known = std::move(known);
      else PLIMSOLL_TRY(place(node, *find_op(node.op_type())));
    }
    return !nodes->empty();
  }

  // Where(IsNaN(x), number, x) is x, but for NaN: exporters write it behind the softmax of an attention, for rows that are masked whole.
  bool leave_out_guard(const onnx::NodeProto& proto) {
    if (!is_onnx_domain(proto.domain())) return false;
    if (proto.op_type() == "IsNaN" && proto.input_size() == 1) {
      const std::vector<int>& readers = readers_[proto.output(0)];
      const auto guards = [&](int reader) {
        const onnx::NodeProto* node = reader < 0 ? nullptr : &graph_.node(reader);
        return node && node->op_type() == "Where" && is_onnx_domain(node->domain()) && node->input_size() == 3 &&
               node->input(0) == proto.output(0) && node->input(1) != proto.output(0) && node->input(2) == proto.input(0);
      };
      if (readers.empty() || !std::all_of(readers.begin(), readers.end(), guards)) return false;
      guards_.insert(proto.output(0));
      return true;
    }
    if (proto.input_size() == 0 || !guards_.contains(proto.input(0))) return false;
    const ValueTable::Index guarded = table_.find(proto.input(2)), instead = table_.find(proto.input(1));
    const Dims* dims = table_.dims(guarded);
    const KnownValue* number = table_.known_constant(instead);
    if (!dims || !number || number->elements() != 1 || number->dims.size() > dims->size()) {
      if (dims) unsupported_.add_message(fmt::format("{}: puts '{}' in the place of NaN, which is no single number that is known while compiling",
                                                     describe(proto), proto.input(1)));
      give_up(proto, false);
      return true;
    }
    table_.alias(proto.output(0), guarded);
    ++guards_left_out_;
    return true;
  }

  // A Pad without zeros is nothing; one whose readers can pad by themselves is left to them.
  bool absorb_pad(const onnx::NodeProto& proto) {
    if (proto.input_size() == 0 || proto.input(0).empty() || absorbed_.contains(proto.input(0))) return false;
    std::vector<const KnownValue*> known;
    for (const std::string& input : proto.input()) known.push_back(input.empty() ? nullptr : table_.known_constant(table_.find(input)));
    const auto zeros = spatial_zeros(proto, known);
    if (!zeros) return false;
    if (std::any_of(zeros->begin(), zeros->end(), [](int64_t n) { return n != 0; })) {
      for (const int reader : readers_[proto.output(0)]) {
        if (reader < 0) return false;
        const onnx::NodeProto& node = graph_.node(reader);
        const auto reads = std::count(node.input().begin(), node.input().end(), proto.output(0));
        if (reads != 1 || node.input(0) != proto.output(0) || !is_onnx_domain(node.domain()) || !can_absorb(node, *zeros)) return false;
      }
      absorbed_[proto.output(0)] = *zeros;
    }
    table_.alias(proto.output(0), table_.find(proto.input(0)));
    return true;
  }

  // One node for the steps in which exporters draw a mask.
  Status add_mask(const onnx::NodeProto& proto, const RandomMask& mask) {
    const ValueTable::Index like = table_.find(mask.like), probability = mask.probability.empty() ? like : table_.find(mask.probability);
    if (table_[like].unsupported || table_[probability].unsupported) return give_up(proto, false), Status{};
    const Dims* dims = table_.dims(like);
    const KnownValue* p = table_.known(probability);
    const bool said = dims && p && p->real() && p->splat() &&
                      std::all_of(dims->begin(), dims->end(), [](Dim dim) { return !dim.batch || dim == kBatch; });
    if (!said) {
      unsupported_.add_message(fmt::format("{}: draws a random mask; its probability is no single number that is known while compiling",
                                           describe(proto)));
      return give_up(proto, false), Status{};
    }
    onnx::NodeProto drawn;
    drawn.set_name(proto.name());
    drawn.set_op_type("Bernoulli");
    drawn.add_output(proto.output(0));
    *drawn.mutable_metadata_props() = proto.metadata_props();
    onnx::AttributeProto &shape = *drawn.add_attribute(), &number = *drawn.add_attribute();
    shape.set_name("shape");
    shape.set_type(onnx::AttributeProto::INTS);
    for (const Dim dim : *dims) shape.add_ints(dim.batch ? -1 : dim.value);
    number.set_name("probability");
    number.set_type(onnx::AttributeProto::FLOAT);
    number.set_f(static_cast<float>(p->number(0)));
    return infer(drawn, op_Bernoulli);
  }

  // A sequence is no value of a network; its tensors are.
  Status add_sequence(const onnx::NodeProto& proto) {
    const ValueTable::Index sequence = table_.define(proto.output(0));
    table_[sequence].unsupported = true;  // as itself
    const ValueTable::Index whole = table_.find(proto.input(0));
    const Dims* x = table_.dims(whole);
    std::vector<std::string>& items = sequences_[sequence];
    if (!x || table_[whole].unsupported) return {};
    const bool given = proto.input_size() > 1 && !proto.input(1).empty();
    Result<SpelledSequence> spelled = spell_out(proto, *x, given ? table_.known_constant(table_.find(proto.input(1))) : nullptr);
    if (!spelled.ok()) {
      if (spelled.error().code != ExitCode::unsupported) return spelled.error();
      unsupported_.add_message(spelled.error().message);
      return {};
    }
    items = spelled->items;
    for (const onnx::NodeProto& node : spelled->nodes)
      for (const std::string& output : node.output()) readers_[output].push_back(kSequence);
    for (const onnx::NodeProto& node : spelled->nodes) PLIMSOLL_TRY(add_operator(node));
    return {};
  }

  // False: not from a sequence that we know, or at a place that we do not.
  bool take_from_sequence(const onnx::NodeProto& proto) {
    if (proto.input_size() != 2) return false;
    const auto sequence = sequences_.find(table_.find(proto.input(0)));
    if (sequence == sequences_.end()) return false;
    if (sequence->second.empty()) return give_up(proto, false), true;
    const KnownValue* at = table_.known(table_.find(proto.input(1)));
    if (!at || at->real() || at->elements() != 1 || at->integer(0).batch) return false;
    const int64_t count = static_cast<int64_t>(sequence->second.size()), given = at->integer(0).value, index = given < 0 ? given + count : given;
    if (index < 0 || index >= count) return false;
    table_.alias(proto.output(0), table_.find(sequence->second[static_cast<size_t>(index)]));
    return true;
  }

  int element_of(const Entry& entry) const {
    if (entry.initializer) return entry.initializer->data_type();
    if (entry.known) return entry.known->element;
    if (!entry.data.valid()) return onnx::TensorProto::UNDEFINED;
    switch (network_.values[entry.data].type.type) {
      case DataType::f32: return onnx::TensorProto::FLOAT;
      case DataType::i32: return onnx::TensorProto::INT32;
      case DataType::i64: return onnx::TensorProto::INT64;
      case DataType::u8: return onnx::TensorProto::UNDEFINED;  // or a boolean
    }
    return onnx::TensorProto::UNDEFINED;
  }

  bool is_alias(const onnx::NodeProto& proto) {
    if (!is_onnx_domain(proto.domain()) || proto.input_size() != 1 || proto.output_size() != 1 || proto.input(0).empty())
      return false;
    if (proto.op_type() == "Identity") return true;
    if (proto.op_type() != "Cast") return false;
    const Entry& from = table_[table_.find(proto.input(0))];
    const onnx::AttributeProto* to = find_attribute(proto, "to");
    if (!to) return false;
    if (from.initializer) return from.initializer->data_type() == to->i();
    if (from.known) return from.known->element == to->i();
    // f32 and f64 are told apart here: only the former is a DataType. Boolean and u8 are not.
    return from.data.valid() && to->i() != onnx::TensorProto::BOOL && to->i() != onnx::TensorProto::UINT8 &&
           data_type_of(static_cast<int>(to->i())) == network_.values[from.data].type.type;
  }

  std::vector<FoldInput> fold_inputs(const onnx::NodeProto& proto) {
    std::vector<FoldInput> inputs;
    for (const std::string& name : proto.input()) {
      if (name.empty()) {
        inputs.emplace_back();
      } else {
        const auto index = table_.find(name);
        inputs.push_back({table_.known(index), table_.dims(index), element_of(table_[index])});
      }
    }
    return inputs;
  }

  // A node that stays one. What is not supported is collected, to be told all at once; a model that is wrong ends here.
  Status add_operator(const onnx::NodeProto& proto) {
    const Op* op = is_onnx_domain(proto.domain()) ? find_op(proto.op_type()) : nullptr;
    const bool known = op && op->of_onnx() && opset_ >= op->first_opset && opset_ <= op->last_opset;
    const bool blocked = is_blocked(proto);
    // Behind what is not supported there are no types, but the names of operators are looked at all the same; not those
    // that only compute shapes, which would not be nodes if the types were there.
    const bool of_shapes = blocked && computes_shapes(proto);
    if (proto.op_type() == "Constant" && is_onnx_domain(proto.domain()))
      unsupported_.add_message(fmt::format("{}: has no value that is read; sparse tensors and texts are not", describe(proto)));
    else if (!known && !of_shapes)
      unsupported_.add_operator(proto, op);
    if (!known || blocked) {
      give_up(proto, of_shapes);
      return {};
    }
    PLIMSOLL_TRY(check_inputs(proto));
    return place(proto, *op);
  }

  bool is_blocked(const onnx::NodeProto& proto) {
    return std::any_of(proto.input().begin(), proto.input().end(), [&](const std::string& name) {
      return !name.empty() && table_[table_.find(name)].unsupported;
    });
  }

  Status check_inputs(const onnx::NodeProto& proto) const {
    if (static_cast<size_t>(proto.input_size()) < required_inputs(proto.op_type()))
      return Error{ExitCode::invalid_model, fmt::format("{}: has {}, it needs {}", describe(proto),
                                                        counted(proto.input_size(), "input"), required_inputs(proto.op_type()))};
    for (size_t i = 0; i < required_inputs(proto.op_type()); ++i)
      if (proto.input(static_cast<int>(i)).empty())
        return Error{ExitCode::invalid_model, fmt::format("{}: its input {} is left out", describe(proto), i)};
    return {};
  }

  Status place(const onnx::NodeProto& proto, const Op& op) {
    if (Status status = infer(proto, op); !status.ok()) {
      if (status.error().code != ExitCode::unsupported) return status;
      unsupported_.add_message(status.error().message);
      give_up(proto, false);
    }
    return {};
  }

  bool computes_shapes(const onnx::NodeProto& proto) {
    if (!is_onnx_domain(proto.domain()) || !can_fold(proto.op_type())) return false;
    if (proto.op_type() == "Shape" || proto.op_type() == "Size") return true;
    return std::all_of(proto.input().begin(), proto.input().end(), [&](const std::string& name) {
      return name.empty() || table_[table_.find(name)].perhaps_known || table_.known(table_.find(name));
    });
  }

  void give_up(const onnx::NodeProto& proto, bool of_shapes) {
    for (const std::string& output : proto.output()) {
      if (output.empty()) continue;
      Entry& entry = table_[table_.define(output)];
      entry.unsupported = true;
      entry.perhaps_known = of_shapes;
    }
  }

  Status infer(const onnx::NodeProto& proto, const Op& op) {
    Node node{.name = unique_name(proto),
              .op = proto.op_type(),
              .opset = static_cast<int>(opset_),
              .attributes = attributes_of(proto),
              .module_path = module_path_of(proto)};
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
    // Outputs that nobody reads do not exist: the running statistics of a BatchNormalization, the mask of a Dropout.
    for (int i = 0; i < proto.output_size(); ++i)
      node.outputs.push_back(i == 0 || readers_.contains(proto.output(i))
                                 ? table_.add({.name = proto.output(i).empty() ? node.name + ":0" : proto.output(i)})
                                 : ValueId());
    while (!node.outputs.back().valid()) node.outputs.pop_back();

    const NodeView view(network_, node);
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

  std::string unique_name(const onnx::NodeProto& proto) {
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

  Status check_inputs_are_real(const NodeView& view, const Op& op) const {
    if (keeps_any_type(op.name)) return {};
    for (size_t i = 0; i < view.input_count(); ++i)
      if (view.has_input(i) && view.input(i).kind != ValueKind::constant && view.input_type(i).type != DataType::f32 &&
          static_cast<int>(i) != op.whole_numbers)
        return view.unsupported(fmt::format("only f32 has kernels, input {} is {}", i, to_string(view.input_type(i))));
    return {};
  }

  // Sizes are sums and products of bytes later on; here is where they are known to fit.
  Status check_type(const NodeView& view, const TensorType& type) const {
    if (type.type != DataType::f32 && !keeps_any_type(view.node().op))
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

  void say_what_was_rewritten() {
    if (exported_batch_)
      notes_.push_back(fmt::format("the model was exported for a batch of {}; its first dimension is taken as the batch",
                                   *exported_batch_));
    if (inputs_.reshapes_rewritten() > 0)
      notes_.push_back(fmt::format("{} had the batch of {} written into the target; it follows the batch now",
                                   counted(inputs_.reshapes_rewritten(), "Reshape node"), *exported_batch_));
    if (guards_left_out_ > 0) {
      const bool one = guards_left_out_ == 1;
      notes_.push_back(fmt::format("{} that only {} NaN {} left out; NaN in training ends it, by name",
                                   counted(guards_left_out_, "Where node"), one ? "replaces" : "replace", one ? "is" : "are"));
    }
  }

  // The trainer reads frozen and filled weights from the model file like any other, so they are initializers there.
  void materialise() {
    std::unordered_set<std::string> replaced;
    for (const ValueTable::Index index : table_.materialised()) {
      const Entry& entry = table_[index];
      replaced.insert(entry.name);
      add_initializer(file_.model, to_tensor(*entry.known, entry.name));
    }
    remove_makers(graph_, replaced);
  }

  ModelFile& file_;
  onnx::GraphProto& graph_;
  const ImportOptions& options_;
  std::vector<std::string>& notes_;
  const int64_t opset_;
  Network network_ = {};
  ValueTable table_;
  NodeInputs inputs_{table_};
  Unsupported unsupported_ = {};
  std::optional<int64_t> exported_batch_ = {};
  static constexpr int kModelOutput = -1, kSequence = -2;  // readers that are no node
  RandomMasks masks_ = {};
  std::unordered_set<std::string> guards_ = {};  // what an IsNaN made that only guards
  int guards_left_out_ = 0;
  std::unordered_map<ValueTable::Index, std::vector<std::string>> sequences_ = {};  // empty: of what is not supported
  std::unordered_map<std::string, std::vector<int>> readers_ = {};
  std::unordered_map<std::string, std::vector<int64_t>> absorbed_ = {};  // output of a Pad that is none → its zeros
  std::map<std::string, int> node_names_ = {};
};

}  // namespace

Result<Network> build_network(ModelFile& file, const GraphOrder& order, const ImportOptions& options,
                              std::vector<std::string>& notes) {
  return NetworkBuilder(file, options, notes).build(order);
}

}  // namespace plimsoll
