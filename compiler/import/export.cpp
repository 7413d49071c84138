// Writes a model as a single file again, optionally with the weights of a checkpoint.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/import/load.h"
#include "compiler/import/plain_model.h"
#include "compiler/import/sha256.h"
#include "compiler/network/simplify/random_mask.h"
#include "compiler/support/counted.h"
#include "compiler/support/json.h"
#include "compiler/support/new_file.h"

namespace plimsoll {
namespace {

using GraphNodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

Result<std::string> read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0)
    return Error{ExitCode::unreadable_input, fmt::format("cannot read '{}': {}", path, std::strerror(errno))};
  std::string bytes(static_cast<size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(bytes.data(), size)) return Error{ExitCode::unreadable_input, fmt::format("cannot read '{}'", path)};
  return bytes;
}

// The file that a trainer wrote, verified against the checksum in its manifest.
Result<std::string> read_weights(const std::string& checkpoint, const std::string& name) {
  const std::string path = checkpoint + "/" + name;
  PLIMSOLL_ASSIGN(std::string bytes, read_whole(path));
  PLIMSOLL_ASSIGN(const std::string manifest, read_whole(checkpoint + "/manifest.sha256"));
  if (manifest.find(fmt::format("{}  {}\n", sha256_hex(bytes), name)) == std::string::npos)
    return Error{ExitCode::unreadable_input, fmt::format("'{}' is damaged: it does not match manifest.sha256", path)};
  return bytes;
}

// The safetensors name of the type in which trainers hold elements of this type.
std::string safetensors_type(int element) {
  switch (element) {
    case onnx::TensorProto::FLOAT: case onnx::TensorProto::FLOAT16: case onnx::TensorProto::BFLOAT16: return "F32";
    case onnx::TensorProto::INT32: return "I32";
    case onnx::TensorProto::INT64: return "I64";
    case onnx::TensorProto::UINT8: case onnx::TensorProto::BOOL: return "U8";
    default: return "";
  }
}

// `name`: the file of the checkpoint.
Status put_weights(ModelFile& file, const std::string& checkpoint, const std::string& name) {
  PLIMSOLL_ASSIGN(const std::string bytes, read_weights(checkpoint, name));
  const auto refuse = [&](const std::string& why) {
    return Error{ExitCode::invalid_model, fmt::format("'{}' does not match the model: {}", checkpoint, why)};
  };
  uint64_t length = 0;
  if (bytes.size() >= 8) std::memcpy(&length, bytes.data(), 8);
  if (bytes.size() < 8 || length > bytes.size() - 8) return refuse(name + " has no header");
  const Json header = json_or_null(std::string_view(bytes).substr(8, length));
  if (!header.is_object()) return refuse(fmt::format("the header of {} is not JSON", name));
  std::unordered_map<std::string_view, const Json*> described;
  for (const auto& entry : header.items()) described.emplace(entry.key(), &entry.value());
  size_t put = 0;
  for (onnx::TensorProto& tensor : *file.model.mutable_graph()->mutable_initializer()) {
    const auto found = described.find(tensor.name());
    if (found == described.end()) continue;  // a constant, or never read
    std::string type;
    std::vector<int64_t> dims;
    std::vector<uint64_t> offsets;
    try {
      type = found->second->value("dtype", "");
      dims = found->second->value("shape", dims);
      offsets = found->second->value("data_offsets", offsets);
    } catch (const Json::exception&) {
      return refuse(fmt::format("'{}' has a malformed entry in {}", tensor.name(), name));
    }
    const FileType in_file = file_type_of(static_cast<ElementType>(tensor.data_type()));
    const size_t size = tensor.raw_data().size() * (in_file == FileType::same ? 1 : 2),
                 data = bytes.size() - 8 - length;
    const std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
    if (type != safetensors_type(tensor.data_type()) || dims != shape || offsets.size() != 2 || offsets[0] > data ||
        size > data - offsets[0])
      return refuse(fmt::format("'{}' differs in shape or element type", tensor.name()));
    const std::string_view values = std::string_view(bytes).substr(8 + length + offsets[0], size);
    if (const std::optional<float> large = too_large_for(in_file, std::as_bytes(std::span(values))))
      return refuse(
          fmt::format("'{}' holds {}, and f16, the model's element type, ends at 65504", tensor.name(), *large));
    if (in_file == FileType::same)
      tensor.set_raw_data(values.data(), values.size());
    else
      narrow(in_file, std::as_bytes(std::span(values)), std::as_writable_bytes(std::span(*tensor.mutable_raw_data())));
    ++put;
  }
  const size_t held = header.size() - (header.contains("__metadata__") ? 1 : 0);
  const auto missing = static_cast<int64_t>(held - put);
  if (missing != 0)
    return refuse(fmt::format("{} of its {} {} not in the model", missing,
                              counted(static_cast<int64_t>(held), "weight"), is_or_are(missing)));
  return {};
}

// The values that are computed from the elements of the graph's inputs, not from their shapes or types alone.
std::unordered_set<std::string> computed_values(const onnx::GraphProto& graph) {
  std::unordered_set<std::string> computed;
  for (const auto& input : graph.input()) computed.insert(input.name());
  for (const auto& initializer : graph.initializer()) computed.erase(initializer.name());
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() == "Shape" || node.op_type() == "Size") continue;
    const auto read = node.input().begin();
    const auto end = node.op_type() == "CastLike" && node.input_size() > 1 ? read + 1 : node.input().end();
    if (std::any_of(read, end, [&](const std::string& input) { return computed.contains(input); }))
      computed.insert(node.output().begin(), node.output().end());
  }
  return computed;
}

