#include "compiler/import/tensor_data.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

using onnx::TensorProto;

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

// nullopt: strings, types of less than a byte, complex numbers.
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

// The typed field that the element type asks for, as raw bytes.
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

double half_to_double(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const double sign = half & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction ? std::nan("") : sign * HUGE_VAL;
  return sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
}

template <class T>
std::vector<Dim> read_ints(const std::string& raw) {
  std::vector<Dim> ints(raw.size() / sizeof(T));
  for (size_t i = 0; i < ints.size(); ++i) {
    T item;
    std::memcpy(&item, raw.data() + i * sizeof(T), sizeof(T));
    ints[i] = {static_cast<int64_t>(item)};
  }
  return ints;
}

template <class T, class Convert>
std::vector<double> read_reals(const std::string& raw, Convert convert) {
  std::vector<double> reals(raw.size() / sizeof(T));
  for (size_t i = 0; i < reals.size(); ++i) {
    T item;
    std::memcpy(&item, raw.data() + i * sizeof(T), sizeof(T));
    reals[i] = convert(item);
  }
  return reals;
}

template <class T>
void write_all(std::string& raw, const KnownValue& known, size_t count) {
  raw.resize(count * sizeof(T));
  for (size_t i = 0; i < count; ++i) {
    const T item = known.real() ? static_cast<T>(known.number(i)) : static_cast<T>(known.integer(i).value);
    std::memcpy(raw.data() + i * sizeof(T), &item, sizeof(T));
  }
}

std::string shape_text(const TensorProto& tensor) {
  std::string text = element_name(tensor.data_type()) + "[";
  for (int i = 0; i < tensor.dims_size(); ++i) text += (i ? "," : "") + std::to_string(tensor.dims(i));
  return text + "]";
}

}  // namespace

bool is_real(int element) {
  return element == TensorProto::FLOAT || element == TensorProto::DOUBLE || element == TensorProto::FLOAT16 ||
         element == TensorProto::BFLOAT16;
}

bool KnownValue::real() const { return is_real(element); }

bool KnownValue::depends_on_batch() const {
  for (const Dim dim : dims)
    if (dim.batch) return true;
  for (const Dim dim : ints)
    if (dim.batch) return true;
  return false;
}

std::optional<int64_t> KnownValue::elements() const {
  int64_t count = 1;
  for (const Dim dim : dims) {
    if (dim.batch) return std::nullopt;
    const std::optional<int64_t> product = checked_mul(count, dim.value);
    if (!product || *product > kElementLimit) return std::nullopt;
    count = *product;
  }
  return count;
}

std::string element_name(int element) {
  switch (element) {
    case TensorProto::FLOAT: return "f32";
    case TensorProto::DOUBLE: return "f64";
    case TensorProto::FLOAT16: return "f16";
    case TensorProto::BFLOAT16: return "bf16";
    case TensorProto::INT32: return "i32";
    case TensorProto::INT64: return "i64";
    case TensorProto::UINT8: return "u8";
    case TensorProto::INT8: return "i8";
    case TensorProto::BOOL: return "bool";
    case TensorProto::STRING: return "string";
    default: return onnx::TensorProto_DataType_IsValid(element)
                        ? onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(element))
                        : fmt::format("type {}", element);
  }
}

std::optional<DataType> data_type_of(int element) {
  switch (element) {
    case TensorProto::FLOAT: return DataType::f32;
    case TensorProto::INT32: return DataType::i32;
    case TensorProto::INT64: return DataType::i64;
    case TensorProto::UINT8: case TensorProto::BOOL: return DataType::u8;
    default: return std::nullopt;
  }
}

std::optional<int64_t> elements_of(const TensorProto& tensor) {
  int64_t count = 1;
  for (const int64_t dim : tensor.dims()) {
    if (dim < 0) return std::nullopt;
    const std::optional<int64_t> product = checked_mul(count, dim);
    if (!product || *product > kElementLimit) return std::nullopt;
    count = *product;
  }
  return count;
}

Status normalise_data(TensorProto& tensor, ModelDirectory& directory, const std::string& who) {
  const std::optional<int64_t> elements = elements_of(tensor);
  if (!elements)
    return Error{ExitCode::invalid_model, fmt::format("{}: the shape {} is negative or too large", who, shape_text(tensor))};
  if (tensor.has_segment())
    return Error{ExitCode::unsupported, fmt::format("{}: tensors in segments are not read", who)};
  if (!onnx::TensorProto_DataType_IsValid(tensor.data_type()) || tensor.data_type() == TensorProto::UNDEFINED)
    return Error{ExitCode::invalid_model, fmt::format("{}: unknown element type {}", who, tensor.data_type())};

  const std::optional<int64_t> width = bytes_of_element(tensor.data_type());
  if (!width) return {};  // refused where it is used, by the name of its type
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    if (tensor.has_raw_data() || typed_count(tensor) > 0)
      return Error{ExitCode::invalid_model, fmt::format("{}: has data both inside the file and outside", who)};
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
                 fmt::format("{}: {} needs {} bytes of data, it has {}", who, shape_text(tensor), *elements * *width,
                             tensor.raw_data().size())};
  return {};
}

std::optional<KnownValue> known_value_of(const TensorProto& tensor) {
  const std::optional<int64_t> elements = elements_of(tensor);
  if (!elements || *elements > kKnownLimit || tensor.data_location() == TensorProto::EXTERNAL) return std::nullopt;
  KnownValue known{.element = tensor.data_type()};
  for (const int64_t dim : tensor.dims()) known.dims.push_back({dim});
  const std::string& raw = tensor.raw_data();
  switch (tensor.data_type()) {
    case TensorProto::FLOAT: known.reals = read_reals<float>(raw, [](float item) { return item; }); break;
    case TensorProto::DOUBLE: known.reals = read_reals<double>(raw, [](double item) { return item; }); break;
    case TensorProto::FLOAT16: known.reals = read_reals<uint16_t>(raw, half_to_double); break;
    case TensorProto::BFLOAT16:
      known.reals = read_reals<uint16_t>(raw, [](uint16_t item) { return std::bit_cast<float>(uint32_t{item} << 16); });
      break;
    case TensorProto::INT64: known.ints = read_ints<int64_t>(raw); break;
    case TensorProto::INT32: known.ints = read_ints<int32_t>(raw); break;
    case TensorProto::INT16: known.ints = read_ints<int16_t>(raw); break;
    case TensorProto::INT8: known.ints = read_ints<int8_t>(raw); break;
    case TensorProto::UINT8: known.ints = read_ints<uint8_t>(raw); break;
    case TensorProto::BOOL:
      known.ints = read_ints<uint8_t>(raw);
      for (Dim& item : known.ints) item.value = item.value != 0;
      break;
    default: return std::nullopt;
  }
  return known;
}

TensorProto to_tensor(const KnownValue& known, const std::string& name) {
  TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(known.element);
  for (const Dim dim : known.dims) tensor.add_dims(dim.value);
  const size_t count = static_cast<size_t>(known.elements().value());
  std::string& raw = *tensor.mutable_raw_data();
  switch (known.element) {
    case TensorProto::FLOAT: write_all<float>(raw, known, count); break;
    case TensorProto::INT64: write_all<int64_t>(raw, known, count); break;
    case TensorProto::INT32: write_all<int32_t>(raw, known, count); break;
    default: write_all<uint8_t>(raw, known, count); break;
  }
  return tensor;
}

}  // namespace plimsoll
