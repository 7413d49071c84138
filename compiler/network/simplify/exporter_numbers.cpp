#include "compiler/network/simplify/exporter_numbers.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/network/simplify/module_path.h"
#include "compiler/network/simplify/weight_roles.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool is_number_at(std::string_view name, size_t at) {
  return at < name.size() && name.find_first_not_of(kDigits, at) == name.npos;
}

// "val_8"
bool is_value_of_dynamo(std::string_view name) { return name.starts_with("val_") && is_number_at(name, 4); }

// "/norm/Constant_output_0", "/Constant_1_output_0"
bool is_constant_of_torchscript(std::string_view name) {
  constexpr std::string_view kEnd = "_output_0";
  if (!name.starts_with('/') || !name.ends_with(kEnd)) return false;
  name.remove_suffix(kEnd.size());
  name.remove_prefix(name.rfind('/') + 1);
  constexpr std::string_view kConstant = "Constant";
  if (!name.starts_with(kConstant)) return false;
  name.remove_prefix(kConstant.size());
  return name.empty() || (name[0] == '_' && is_number_at(name, 1));
}

// "helper.constant.3"
bool is_constant_of_paddle(std::string_view name) {
  return name.starts_with("helper.constant.") || name.starts_with("p2o.helper.constant.");
}

struct Reader {
  const ModelNode* node = nullptr;
  size_t input = 0;
};
using Readers = std::unordered_map<std::string_view, std::vector<Reader>>;

Readers readers_of(const Model& model) {
  Readers readers;
  for (const ModelNode& node : model.nodes)
    for (size_t i = 0; i < node.inputs.size(); ++i) readers[node.inputs[i]].push_back({&node, i});
  return readers;
}

// By initializer: what it was computed from, "['g2.weight', 'val_23']".
std::unordered_map<std::string, std::set<std::string>> sources_noted_by_dynamo(const Model& model) {
  std::unordered_map<std::string, std::set<std::string>> sources;
  for (const DeclaredValue& value : model.values)
    for (const auto& entry : value.metadata) {
      if (entry.key != "pkg.onnxscript.optimizer.folded_from") continue;
      std::set<std::string>& of = sources[value.name];
      const std::string& text = entry.value;
      for (size_t begin = text.find('\''); begin != text.npos;) {
        const size_t end = text.find('\'', begin + 1);
        if (end == text.npos) break;
        of.insert(text.substr(begin + 1, end - begin - 1));
        begin = text.find('\'', end + 1);
      }
    }
  return sources;
}

// Whether the parameter can belong to the reader: it is of this module, or of one inside it.
bool is_within(const std::string& parameter, const std::string& module) {
  return module.empty() || (parameter.starts_with(module) && parameter.size() > module.size() &&
                            parameter[module.size()] == '.');
}

void add_folded(const Model& model, const Readers& readers, std::unordered_map<std::string, std::string>& numbers) {
  const auto parameters = parameters_listed_by_dynamo(model);
  const auto sources = sources_noted_by_dynamo(model);
  if (!parameters || sources.empty()) return;
  std::set<std::string> missing = *parameters;
  for (const ModelTensor& tensor : model.initializers) missing.erase(tensor.name);
  for (const auto& [name, of] : sources)
    for (const std::string& source : of) missing.erase(source);
  const auto may_be_missing_parameter = [&](const Reader& reader) {
    const std::string module = module_path_of(*reader.node);
    return std::any_of(missing.begin(), missing.end(),
                       [&](const std::string& parameter) { return is_within(parameter, module); });
  };
  const auto is_parameter = [&](const std::string& name) { return parameters->contains(name); };
  const auto marks = exporter_marks(model);
  for (const ModelTensor& tensor : model.initializers) {
    const auto noted = sources.find(tensor.name);
    const auto read = readers.find(tensor.name);
    if (noted == sources.end() || read == readers.end() || marks.contains(tensor.name)) continue;
    if (std::any_of(noted->second.begin(), noted->second.end(), is_parameter)) continue;
    if (std::any_of(read->second.begin(), read->second.end(), may_be_missing_parameter)) continue;
    numbers.emplace(tensor.name, "the exporter computed it from no parameter of the module");
  }
}

bool is_weight_of_normalization(const Reader& reader) {
  return is_of_onnx(*reader.node) && reader.node->op.ends_with("Normalization") &&
         is_weight(slot_of(reader.node->op, reader.input));
}

bool read_only_by_normalizations(const std::vector<Reader>& readers) {
  return std::all_of(readers.begin(), readers.end(), is_weight_of_normalization);
}

// onnxruntime's optimizer of transformers writes its own name over the exporter's.
bool is_of_pytorch(const Model& model) {
  return model.producer == "pytorch" || model.producer == "onnxruntime.transformers";
}

// Initializers that have the name of a number of the exporter, each with its readers.
std::vector<std::pair<const ModelTensor*, const std::vector<Reader>*>> named_as_numbers(const Model& model,
                                                                                        const Readers& readers) {
  std::vector<std::pair<const ModelTensor*, const std::vector<Reader>*>> named;
  const bool has_notes = came_from_dynamo(model);
  for (const ModelTensor& tensor : model.initializers) {
    const auto read = readers.find(tensor.name);
    if (read == readers.end()) continue;
    const std::vector<Reader>& by = read->second;
    if (is_constant_of_torchscript(tensor.name) ||
        (!has_notes && is_value_of_dynamo(tensor.name) && read_only_by_normalizations(by)))
      named.emplace_back(&tensor, &by);
  }
  return named;
}

}  // namespace

std::optional<std::set<std::string>> parameters_listed_by_dynamo(const Model& model) {
  const auto list = std::find_if(model.metadata.begin(), model.metadata.end(), [](const auto& entry) {
    return entry.key == "pkg.torch.export.ExportedProgram.graph_signature";
  });
  if (list == model.metadata.end()) return std::nullopt;
  constexpr std::string_view kMark = ": PARAMETER target='";  // of lines "p_a_bias: PARAMETER target='a.bias'"
  std::set<std::string> parameters;
  const std::string& text = list->value;
  for (size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at)) {
    at += kMark.size();
    parameters.insert(text.substr(at, text.find('\'', at) - at));
  }
  return parameters;
}

std::unordered_map<std::string, std::string> exporter_numbers(const Model& model) {
  std::unordered_map<std::string, std::string> numbers;
  const Readers readers = readers_of(model);
  for (const ModelTensor& tensor : model.initializers)
    if (const auto read = readers.find(tensor.name);
        read != readers.end() && is_constant_of_paddle(tensor.name) && read_only_by_normalizations(read->second))
      numbers.emplace(tensor.name, "it has the name of a number of the exporter");
  if (!is_of_pytorch(model)) return numbers;
  add_folded(model, readers, numbers);
  for (const auto& [tensor, read] : named_as_numbers(model, readers))
    if (read->size() == 1 || elements_of(*tensor) == 1)
      numbers.emplace(tensor->name, "it has the name of a number of the exporter");
  return numbers;
}

std::vector<std::string> perhaps_exporter_numbers(const Model& model) {
  std::vector<std::string> names;
  if (!is_of_pytorch(model)) return names;
  const Readers readers = readers_of(model);
  for (const auto& [tensor, read] : named_as_numbers(model, readers))
    if (read->size() > 1 && elements_of(*tensor) != 1) names.push_back(tensor->name);
  return names;
}

}  // namespace plimsoll