// Replaces random masks by their mean, whatever their shape: the last step converts p itself, and the comparison is
// removed. Masks whose probabilities are computed stay. Returns whether there were any others.
bool replace_random_masks(GraphNodes& nodes, const std::unordered_set<std::string>& outputs,
                          const std::unordered_set<std::string>& computed) {
  std::vector<ModelNode> plain;
  for (const onnx::NodeProto& node : nodes) plain.push_back(plain_node(node));
  RandomMasks masks = find_random_masks(plain, outputs);
  std::erase_if(masks.by_output, [&](const auto& each) {
    const RandomMask& mask = each.second;
    if (!computed.contains(mask.probabilities())) return false;
    for (const ModelNode* step : mask.steps) masks.steps.erase(step->outputs[0]);
    return true;
  });
  for (onnx::NodeProto& node : nodes) {
    const auto mask = node.output_size() > 0 ? masks.by_output.find(node.output(0)) : masks.by_output.end();
    if (mask == masks.by_output.end()) continue;
    if (node.op_type() == "Bernoulli") {
      node.set_op_type("Identity");
      node.clear_attribute();
    } else {
      if (node.op_type() == "Floor") node.set_op_type("Identity");
      node.set_input(0, mask->second.probability);
    }
  }
  const auto gone = std::remove_if(nodes.begin(), nodes.end(), [&](const onnx::NodeProto& node) {
    return node.output_size() == 1 && masks.steps.contains(node.output(0));
  });
  nodes.erase(gone, nodes.end());
  return !masks.by_output.empty();
}

constexpr const char* kNoTraining = "plimsoll/no_training";

// A node that states, as any number of dropouts may read, that they drop nothing: without that input, a file of
// PyTorch's exporters has them in training mode (compiler/network/simplify/builder.cpp).
void put_mode_in_front(GraphNodes& nodes) {
  onnx::NodeProto& mode = *nodes.Add();
  mode.set_op_type("Constant");
  mode.set_name(kNoTraining);
  mode.add_output(kNoTraining);
  onnx::AttributeProto& value = *mode.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(onnx::TensorProto::BOOL);
  value.mutable_t()->set_raw_data(std::string(1, '\0'));
  std::rotate(nodes.pointer_begin(), nodes.pointer_end() - 1, nodes.pointer_end());
}

// BatchNormalization has `training_mode` since opset 14; if it is set, the updated statistics are further outputs,
// which no node of a model reads. Dropout has training_mode as its third input since opset 12. Older versions only have
// further outputs. Returns whether a shape changed.
bool stop_training(GraphNodes& nodes, const std::unordered_set<std::string>& outputs,
                   const std::unordered_set<std::string>& computed, int64_t opset) {
  constexpr int64_t kDropoutWithMode = 12;
  const bool reshaped = replace_random_masks(nodes, outputs, computed);
  bool reads_mode = false;
  for (onnx::NodeProto& node : nodes) {
    if (!is_onnx_domain(node.domain())) continue;
    if (node.op_type() == "BatchNormalization") {
      while (node.output_size() > 1) node.mutable_output()->RemoveLast();
      for (onnx::AttributeProto& attribute : *node.mutable_attribute())
        if (attribute.name() == "training_mode") attribute.set_i(0);
    } else if (node.op_type() == "Dropout" && opset >= kDropoutWithMode) {
      while (node.input_size() < 3) node.add_input();
      node.set_input(2, kNoTraining);
      reads_mode = true;
    }
  }
  if (reads_mode) put_mode_in_front(nodes);
  return reshaped;
}

}  // namespace

Result<std::string> export_model(const ExportRequest& request, const std::string& path) {
  PLIMSOLL_ASSIGN(const std::shared_ptr<ModelFile> file, load_model(request.model));
  PLIMSOLL_TRY(load_data(*file));
  if (!request.checkpoint.empty()) PLIMSOLL_TRY(put_weights(*file, request.checkpoint, "weights.safetensors"));
  if (request.average) PLIMSOLL_TRY(put_weights(*file, request.checkpoint, kAverageFile));
  if (request.for_inference) {
    onnx::GraphProto& graph = *file->model.mutable_graph();
    std::unordered_set<std::string> outputs;
    for (const auto& output : graph.output()) outputs.insert(output.name());
    const int64_t opset = opset_of(file->model);
    const bool reshaped = stop_training(*graph.mutable_node(), outputs, computed_values(graph), opset);
    if (reshaped) graph.clear_value_info();  // optional, and now outdated
    for (onnx::FunctionProto& function : *file->model.mutable_functions())
      stop_training(*function.mutable_node(), {function.output().begin(), function.output().end()}, {}, opset);
  }
  if (is_too_large_for_one_file(*file, request.most_bytes)) {
    PLIMSOLL_ASSIGN(TwoFiles files, write_model_in_two(*file, path));
    return std::move(files.weights);
  }
  PLIMSOLL_ASSIGN(NewFile output, NewFile::create(path));
  PLIMSOLL_TRY(write_model(*file, output.descriptor(), path));
  PLIMSOLL_TRY(output.appear());
  return std::string();
}

}  // namespace plimsoll
