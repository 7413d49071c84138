#include "compiler/import/inline_functions.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "compiler/import/load.h"
#include "compiler/import/plain_model.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

using Key = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

std::string domain_of(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

// A function call being expanded: the next node of the body, and the values of its names and attributes in this call.
struct Frame {
  const onnx::FunctionProto* function = nullptr;
  std::unique_ptr<onnx::NodeProto> call = {};
  int next = 0;
  std::string prefix = {};
  std::unordered_map<std::string, std::string> names = {};
};

class Inliner {
 public:
  Inliner(const onnx::ModelProto& model, google::protobuf::RepeatedPtrField<onnx::NodeProto>& result)
      : model_(model), result_(result) {
    for (const onnx::FunctionProto& function : model.functions())
      functions_.emplace(Key{domain_of(function.domain()), function.name(), function.overload()}, &function);
  }

  int calls() const { return calls_; }

  // Depth first with an explicit stack, so that neither deep nor infinite nesting crashes the process.
  Status run() {
    for (const onnx::NodeProto& node : model_.graph().node()) {
      PLIMSOLL_TRY(place(node));
      while (!stack_.empty()) {
        Frame& frame = stack_.back();
        if (frame.next == frame.function->node_size()) {
          PLIMSOLL_TRY(leave(frame));
          stack_.pop_back();
          continue;
        }
        PLIMSOLL_TRY(place(substituted(frame, frame.function->node(frame.next++))));
      }
    }
    return {};
  }

 private:
  Status place(onnx::NodeProto node) {
    if (++placed_ > kNodeLimit)
      return Error{ExitCode::unsupported,
                   fmt::format("with its functions inlined, the model has more than {} nodes", kNodeLimit)};
    const auto found = functions_.find({domain_of(node.domain()), node.op_type(), node.overload()});
    if (found == functions_.end()) {
      *result_.Add() = std::move(node);
      return {};
    }
    return enter(*found->second, std::move(node));
  }

  Status enter(const onnx::FunctionProto& function, onnx::NodeProto call) {
    for (size_t i = 0; i < stack_.size(); ++i)
      if (stack_[i].function == &function) return cycle(i);
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
      return Error{ExitCode::invalid_model,
                   fmt::format("{}: calls function '{}' with {} and {}, but it has {} and {}",
                               describe(plain_node(call)), function.name(), counted(call.input_size(), "input"),
                               counted(call.output_size(), "output"), function.input_size(), function.output_size())};
    ++calls_;
    Frame frame{.function = &function, .prefix = prefix_of(call)};
    for (int i = 0; i < function.input_size(); ++i)
      frame.names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    for (int i = 0; i < std::min(call.output_size(), function.output_size()); ++i) {
      if (call.output(i).empty()) continue;
      // An input that is returned unchanged, or a value that is returned twice, is copied at the end of the body.
      if (!frame.names.emplace(function.output(i), call.output(i)).second) continue;
    }
    frame.call = std::make_unique<onnx::NodeProto>(std::move(call));
    stack_.push_back(std::move(frame));
    return {};
  }

  Status leave(const Frame& frame) {
    for (int i = 0; i < frame.call->output_size(); ++i) {
      const std::string& wanted = frame.call->output(i);
      const auto made = frame.names.find(frame.function->output(i));
      if (wanted.empty() || made == frame.names.end() || made->second == wanted) continue;
      onnx::NodeProto copy;
      copy.set_op_type("Identity");
      copy.set_name(frame.prefix + "/Identity");
      copy.add_input(made->second);
      copy.add_output(wanted);
      *result_.Add() = std::move(copy);
      ++placed_;
    }
    return {};
  }

  Error cycle(size_t from) const {
    std::string chain;
    for (size_t i = from; i < stack_.size(); ++i) chain += fmt::format("'{}' calls ", stack_[i].function->name());
    return Error{ExitCode::invalid_model,
                 fmt::format("functions call each other recursively: {}'{}'", chain, stack_[from].function->name())};
  }

  // Two calls may have the same name, or none: the prefix must distinguish them.
  std::string prefix_of(const onnx::NodeProto& call) {
    std::string prefix = !call.name().empty() ? call.name() : fmt::format("{}_{}", call.op_type(), calls_);
    if (prefix.size() > 1000) prefix = fmt::format("function_{}", calls_);  // with deep nesting, names accumulate
    if (const int copies = prefixes_[prefix]++; copies > 0) prefix += fmt::format(":{}", copies + 1);
    return prefix;
  }

  static std::string name_here(Frame& frame, const std::string& name) {
    if (name.empty()) return name;
    const auto [at, fresh] = frame.names.emplace(name, std::string());
    if (fresh) at->second = frame.prefix + "/" + name;
    return at->second;
  }

  // The branch of an If in a function reads values and attributes of the call. `inside`: what is defined in the branch,
  // or in those around it; these names stay.
  static void substitute(Frame& frame, onnx::GraphProto& graph, std::unordered_set<std::string> inside) {
    const auto is_outside = [&](const std::string& name) { return !inside.contains(name); };
    for (const onnx::TensorProto& tensor : graph.initializer()) inside.insert(tensor.name());
    for (const onnx::ValueInfoProto& input : graph.input()) inside.insert(input.name());
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      for (std::string& name : *node.mutable_input())
        if (is_outside(name)) name = name_here(frame, name);
      const onnx::NodeProto body = node;
      give_attributes(frame, body, node, inside);
      for (const std::string& name : node.output()) inside.insert(name);
    }
    for (onnx::ValueInfoProto& output : *graph.mutable_output())
      if (is_outside(output.name())) output.set_name(name_here(frame, output.name()));
  }

  static void give_attributes(Frame& frame, const onnx::NodeProto& body, onnx::NodeProto& node,
                              const std::unordered_set<std::string>& inside) {
    node.clear_attribute();
    for (const onnx::AttributeProto& attribute : body.attribute()) {
      if (attribute.ref_attr_name().empty()) {
        onnx::AttributeProto& given = *node.add_attribute();
        given = attribute;
        if (given.has_g()) substitute(frame, *given.mutable_g(), inside);
      } else if (const onnx::AttributeProto* given = attribute_of(frame, attribute.ref_attr_name())) {
        *node.add_attribute() = *given;
        node.mutable_attribute(node.attribute_size() - 1)->set_name(attribute.name());
      }  // else: neither given nor with a default, so the operator's default applies
    }
  }

  onnx::NodeProto substituted(Frame& frame, const onnx::NodeProto& body) {
    onnx::NodeProto node = body;
    node.set_name(frame.prefix + "/" +
                  (body.name().empty() ? fmt::format("{}_{}", body.op_type(), frame.next - 1) : body.name()));
    for (std::string& name : *node.mutable_input()) name = name_here(frame, name);
    give_attributes(frame, body, node, {});
    for (std::string& name : *node.mutable_output()) name = name_here(frame, name);
    if (node.metadata_props_size() == 0) *node.mutable_metadata_props() = frame.call->metadata_props();
    return node;
  }

  static const onnx::AttributeProto* attribute_of(const Frame& frame, const std::string& name) {
    for (const onnx::AttributeProto& attribute : frame.call->attribute())
      if (attribute.name() == name) return &attribute;
    for (const onnx::AttributeProto& attribute : frame.function->attribute_proto())
      if (attribute.name() == name) return &attribute;
    return nullptr;
  }

  const onnx::ModelProto& model_;
  google::protobuf::RepeatedPtrField<onnx::NodeProto>& result_;
  std::map<Key, const onnx::FunctionProto*> functions_ = {};
  std::unordered_map<std::string, int> prefixes_ = {};
  std::vector<Frame> stack_ = {};
  int64_t placed_ = 0;
  int calls_ = 0;
};

