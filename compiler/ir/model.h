// A model as in its ONNX file: plain data, without Protobuf. compiler/import reads and writes it.
// compiler/network/simplify makes a Network from it.
//
// It mirrors the file one to one: nothing is evaluated or renamed. Only unused parts are omitted: subgraphs other than
// the branches of an If, doc strings.
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

#include "runtime/attrs/file_type.h"
#include "runtime/attrs/tensor.h"

namespace plimsoll {

// Element types, by ONNX's numbers, which node attributes hold too (`to` of a Cast). Numbers unknown to ONNX are kept.
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
bool is_narrow(ElementType element);  // f16 or bf16
FileType file_type_of(ElementType element);
std::string element_name(ElementType element);               // "f16"
std::optional<DataType> data_type_of(ElementType element);  // nullopt: no kernel supports it

// Larger tensors are refused as damaged. Below this limit, products of dimensions, strides and bytes do not overflow.
inline constexpr int64_t kElementLimit = int64_t{1} << 48;

// Models with more bytes of weights are refused: an ONNX file is a single Protobuf message.
inline constexpr int64_t kModelBytesLimit = 0x7fffffff;

struct ModelTensor {
  std::string name = {};
  ElementType type = ElementType::undefined;
  std::vector<int64_t> dims = {};
  // Little-endian, row-major, exactly the size of the shape. Shared with the file, so that a model is in memory only
  // once. Null: the elements of this type are not read, or they are in an external file that was only scanned.
  std::shared_ptr<const std::string> data = {};
  bool stays_outside = false;
  int64_t bad_numbers = 0;  // of external data: number of infinite or NaN elements
};

std::optional<int64_t> elements_of(const std::vector<int64_t>& dims);  // nullopt: negative or above kElementLimit
inline std::optional<int64_t> elements_of(const ModelTensor& tensor) { return elements_of(tensor.dims); }

struct ModelAttribute {
  std::string name = {};
  // Empty for graphs, types and sparse tensors, which no operator here reads.
  std::variant<std::monostate, int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
               std::vector<std::string>, ModelTensor>
      value = {};

  // The value if it has this type, else zero or empty.
  int64_t integer() const;
  ElementType element() const { return static_cast<ElementType>(integer()); }  // for example `to` of a Cast
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

struct ModelBranches;

struct ModelNode {
  std::string op = {};
  std::string domain = {};
  std::string name = {};
  std::vector<std::string> inputs = {};   // empty: omitted
  std::vector<std::string> outputs = {};
  std::vector<ModelAttribute> attributes = {};
  Metadata metadata = {};
  std::shared_ptr<const ModelBranches> branches = {};  // of an If or a SequenceMap
  // Made by a pass: the operator as in the newest opset, whatever the model's opset is.
  bool newest = false;
  std::string refusal = {};  // why a pass could not replace the node; empty: no pass tried
};

// A graph inside a node. Its nodes may also read values that are defined outside.
struct ModelGraph {
  std::vector<std::string> inputs = {};
  std::vector<ModelNode> nodes = {};
  std::vector<ModelTensor> initializers = {};
  std::vector<std::string> outputs = {};
};

struct ModelBranches {
  ModelGraph where_true = {}, where_false = {};  // of an If
  ModelGraph each = {};                          // of a SequenceMap: for each tensor of the sequence
};

inline bool is_onnx_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }
inline bool is_of_onnx(const ModelNode& node) { return is_onnx_domain(node.domain); }

const ModelAttribute* find_attribute(const ModelNode& node, std::string_view name);

// "node 'conv1' (Conv)", with the first output's name if it has none.
std::string describe(const ModelNode& node);

// A dimension: a number, a symbol, or unspecified.
struct DeclaredDim {
  std::optional<int64_t> size = {};
  std::string symbol = {};
};

// An input or output of the graph, or an intermediate value described in the file.
struct DeclaredValue {
  std::string name = {};
  bool is_tensor = false;
  ElementType type = ElementType::undefined;
  std::optional<std::vector<DeclaredDim>> dims = {};  // nullopt: unknown shape
  Metadata metadata = {};
};

// What plimsoll.export records about a model (compiler/import/author.h).
struct AuthorNotes {
  std::unordered_set<std::string> trained = {}, frozen = {}, buffers = {}, detached = {};
  std::unordered_map<std::string, int64_t> padding = {};
  bool modes_are_stated = false;
};

struct Model {
  std::string name = {};
  std::string producer = {};  // "pytorch"
  int64_t opset = 0;          // of the domain ai.onnx
  std::string optimizer = {};  // "onnxruntime" or "onnxsim", if the file says that it wrote it
  std::vector<ModelNode> nodes = {};
  std::vector<ModelTensor> initializers = {};
  std::vector<DeclaredValue> inputs = {}, outputs = {}, values = {};
  Metadata metadata = {};  // of the graph
  std::optional<AuthorNotes> author = {};
  // After pass widen: values that are f16 or bf16 in the file, and f32 here.
  std::unordered_map<std::string, ElementType> in_file = {};
};

}  // namespace plimsoll
