#include "compiler/network/simplify/merged_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "compiler/network/simplify/exporter_numbers.h"
#include "compiler/network/simplify/module_path.h"
#include "compiler/network/simplify/weight_roles.h"
#include "compiler/ops/op.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// Optimizers merge no larger initializers: onnxscript's, and onnxruntime's.
constexpr int64_t kMergedElements = 1024, kMergedByOnnxruntime = 8;

std::string module_of(const std::string& parameter) {
  const size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? "" : parameter.substr(0, dot);
}

// The module's parameters that are not initializers. nullopt: no list.
std::optional<std::set<std::string>> missing_parameters(const Model& model) {
  auto missing = parameters_listed_by_dynamo(model);
  if (missing)
    for (const ModelTensor& tensor : model.initializers) missing->erase(tensor.name);
  return missing;
}

// Of a file with plimsoll.export's list: whether all trained parameters are initializers. Then no tool merged any.
bool has_all_of_author(const Model& model) {
  if (!model.author) return false;
  std::set<std::string_view> missing(model.author->trained.begin(), model.author->trained.end());
  for (const ModelTensor& tensor : model.initializers) missing.erase(tensor.name);
  return missing.empty();
}

bool is_splat(const ModelTensor& tensor) {
  if (!tensor.data || tensor.type != ElementType::f32 || tensor.data->size() < sizeof(float)) return false;
  return tensor.data->compare(sizeof(float), std::string::npos, *tensor.data, 0,
                              tensor.data->size() - sizeof(float)) == 0;
}

// The elements that new weights have: the scales and biases of a normalization, or the biases of an LSTM, where that of
// the forget gate is one.
bool has_two_values_at_most(const ModelTensor& tensor) {
  if (!tensor.data || tensor.type != ElementType::f32) return false;
  std::set<std::string_view> seen;
  const std::string_view bytes = *tensor.data;
  for (size_t at = 0; at + sizeof(float) <= bytes.size() && seen.size() <= 2; at += sizeof(float))
    seen.insert(bytes.substr(at, sizeof(float)));
  return seen.size() <= 2;
}

// A program that changes model files after their export, or an exporter that merges equal tensors.
struct Tool {
  std::string name = {};
  int64_t most = kElementLimit;  // elements of an initializer that it merges
  bool by_node = false;  // nodes do not say their modules: readers are told apart by their names
  bool splats_only = false;  // it is not certain that the tool has run
  bool new_only = false;  // of tensors with other elements than new weights have, no two are equal by accident
};

// Whether two initializers of more elements than onnxruntime merges are equal: then the exporter merged none either.
bool keeps_equal_splats(const Model& model, int64_t least) {
  std::set<std::tuple<std::vector<int64_t>, std::string_view>> seen;
  return std::any_of(model.initializers.begin(), model.initializers.end(), [&](const ModelTensor& tensor) {
    return is_splat(tensor) && elements_of(tensor).value_or(0) >= least &&
           !seen.emplace(tensor.dims, *tensor.data).second;
  });
}

std::optional<Tool> tool_of(const Model& model, bool had_constants) {
  if (has_all_of_author(model)) return std::nullopt;
  // PyTorch's exporters merge equal weights, too: TorchScript's, exporting for evaluation, of any size. It marks them
  // by Identity nodes, which onnxruntime removes.
  if (model.optimizer == "onnxruntime") {
    const bool merged_before = model.producer == "pytorch" && !keeps_equal_splats(model, kMergedByOnnxruntime + 1);
    return Tool{.name = merged_before ? "the exporter or onnxruntime" : "onnxruntime",
                .most = merged_before ? kElementLimit : kMergedByOnnxruntime,
                .by_node = true};
  }
  if (!model.optimizer.empty()) return Tool{.name = model.optimizer, .by_node = true};
  if (model.producer == "tf2onnx") return Tool{.name = "tf2onnx", .by_node = true, .new_only = true};
  if (model.producer != "pytorch" || came_from_dynamo(model)) return std::nullopt;
  // Dynamo's names without dynamo's metadata.
  if (model.author || std::any_of(model.nodes.begin(), model.nodes.end(),
                                  [](const ModelNode& node) { return node.name.starts_with("node_"); }))
    return Tool{.name = "a tool", .by_node = true};
  // onnxslim and onnxoptimizer leave no mark, but also no Constant nodes. The first merges equal initializers, and the
  // second removes the Identity nodes by which TorchScript's exporter marks those that it merged.
  if (had_constants || keeps_equal_splats(model, 1)) return std::nullopt;
  return Tool{.name = "a tool", .splats_only = true};
}