// The meaning of a node depends on its opset, and the network has one opset for all nodes.
Status check_opsets(const onnx::ModelProto& model) {
  Error error{ExitCode::unsupported,
              fmt::format("functions use another opset than the model's, {}; operators may differ between "
                          "opsets",
                          opset_of(model))};
  for (const onnx::FunctionProto& function : model.functions())
    for (const auto& import : function.opset_import())
      if (is_onnx_domain(import.domain()) && import.version() != opset_of(model))
        error.notes.push_back(fmt::format("function '{}': opset {}", function.name(), import.version()));
  if (error.notes.empty()) return {};
  error.notes.push_back("inline them: model = onnx.inliner.inline_local_functions(model, convert_version=True)");
  return error;
}

}  // namespace

Status inline_functions(ModelFile& file, std::vector<std::string>& notes) {
  onnx::ModelProto& model = file.model;
  if (model.graph().node_size() > kNodeLimit)
    return Error{ExitCode::unsupported, fmt::format("the model has {} nodes; at most {} are supported",
                                                    model.graph().node_size(), kNodeLimit)};
  if (model.functions_size() == 0) return {};
  PLIMSOLL_TRY(check_opsets(model));
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  Inliner inliner(model, nodes);
  PLIMSOLL_TRY(inliner.run());
  model.mutable_graph()->mutable_node()->Swap(&nodes);
  notes.push_back(fmt::format("{} of {} {} inlined", counted(inliner.calls(), "call"),
                              counted(model.functions_size(), "local function"), inliner.calls() == 1 ? "is" : "are"));
  model.clear_functions();
  return {};
}

}  // namespace plimsoll
