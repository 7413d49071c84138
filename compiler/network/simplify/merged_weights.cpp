#include "compiler/network/simplify/merged_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

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

// The module's parameters that are not initializers: lines "p_a_bias: PARAMETER target='a.bias'". nullopt: no list.
std::optional<std::set<std::string>> missing_parameters(const Model& model) {
  const auto is_list = [](const auto& entry) {
    return entry.key == "pkg.torch.export.ExportedProgram.graph_signature";
  };
  const auto list = std::find_if(model.metadata.begin(), model.metadata.end(), is_list);
  if (list == model.metadata.end()) return std::nullopt;
  constexpr std::string_view kMark = ": PARAMETER target='";
  std::set<std::string> missing;
  const std::string& text = list->value;
  for (size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at)) {
    at += kMark.size();
    missing.insert(text.substr(at, text.find('\'', at) - at));
  }
  for (const ModelTensor& tensor : model.initializers) missing.erase(tensor.name);
  return missing;
}

// The trained parameters that plimsoll.export has listed and that are no initializers any more. nullopt: no list.
std::optional<std::set<std::string>> missing_of_author(const Model& model) {
  if (!model.author) return std::nullopt;
  std::set<std::string> missing(model.author->trained.begin(), model.author->trained.end());
  for (const ModelTensor& tensor : model.initializers) missing.erase(tensor.name);
  return missing;
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

// Readers by module, or by their own names: onnxruntime does not keep the metadata that names the modules.
IdVector<ValueId, MergedReaders> find_merged_readers(const Network& network, bool by_node) {
  IdVector<ValueId, MergedReaders> readers(network.values.size());
  for (const Node& node : network.nodes)
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid() || network.values[node.inputs[i]].initializer.empty()) continue;
      MergedReaders& of = readers[node.inputs[i]];
      const Node*& first = slot_of(node.op, i) == Slot::statistic ? of.statistic : of.parameter;
      if (first == nullptr) first = &node;
      const std::string& reader = by_node && node.module_path.empty() ? node.name : node.module_path;
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

Status find_merged_weights(const Model& model, const Network& network, std::string& perhaps_merged,
                           std::vector<std::string>& warnings) {
  const bool runtime = model.by_onnxruntime;
  const IdVector<ValueId, MergedReaders> readers = find_merged_readers(network, runtime);
  const bool dynamo = !runtime && came_from_dynamo(model) && !model.author;
  const bool optimized = runtime || (dynamo && !keeps_equal_weights(model));
  const auto missing = runtime ? missing_of_author(model) : dynamo ? missing_parameters(model) : std::nullopt;
  const int64_t most = runtime ? kMergedByOnnxruntime : kMergedElements;
  // Without the list, any small initializer may be merged.
  const auto misses_some = [&](const std::string& module) {
    if (!missing || runtime) return !missing || !missing->empty();
    return std::any_of(missing->begin(), missing->end(),
                                   [&](const std::string& name) { return module_of(name) == module; });
  };
  int64_t count = 0;
  std::string shown;
  for (const ValueId id : ids_of(readers)) {
    const Value& value = network.values[id];
    const MergedReaders& of = readers[id];
    if (of.statistic && of.parameter)
      return Error{ExitCode::invalid_model,
                   fmt::format("initializer '{}' is a parameter of '{}' and a running statistic of '{}': {} optimizer "
                               "merged equal tensors, and they can no longer be told apart",
                               value.initializer, of.parameter->name, of.statistic->name,
                               runtime ? "onnxruntime's" : "the exporter's"),
                   {runtime ? std::string(kWithoutOnnxruntime)
                            : fmt::format("export the model without that optimizer: {}", kDynamoExportLine)}};
    const bool may_be_merged =
        (value.trainable || value.kind == ValueKind::statistic) && value.type.elements().fixed <= most;
    if (!optimized || !may_be_merged || of.modules.size() < 2) continue;
    if (std::none_of(of.modules.begin(), of.modules.end(), misses_some)) continue;
    if (++count <= 3)
      shown += fmt::format("{}'{}' by '{}' and '{}'", count == 1 ? "" : ", ", value.initializer, of.modules[0],
                           of.modules[1]);
  }
  if (count > 0)
    perhaps_merged = fmt::format(
        "{} {} read by several {}: {}{}. Either the model shares them, or {} optimizer merged equal weights",
        counted(count, "weight"), is_or_are(count), runtime ? "nodes" : "modules", shown, count > 3 ? ", …" : "",
        runtime ? "onnxruntime's" : "the exporter's");
  if (!missing || runtime) return {};
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