// The module of a node, or the name of the node of the file that it is part of; of a node of TensorFlow, the layer's
// scope.
std::string reader_of(const Node& node, const Tool* tool) {
  if (!node.module_path.empty() || !tool || !tool->by_node) return node.module_path;
  return node.name.substr(0, tool->new_only ? node.name.rfind('/') : node.name.find('/', 1));
}

// Whether a module's call is in the reader's path. TorchScript's exporter numbers the calls ("norm_1"), and names a
// module that others contain by its first name: "blocks.1.act" may be the module "act".
bool is_call_of_module(std::string_view reader, const std::string& module) {
  if (module.empty()) return false;
  for (size_t at = reader.find(module); at != reader.npos; at = reader.find(module, at + 1)) {
    if (at > 0 && reader[at - 1] != '.') continue;
    std::string_view rest = reader.substr(at + module.size());
    if (rest.starts_with('_')) rest.remove_prefix(std::min(rest.find_first_not_of("0123456789", 1), rest.size()));
    if (rest.empty() || rest.starts_with('.')) return true;
  }
  return false;
}

// The optimizer merges all small initializers that are equal, unless they are inputs or outputs of the graph. If two of
// the module's own are left (the ones and zeros of two normalizations), it has not run. Initializers without the
// exporter's mark do not count: passes that run later may have made them.
bool keeps_equal_weights(const Model& model) {
  const auto marks = exporter_marks(model);
  std::set<std::string_view> exempt;
  for (const auto* values : {&model.inputs, &model.outputs})
    for (const DeclaredValue& value : *values) exempt.insert(value.name);
  std::set<std::tuple<ElementType, std::vector<int64_t>, std::string_view>> seen;
  for (const ModelTensor& tensor : model.initializers) {
    if (!tensor.data || !marks.contains(tensor.name) || exempt.contains(tensor.name)) continue;
    if (elements_of(tensor).value_or(kMergedElements + 1) > kMergedElements) continue;
    if (!seen.emplace(tensor.type, tensor.dims, *tensor.data).second) return true;
  }
  return false;
}

struct MergedReaders {
  const Node* statistic = nullptr;
  const Node* parameter = nullptr;
  std::vector<std::string> modules = {};
};

IdVector<ValueId, MergedReaders> find_merged_readers(const Network& network, const Tool* tool) {
  IdVector<ValueId, MergedReaders> readers(network.values.size());
  for (const Node& node : network.nodes)
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid() || network.values[node.inputs[i]].initializer.empty()) continue;
      MergedReaders& of = readers[node.inputs[i]];
      const Node*& first = slot_of(node.op, i) == Slot::statistic ? of.statistic : of.parameter;
      if (first == nullptr) first = &node;
      const std::string reader = reader_of(node, tool);
      if (!reader.empty() && std::find(of.modules.begin(), of.modules.end(), reader) == of.modules.end())
        of.modules.push_back(reader);
    }
  return readers;
}

// Missing parameters of modules that read no other initializer in their place.
std::vector<std::string> find_left_out(const Network& network, const std::set<std::string>& missing) {
  std::map<std::string, std::set<std::string>> foreign;  // module → initializers named after other modules
  for (const Node& node : network.nodes) {
    if (node.module_path.empty()) continue;
    std::set<std::string>& of = foreign[node.module_path];
    for (const ValueId input : node.inputs)
      if (input.valid() && !network.values[input].initializer.empty() &&
          module_of(network.values[input].initializer) != node.module_path)
        of.insert(network.values[input].initializer);
  }
  std::vector<std::string> left_out;
  for (const auto& [module, others] : foreign) {
    std::vector<std::string> of_module;
    for (const std::string& name : missing)
      if (module_of(name) == module) of_module.push_back(name);
    if (others.empty()) left_out.insert(left_out.end(), of_module.begin(), of_module.end());
  }
  return left_out;
}

}  // namespace

bool has_constants(const Model& model) {
  return std::any_of(model.nodes.begin(), model.nodes.end(), [](const ModelNode& node) { return node.inputs.empty(); });
}

