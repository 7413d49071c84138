// Nodes that become others, or none: aliases, what is spelled in other operators, paddings, masks, sequences.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/differentiable.h"
#include "compiler/import/load.h"
#include "compiler/import/network_builder.h"
#include "compiler/import/padding.h"
#include "compiler/import/sequences.h"
#include "compiler/import/spellings.h"

namespace plimsoll {

int NetworkBuilder::element_of(const Entry& entry) const {
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

// The element type that a Cast or CastLike makes. UNDEFINED: not known, or another operator.
int NetworkBuilder::cast_to(const onnx::NodeProto& proto) {
  if (proto.op_type() == "Cast" && proto.input_size() == 1) {
    const onnx::AttributeProto* to = find_attribute(proto, "to");
    return to ? static_cast<int>(to->i()) : onnx::TensorProto::UNDEFINED;
  }
  if (proto.op_type() != "CastLike" || proto.input_size() != 2 || proto.input(1).empty())
    return onnx::TensorProto::UNDEFINED;
  return element_of(table_[table_.find(proto.input(1))]);
}

bool NetworkBuilder::is_alias(const onnx::NodeProto& proto) {
  if (!is_onnx_domain(proto.domain()) || proto.input_size() == 0 || proto.output_size() != 1 || proto.input(0).empty())
    return false;
  if (proto.op_type() == "Identity")
    return proto.input_size() == 1 && (!is_detached(proto, file_) || table_.known(table_.find(proto.input(0))));
  const int to = cast_to(proto);
  // A computed value of booleans or u8 has the type UNDEFINED: DataType does not distinguish them.
  return to != onnx::TensorProto::UNDEFINED && element_of(table_[table_.find(proto.input(0))]) == to;
}

std::vector<FoldInput> NetworkBuilder::fold_inputs(const onnx::NodeProto& proto) {
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

// False: the operator says itself.
Result<bool> NetworkBuilder::add_spelled(const onnx::NodeProto& proto) {
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
                                                          .batch = options_.batch,
                                                          .exported_batch = exported_batch_,
                                                          .follow = [&] { return inputs_.meet(), inputs_.follow(); },
                                                          .dims = [&](size_t i) { return table_.dims(index(i)); },
                                                          .known = [&](size_t i) { return table_.known(index(i)); },
                                                          .element = [&](size_t i) { return element_of(table_[index(i)]); },
                                                          .rows = [&](size_t i) { return rows_of(proto.input(static_cast<int>(i))); }});
  if (!nodes.ok()) {
    if (nodes.error().code != ExitCode::unsupported) return nodes.error();
    unsupported_.add_message(nodes.error().message);
    give_up(proto, false);
    return true;
  }
  for (const onnx::NodeProto& node : *nodes)
    for (const std::string& output : node.output()) readers_[output].push_back(kWritten);
  for (const onnx::NodeProto& node : *nodes) {
    if (is_blocked(node)) give_up(node, false);
    else if (auto known = fold(node, opset_, fold_inputs(node))) table_[table_.define(node.output(0))].known = std::move(known);
    else PLIMSOLL_TRY(place(node, *find_op(node.op_type())));
  }
  return !nodes->empty();
}

// Where(IsNaN(x), 0, x) is x, but for NaN: exporters write it behind the softmax of an attention, for rows that are masked whole,
// and those are rows of zeros here.
bool NetworkBuilder::leave_out_guard(const onnx::NodeProto& proto) {
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
  if (!dims || !number || !number->real() || number->elements() != 1 || number->dims.size() > dims->size() || number->number(0) != 0) {
    if (dims) unsupported_.add_message(fmt::format("{}: puts '{}' in the place of NaN, which is not known to be 0 while compiling; a Softmax puts 0 there itself",
                                                   describe(proto), proto.input(1)));
    give_up(proto, false);
    return true;
  }
  table_.alias(proto.output(0), guarded);
  ++guards_left_out_;
  return true;
}

// A Pad without zeros is nothing; one whose readers can pad by themselves is left to them.
bool NetworkBuilder::absorb_pad(const onnx::NodeProto& proto) {
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
Status NetworkBuilder::add_mask(const onnx::NodeProto& proto, const RandomMask& mask) {
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
  // One draw for each sample of the exporter's example is one for each sample.
  bool has_samples = std::any_of(dims->begin(), dims->end(), [](Dim dim) { return dim.batch; });
  for (const Dim dim : *dims) {
    const bool is_batch = !has_samples && exported_batch_ && *exported_batch_ > 1 && dim.value == *exported_batch_;
    if (is_batch) inputs_.meet();
    const bool followed = is_batch && inputs_.follow();
    masks_followed_ += followed;
    has_samples = has_samples || followed;
    shape.add_ints(dim.batch || followed ? -1 : dim.value);
  }
  number.set_name("probability");
  number.set_type(onnx::AttributeProto::FLOAT);
  number.set_f(static_cast<float>(p->number(0)));
  return infer(drawn, op_Bernoulli);
}

// A sequence is no value of a network; its tensors are.
Status NetworkBuilder::add_sequence(const onnx::NodeProto& proto) {
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
    for (const std::string& output : node.output()) readers_[output].push_back(kWritten);
  for (const onnx::NodeProto& node : spelled->nodes) PLIMSOLL_TRY(add_operator(node));
  return {};
}

// False: not from a sequence that we know, or at a place that we do not.
bool NetworkBuilder::take_from_sequence(const onnx::NodeProto& proto) {
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

}  // namespace plimsoll
