#include "compiler/ir/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

// By ONNX's numbers. Lower-case names are types that some part of the compiler reads or prints.
constexpr std::array<std::string_view, 27> kElementNames = {
    "UNDEFINED",    "f32",            "u8",         "i8",             "UINT16",    "INT16",      "i32",
    "i64",          "string",         "bool",       "f16",            "f64",       "UINT32",     "UINT64",
    "COMPLEX64",    "COMPLEX128",     "bf16",       "FLOAT8E4M3FN",   "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
    "UINT4",        "INT4",           "FLOAT4E2M1", "FLOAT8E8M0",     "UINT2",     "INT2"};

template <class T>
const T& held(const ModelAttribute& attribute) {
  static const T nothing = {};
  const T* found = std::get_if<T>(&attribute.value);
  return found ? *found : nothing;
}

}  // namespace

bool is_real(ElementType element) {
  return element == ElementType::f32 || element == ElementType::f64 || element == ElementType::f16 ||
         element == ElementType::bf16;
}

bool is_narrow(ElementType element) { return element == ElementType::f16 || element == ElementType::bf16; }

FileType file_type_of(ElementType element) {
  return element == ElementType::f16 ? FileType::f16 : element == ElementType::bf16 ? FileType::bf16 : FileType::same;
}

std::string element_name(ElementType element) {
  const auto number = static_cast<size_t>(element);
  if (number >= kElementNames.size()) return fmt::format("type {}", static_cast<int>(element));
  return std::string(kElementNames[number]);
}

std::optional<DataType> data_type_of(ElementType element) {
  switch (element) {
    case ElementType::f32: return DataType::f32;
    case ElementType::i32: return DataType::i32;
    case ElementType::i64: return DataType::i64;
    case ElementType::u8: case ElementType::boolean: return DataType::u8;
    default: return std::nullopt;
  }
}

std::optional<int64_t> elements_of(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    const std::optional<int64_t> product = checked_mul(count, dim);
    if (!product || *product > kElementLimit) return std::nullopt;
    count = *product;
  }
  return count;
}

int64_t ModelAttribute::integer() const { return held<int64_t>(*this); }
float ModelAttribute::real() const { return held<float>(*this); }
const std::string& ModelAttribute::text() const { return held<std::string>(*this); }
const std::vector<int64_t>& ModelAttribute::integers() const { return held<std::vector<int64_t>>(*this); }
const std::vector<float>& ModelAttribute::reals() const { return held<std::vector<float>>(*this); }
const std::vector<std::string>& ModelAttribute::texts() const { return held<std::vector<std::string>>(*this); }
const ModelTensor& ModelAttribute::tensor() const { return held<ModelTensor>(*this); }

const ModelAttribute* find_attribute(const ModelNode& node, std::string_view name) {
  const auto found = std::find_if(node.attributes.begin(), node.attributes.end(),
                                  [&](const ModelAttribute& attribute) { return attribute.name == name; });
  return found == node.attributes.end() ? nullptr : &*found;
}

std::string describe(const ModelNode& node) {
  if (node.name.empty() && !node.outputs.empty())
    return fmt::format("the node that produces '{}' ({})", node.outputs[0], node.op);
  return fmt::format("node '{}' ({})", node.name, node.op);
}

}  // namespace plimsoll
