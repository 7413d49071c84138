// A model as its ONNX file has it: plain data, without Protobuf. compiler/import fills it from a file and writes it back.
// compiler/network/simplify makes a Network of it.
//
// What a file says is here one to one: nothing is evaluated or renamed. Left out is what nobody reads: subgraphs, doc strings.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "runtime/attrs/tensor.h"

namespace plimsoll {

// Types of elements, by ONNX's numbers, which attributes of nodes hold, too (`to` of a Cast). A number that is no type of
// ONNX is kept.
enum class ElementType : int {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  text = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  bf16 = 16,
  // Further types of ONNX are only named (element_name).
};

bool is_real(ElementType element);
std::string element_name(ElementType element);               // "f16"
std::optional<DataType> data_type_of(ElementType element);  // nullopt: no kernel has it

// Tensors with more elements are refused as damaged: products of their dimensions with strides and bytes still fit.
inline constexpr int64_t kElementLimit = int64_t{1} << 48;

// Models with more bytes of weights are refused: one ONNX file is one message of Protobuf.
inline constexpr int64_t kModelBytesLimit = 0x7fffffff;

struct ModelTensor {
  std::string name = {};
  ElementType type = ElementType::undefined;
  std::vector<int64_t> dims = {};
  // Little-endian, row-major, of exactly the size of the shape. Shared with the file, so that a model is held once. Null: of
  // a type whose elements are not read, or they lie beside the model and were only looked at.
  std::shared_ptr<const std::string> data = {};
  bool stays_outside = false;
  int64_t bad_numbers = 0;  // of what stays outside: infinite or not a number
};

std::optional<int64_t> elements_of(const std::vector<int64_t>& dims);  // nullopt: negative or beyond kElementLimit
inline std::optional<int64_t> elements_of(const ModelTensor& tensor) { return elements_of(tensor.dims); }

struct ModelAttribute {
  std::string name = {};
  // Of graphs, types and sparse tensors, which no operator here reads: nothing.
  std::variant<std::monostate, int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
               std::vector<std::string>, ModelTensor>
      value = {};

  // What it holds, or zero or nothing where it holds something else.
  int64_t integer() const;
  ElementType element() const { return static_cast<ElementType>(integer()); }  // as `to` of a Cast has it
  float real() const;
  const std::string& text() const;
  const std::vector<int64_t>& integers() const;
  const std::vector<float>& reals() const;
  const std::vector<std::string>& texts() const;
  const ModelTensor& tensor() const;
};

struct MetadataEntry {
  std::string key = {};
  std::string value = {};
};
using Metadata = std::vector<MetadataEntry>;

struct ModelNode {
  std::string op = {};
  std::string domain = {};
  std::string name = {};
  std::vector<std::string> inputs = {};   // empty: left out
  std::vector<std::string> outputs = {};
  std::vector<ModelAttribute> attributes = {};
  Metadata metadata = {};
};

inline bool is_onnx_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }
inline bool is_of_onnx(const ModelNode& node) { return is_onnx_domain(node.domain); }

const ModelAttribute* find_attribute(const ModelNode& node, std::string_view name);

// "node 'conv1' (Conv)", or by its first output where it has no name.
std::string describe(const ModelNode& node);

// A dimension that is a number, has a name, or is left open.
struct DeclaredDim {
  std::optional<int64_t> size = {};
  std::string symbol = {};
};

// An input or output of the graph, or a value in between of which the file says something.
struct DeclaredValue {
  std::string name = {};
  bool is_tensor = false;
  ElementType type = ElementType::undefined;
  std::optional<std::vector<DeclaredDim>> dims = {};  // nullopt: no shape
  Metadata metadata = {};
};

// What plimsoll.export says of a model (compiler/import/author.h).
struct AuthorNotes {
  std::unordered_set<std::string> trained = {}, frozen = {}, buffers = {}, detached = {};
  std::unordered_map<std::string, int64_t> padding = {};
  bool modes_are_stated = false;
};

struct Model {
  std::string name = {};
  std::string producer = {};  // "pytorch"
  int64_t opset = 0;          // of the domain ai.onnx
  std::vector<ModelNode> nodes = {};
  std::vector<ModelTensor> initializers = {};
  std::vector<DeclaredValue> inputs = {}, outputs = {}, values = {};
  Metadata metadata = {};  // of the graph
  std::optional<AuthorNotes> author = {};
};

}  // namespace plimsoll
