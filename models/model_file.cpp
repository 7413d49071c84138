#include "models/model_file.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "compiler/import/model_file.h"
#include "compiler/support/bytes.h"
#include "compiler/support/new_file.h"
#include "compiler/support/new_pair.h"
#include "models/weights.h"

namespace plimsoll {
namespace {

// A protobuf message is limited to 2^31 - 1 bytes; some readers have a slightly lower limit.
constexpr int64_t kLargestMessage = (int64_t{1} << 31) - (int64_t{1} << 20);
constexpr int64_t kPage = 4096;
constexpr int64_t kPiece = int64_t{1} << 18;  // elements generated at a time

// Field numbers of onnx.proto.
constexpr int kGraphOfModel = 7, kInitializerOfGraph = 5, kRawDataOfTensor = 9;

void append_varint(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
}

// Tag and length of a field that is a message or a string.
void append_header(std::string& bytes, int field, int64_t length) {
  append_varint(bytes, static_cast<uint64_t>(field) << 3 | 2);
  append_varint(bytes, static_cast<uint64_t>(length));
}

onnx::TensorProto tensor_of(const InitialWeight& weight) {
  onnx::TensorProto tensor;
  for (const int64_t dim : weight.dims) tensor.add_dims(dim);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.set_name(weight.name);
  return tensor;
}

Status write_elements(NewFile& file, const InitialWeight& weight, uint64_t seed) {
  const int64_t elements = weight.elements();
  const uint64_t key = weight_key(seed, weight.name);
  std::vector<float> piece(static_cast<size_t>(std::min(elements, kPiece)), weight.value);
  for (int64_t first = 0; first < elements; first += kPiece) {
    const std::span<float> part(piece.data(), static_cast<size_t>(std::min(kPiece, elements - first)));
    if (weight.deviation > 0) fill_normal(part, key, first, weight.deviation);
    PLIMSOLL_TRY(file.write({reinterpret_cast<const char*>(part.data()), part.size_bytes()}));
  }
  return {};
}

// Describes the initializers as external data in the file `location`. Returns the size of that file.
int64_t describe_outside(onnx::GraphProto& graph, const std::vector<InitialWeight>& weights,
                         const std::string& location) {
  int64_t offset = 0;
  for (const InitialWeight& weight : weights) {
    onnx::TensorProto& tensor = *graph.add_initializer() = tensor_of(weight);
    const int64_t bytes = 4 * weight.elements();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto entry = [&](const std::string& key, const std::string& value) {
      onnx::StringStringEntryProto& pair = *tensor.add_external_data();
      pair.set_key(key);
      pair.set_value(value);
    };
    entry("location", location);
    entry("offset", std::to_string(offset));
    entry("length", std::to_string(bytes));
    offset = align_up(offset + bytes, kPage);
  }
  return offset;
}

// The name of the data file, as in onnx's own tools: the model's name with ".data" appended.
Result<std::string> write_outside(const onnx::ModelProto& model, const std::vector<InitialWeight>& weights,
                                  const InitOptions& options, const std::string& path) {
  int64_t bytes = 0;
  const auto skeleton = [&](const std::string& name) {
    onnx::ModelProto described = model;
    bytes = describe_outside(*described.mutable_graph(), weights, name);
    return described.SerializeAsString();
  };
  const auto fill = [&](NewFile& data) -> Status {
    if (options.zeros) return data.extend(bytes);
    const std::string padding(kPage, '\0');
    for (const InitialWeight& weight : weights) {
      PLIMSOLL_TRY(write_elements(data, weight, options.seed));
      PLIMSOLL_TRY(data.write(std::string_view(padding).substr(
          0, static_cast<size_t>(align_up(4 * weight.elements(), kPage) - 4 * weight.elements()))));
    }
    return {};
  };
  const std::string name = std::filesystem::path(path).filename().string();
  return write_pair({.path = path, .beside = {name + ".data", weights_name(name)}}, skeleton, fill);
}

// A graph is one message preceded by its length, so all lengths are computed before the first element is generated:
//   model fields | graph: tag, length | graph fields | initializer: tag, length | tensor fields |
//   raw_data: tag, length | …
Status write_inside(onnx::ModelProto model, const std::vector<InitialWeight>& weights, const InitOptions& options,
                    const std::string& path) {
  const std::string graph = model.graph().SerializeAsString();
  model.clear_graph();
  std::vector<std::string> headers;
  int64_t length = static_cast<int64_t>(graph.size());
  for (const InitialWeight& weight : weights) {
    const int64_t bytes = 4 * weight.elements();
    std::string tensor = tensor_of(weight).SerializeAsString();
    append_header(tensor, kRawDataOfTensor, bytes);
    std::string header;
    append_header(header, kInitializerOfGraph, static_cast<int64_t>(tensor.size()) + bytes);
    header += tensor;
    length += static_cast<int64_t>(header.size()) + bytes;
    headers.push_back(std::move(header));
  }
  PLIMSOLL_ASSIGN(NewFile file, NewFile::create(path));
  std::string front = model.SerializeAsString();
  append_header(front, kGraphOfModel, length);
  PLIMSOLL_TRY(file.write(front));
  PLIMSOLL_TRY(file.write(graph));
  for (size_t i = 0; i < weights.size(); ++i) {
    PLIMSOLL_TRY(file.write(headers[i]));
    PLIMSOLL_TRY(write_elements(file, weights[i], options.seed));
  }
  return file.appear();
}

}  // namespace

Result<std::string> write_model_file(const onnx::ModelProto& model, const std::vector<InitialWeight>& weights,
                                     const InitOptions& options, const std::string& path) {
  int64_t bytes = static_cast<int64_t>(model.ByteSizeLong());
  for (const InitialWeight& weight : weights) {
    constexpr int64_t description = 96;  // upper bound for tags, lengths and dimensions
    bytes += 4 * weight.elements() + description + static_cast<int64_t>(weight.name.size());
  }
  if (options.zeros || bytes > kLargestMessage) return write_outside(model, weights, options, path);
  PLIMSOLL_TRY(write_inside(model, weights, options, path));
  return std::string();
}

}  // namespace plimsoll
