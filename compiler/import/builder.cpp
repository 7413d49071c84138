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
#include "compiler/import/padding.h"
#include "compiler/import/prune.h"
#include "compiler/import/unsupported.h"
#include "compiler/import/values.h"
#include "compiler/ops/op.h"
#include "compiler/support/bytes.h"

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

bool is_zero(const KnownValue* known) {
  return known && known->real() && std::all_of(known->reals.begin(), known->reals.end(), [](double item) { return item == 0; });
}

// As their third input.
bool has_bias(std::string_view op) { return op == "Conv" || op == "ConvTranspose" || op == "Gemm"; }

class NetworkBuilder {
 public:
  NetworkBuilder(ModelFile& file, const ImportOptions& options, std::vector<std::string>& notes)
      : file_(file), graph_(*file.model.mutable_graph()), options_(options), notes_(notes),
        opset_(opset_of(file.model)), table_(network_) {}

  Result<Network> build(const GraphOrder& order) {
    network_.name = graph_.name();
    find_readers(order);
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
    if (proto.op_type() == "Pad" && is_onnx_domain(proto.domain()) && absorb_pad(proto)) return {};
    return add_operator(proto);
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
        if (reader == kModelOutput) return false;
        const onnx::NodeProto& node = graph_.node(reader);
        const auto reads = std::count(node.input().begin(), node.input().end(), proto.output(0));
        if (reads != 1 || node.input(0) != proto.output(0) || !is_onnx_domain(node.domain()) || !can_absorb(node, *zeros)) return false;
      }
      absorbed_[proto.output(0)] = *zeros;
    }
    table_.alias(proto.output(0), table_.find(proto.input(0)));
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
    const bool blocked = std::any_of(proto.input().begin(), proto.input().end(), [&](const std::string& name) {
      return !name.empty() && table_[table_.find(name)].unsupported;
    });
    // Behind what is not supported there are no types, but the names of operators are looked at all the same; not those
    // that only compute shapes, which would not be nodes if the types were there.
    const bool of_shapes = blocked && computes_shapes(proto);
    if (!known && !of_shapes) unsupported_.add_operator(proto, op);
    if (!known || blocked) {
      give_up(proto, of_shapes);
      return {};
    }
    if (static_cast<size_t>(proto.input_size()) < required_inputs(proto.op_type()))
      return Error{ExitCode::invalid_model, fmt::format("{}: has {} inputs, it needs {}", describe(proto),
                                                        proto.input_size(), required_inputs(proto.op_type()))};
    for (size_t i = 0; i < required_inputs(proto.op_type()); ++i)
      if (proto.input(static_cast<int>(i)).empty())
        return Error{ExitCode::invalid_model, fmt::format("{}: its input {} is left out", describe(proto), i)};
    if (Status status = infer(proto, *op); !status.ok()) {
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
    if (const auto zeros = absorbed_.find(proto.input(0)); zeros != absorbed_.end()) absorb(zeros->second, node);
    for (size_t i = 0; i < static_cast<size_t>(proto.input_size()); ++i) {
      Result<ValueId> input = add_input(proto, i);
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

  // Sizes are sums and products of bytes later on; here is where they are known to fit.
  Status check_type(const NodeView& view, const TensorType& type) const {
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

  Result<ValueId> add_input(const onnx::NodeProto& proto, size_t i) {
    const std::string& name = proto.input(static_cast<int>(i));
    if (name.empty()) return ValueId();
    const auto index = table_.find(name);
    const Slot slot = slot_of(proto.op_type(), i);
    if (slot == Slot::state && is_zero(table_.known(index))) return ValueId();  // what the operator starts with anyway
    // Likewise a bias that is no weight but computed to be zero, as torch's dynamo exporter writes where a layer has none.
    if (i == 2 && has_bias(proto.op_type()) && is_zero(table_.known(index))) return ValueId();
    const KnownValue* known = slot == Slot::constant ? table_.known_constant(index)
                              : slot == Slot::number ? table_.known(index)
                                                     : nullptr;
    if (known && slot == Slot::number && (known->elements() != 1 || known->depends_on_batch())) known = nullptr;
    if (!known) return table_.as_data(index, slot);
    if (proto.op_type() == "Reshape") return add_reshape_target(proto, *known);
    if (known->depends_on_batch()) return add_batch_constant(proto, i, *known);
    if (*known->elements() > kKnownLimit)
      return Error{ExitCode::unsupported, fmt::format("input {} ('{}') is too large for a constant", i, name)};
    return table_.as_constant(index);
  }

  Result<ValueId> add_reshape_target(const onnx::NodeProto& proto, const KnownValue& known) {
    const Dims* x = table_.dims(table_.find(proto.input(0)));
    if (!x || known.real() || known.dims.size() != 1 || !known.elements() || *known.elements() > kMaxRank)
      return Error{ExitCode::invalid_model, fmt::format("its target '{}' is no list of at most {} integers", proto.input(1), kMaxRank)};
    const onnx::AttributeProto* allowzero = find_attribute(proto, "allowzero");
    std::vector<Dim> entries;
    for (size_t i = 0; i < static_cast<size_t>(*known.elements()); ++i) entries.push_back(known.integer(i));
    ReshapeTarget target = reshape_target(*x, entries, !allowzero || allowzero->i() == 0, exported_batch_);
    if (!target.error.empty()) return Error{ExitCode::unsupported, std::move(target.error)};
    reshapes_rewritten_ += target.rewritten;
    KnownValue resolved{.element = onnx::TensorProto::INT64, .dims = known.dims};
    for (const int64_t entry : target.entries) resolved.ints.push_back({entry});
    return table_.add_constant(proto.input(1), resolved);
  }

  // A constant in which the batch appears, for an operator whose meaning has a way to say it without the number.
  Result<ValueId> add_batch_constant(const onnx::NodeProto& proto, size_t i, KnownValue known) {
    const Dims* x = table_.dims(table_.find(proto.input(0)));
    const bool listed = x && known.dims.size() == 1 && !known.dims[0].batch && known.ints.size() == static_cast<size_t>(known.dims[0].value);
    bool said = listed;
    for (size_t j = 0; said && j < known.ints.size(); ++j) {
      if (!known.ints[j].batch) continue;
      if (proto.op_type() == "Expand") {  // 1 keeps a dimension as it is, -1 is the number of samples
        const size_t behind = known.ints.size() - j;
        const bool there = behind <= x->size() && (*x)[x->size() - behind] == known.ints[j];
        said = there || known.ints[j] == kBatch;
        known.ints[j] = {there ? 1 : -1};
      } else if (proto.op_type() == "Slice" && i == 2) {  // up to the end
        const std::optional<size_t> axis = slice_axis(proto, j, x->size());
        said = axis && (*x)[*axis] == known.ints[j];
        known.ints[j] = {INT64_MAX};
      } else {
        said = false;
      }
    }
    if (!said)
      return Error{ExitCode::unsupported, fmt::format("its input {} ('{}') depends on the number of samples", i,
                                                      proto.input(static_cast<int>(i)))};
    return table_.add_constant(proto.input(static_cast<int>(i)), known);
  }

  std::optional<size_t> slice_axis(const onnx::NodeProto& proto, size_t j, size_t rank) {
    int64_t axis = static_cast<int64_t>(j);
    if (proto.input_size() > 3 && !proto.input(3).empty()) {
      const KnownValue* axes = table_.known_constant(table_.find(proto.input(3)));
      if (!axes || axes->real() || j >= static_cast<size_t>(axes->elements().value_or(0))) return std::nullopt;
      axis = axes->integer(j).value;
    }
    if (axis < 0) axis += static_cast<int64_t>(rank);
    if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
    return static_cast<size_t>(axis);
  }

  void say_what_was_rewritten() {
    if (exported_batch_)
      notes_.push_back(fmt::format("the model was exported for a batch of {}; its first dimension is taken as the batch",
                                   *exported_batch_));
    if (reshapes_rewritten_ > 0)
      notes_.push_back(fmt::format("{} Reshape nodes had the batch of {} written into their target; it follows the batch now",
                                   reshapes_rewritten_, *exported_batch_));
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
  Unsupported unsupported_ = {};
  std::optional<int64_t> exported_batch_ = {};
  int reshapes_rewritten_ = 0;
  static constexpr int kModelOutput = -1;
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
