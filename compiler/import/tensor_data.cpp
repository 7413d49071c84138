#include "compiler/import/tensor_data.h"

#include <fmt/format.h>

#include <bit>
#include <vector>

#include "compiler/ir/model.h"

namespace plimsoll {
namespace {

using onnx::TensorProto;

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

// nullopt: strings, types smaller than a byte, complex numbers.
std::optional<int64_t> bytes_of_element(int element) {
  switch (element) {
    case TensorProto::UINT8: case TensorProto::INT8: case TensorProto::BOOL: return 1;
    case TensorProto::UINT16: case TensorProto::INT16: case TensorProto::FLOAT16: case TensorProto::BFLOAT16: return 2;
    case TensorProto::FLOAT: case TensorProto::INT32: case TensorProto::UINT32: return 4;
    case TensorProto::DOUBLE: case TensorProto::INT64: case TensorProto::UINT64: return 8;
    case TensorProto::FLOAT8E4M3FN: case TensorProto::FLOAT8E4M3FNUZ: case TensorProto::FLOAT8E5M2:
    case TensorProto::FLOAT8E5M2FNUZ: case TensorProto::FLOAT8E8M0: return 1;
    default: return std::nullopt;
  }
}

template <class T, class Field>
void append_as(std::string& raw, const Field& field) {
  raw.reserve(static_cast<size_t>(field.size()) * sizeof(T));
  for (const auto item : field) {
    const T narrow = static_cast<T>(item);
    raw.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
  }
}

int typed_count(const TensorProto& tensor) {
  return tensor.float_data_size() + tensor.int32_data_size() + tensor.int64_data_size() + tensor.double_data_size() +
         tensor.uint64_data_size() + tensor.string_data_size();
}

// The contents of the typed field for the element type, as raw bytes.
std::string raw_of_typed(const TensorProto& tensor) {
  std::string raw;
  switch (tensor.data_type()) {
    case TensorProto::FLOAT: append_as<float>(raw, tensor.float_data()); break;
    case TensorProto::DOUBLE: append_as<double>(raw, tensor.double_data()); break;
    case TensorProto::INT64: append_as<int64_t>(raw, tensor.int64_data()); break;
    case TensorProto::UINT64: append_as<uint64_t>(raw, tensor.uint64_data()); break;
    case TensorProto::UINT32: append_as<uint32_t>(raw, tensor.uint64_data()); break;
    case TensorProto::INT32: append_as<int32_t>(raw, tensor.int32_data()); break;
    case TensorProto::INT16: case TensorProto::UINT16: case TensorProto::FLOAT16: case TensorProto::BFLOAT16:
      append_as<uint16_t>(raw, tensor.int32_data()); break;
    default: append_as<uint8_t>(raw, tensor.int32_data()); break;
  }
  return raw;
}

std::string shape_text(const TensorProto& tensor) {
  std::string text = element_name(static_cast<ElementType>(tensor.data_type())) + "[";
  for (int i = 0; i < tensor.dims_size(); ++i) text += (i ? "," : "") + std::to_string(tensor.dims(i));
  return text + "]";
}

}  // namespace

std::optional<int64_t> elements_of(const TensorProto& tensor) {
  return elements_of(std::vector<int64_t>(tensor.dims().begin(), tensor.dims().end()));
}

Status normalise_data(TensorProto& tensor, ModelDirectory& directory, const std::string& who) {
  const std::optional<int64_t> elements = elements_of(tensor);
  if (!elements)
    return Error{ExitCode::invalid_model,
                 fmt::format("{}: the shape {} is negative or too large", who, shape_text(tensor))};
  if (tensor.has_segment())
    return Error{ExitCode::unsupported, fmt::format("{}: segmented tensors are not supported", who)};
  if (!onnx::TensorProto_DataType_IsValid(tensor.data_type()) || tensor.data_type() == TensorProto::UNDEFINED)
    return Error{ExitCode::invalid_model, fmt::format("{}: unknown element type {}", who, tensor.data_type())};

  const std::optional<int64_t> width = bytes_of_element(tensor.data_type());
  if (!width) return {};  // rejected at its use, by the name of its type
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    if (tensor.has_raw_data() || typed_count(tensor) > 0)
      return Error{ExitCode::invalid_model, fmt::format("{}: has both internal and external data", who)};
    PLIMSOLL_ASSIGN(std::string data, directory.read(tensor, *elements * *width, who));
    tensor.set_raw_data(std::move(data));
    tensor.clear_external_data();
    tensor.clear_data_location();
  } else if (tensor.has_raw_data()) {
    if (typed_count(tensor) > 0)
      return Error{ExitCode::invalid_model, fmt::format("{}: has both raw and typed data", who)};
  } else {
    tensor.set_raw_data(raw_of_typed(tensor));
    tensor.clear_float_data();
    tensor.clear_int32_data();
    tensor.clear_int64_data();
    tensor.clear_double_data();
    tensor.clear_uint64_data();
  }
  if (static_cast<int64_t>(tensor.raw_data().size()) != *elements * *width)
    return Error{ExitCode::invalid_model,
                 fmt::format("{}: {} needs {} bytes of data, but has {}", who, shape_text(tensor), *elements * *width,
                             tensor.raw_data().size())};
  return {};
}

}  // namespace plimsoll