Status find_merged_weights(const Model& model, bool had_constants, const Network& network, std::string& perhaps_merged,
                           std::vector<std::string>& warnings) {
  const std::optional<Tool> tool = tool_of(model, had_constants);
  const IdVector<ValueId, MergedReaders> readers = find_merged_readers(network, tool ? &*tool : nullptr);
  const bool dynamo = !tool && came_from_dynamo(model) && !model.author;
  const bool optimized = tool || (dynamo && !keeps_equal_weights(model));
  const auto missing = dynamo ? missing_parameters(model) : std::nullopt;
  const int64_t most = tool ? tool->most : kMergedElements;
  const std::string whose = tool ? tool->name : "the exporter's optimizer";
  // Without the list, any small initializer may be merged.
  const auto misses_some = [&](const std::string& module) {
    return !missing || std::any_of(missing->begin(), missing->end(),
                                   [&](const std::string& name) { return module_of(name) == module; });
  };
  const bool some_only = tool && (tool->splats_only || tool->new_only);
  std::set<std::string_view> suspects;
  if (some_only)
    for (const ModelTensor& tensor : model.initializers)
      if (tool->new_only ? has_two_values_at_most(tensor) : is_splat(tensor)) suspects.insert(tensor.name);
  const auto others_read = [&](const std::string& weight, const std::vector<std::string>& modules) {
    return std::any_of(modules.begin(), modules.end(), [&](const std::string& reader) {
      return !is_call_of_module(reader, module_of(weight));
    });
  };
  // TorchScript's exporter writes no shapes of values, and onnxslim does. A module may pass its own parameter to its
  // children; a merged one keeps the name of one reader's or of a part of it.
  const bool perhaps_unchanged = tool && tool->splats_only && model.values.empty();
  const auto only_children_read = [&](const std::string& weight, const std::vector<std::string>& modules) {
    const std::string owner = module_of(weight), inside = owner.empty() ? "" : owner + ".";
    return std::all_of(modules.begin(), modules.end(), [&](const std::string& reader) {
      return reader.starts_with(inside) && !is_call_of_module(reader, owner);
    });
  };
  int64_t count = 0;
  std::string shown;
  for (const ValueId id : ids_of(readers)) {
    const Value& value = network.values[id];
    const MergedReaders& of = readers[id];
    if (of.statistic && of.parameter)
      return Error{ExitCode::invalid_model,
                   fmt::format("initializer '{}' is a parameter of '{}' and a running statistic of '{}': {} merged "
                               "equal tensors, and they can no longer be told apart",
                               value.initializer, of.parameter->name, of.statistic->name, whose),
                   {tool ? std::string("compile the file that the exporter wrote")
                         : fmt::format("export the model without that optimizer: {}", kDynamoExportLine)}};
    const bool may_be_merged =
        (value.trainable || value.kind == ValueKind::statistic) && value.type.elements().fixed <= most;
    if (!optimized || !may_be_merged || of.modules.size() < 2) continue;
    if (tool && !others_read(value.initializer, of.modules)) continue;
    if (perhaps_unchanged && only_children_read(value.initializer, of.modules)) continue;
    if (some_only && !suspects.contains(value.initializer)) continue;
    if (std::none_of(of.modules.begin(), of.modules.end(), misses_some)) continue;
    if (++count <= 3)
      shown += fmt::format("{}'{}' by '{}' and '{}'", count == 1 ? "" : ", ", value.initializer, of.modules[0],
                           of.modules[1]);
  }
  if (count > 0)
    perhaps_merged = fmt::format(
        "{} {} read by several {}: {}{}. Either the model shares them, or {} merged equal weights",
        counted(count, "weight"), is_or_are(count), tool && tool->by_node ? "nodes" : "modules", shown,
        count > 3 ? ", …" : "", whose);
  if (!missing) return {};
  const std::vector<std::string> left_out = find_left_out(network, *missing);
  if (left_out.empty()) return {};
  const auto lost = static_cast<int64_t>(left_out.size());
  std::string names;
  for (size_t i = 0; i < std::min<size_t>(left_out.size(), 3); ++i) names += (i ? ", '" : "'") + left_out[i] + "'";
  warnings.push_back(fmt::format(
      "the exporter dropped {}, which {} not trained: {}{}. Its optimizer drops biases that are zero: {}",
      counted(lost, "parameter"), is_or_are(lost), names, lost > 3 ? ", …" : "", kDynamoExportLine));
  return {};
}

}  // namespace plimsoll
