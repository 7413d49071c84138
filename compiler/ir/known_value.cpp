#include "compiler/ir/known_value.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

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

}  // namespace

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

std::optional<KnownValue> known_value_of(const ModelTensor& tensor) {
  const std::optional<int64_t> elements = elements_of(tensor);
  if (!elements || *elements > kKnownLimit || !tensor.data) return std::nullopt;
  KnownValue known{.element = tensor.type};
  for (const int64_t dim : tensor.dims) known.dims.push_back({dim});
  const std::string& raw = *tensor.data;
  switch (tensor.type) {
    case ElementType::f32: known.reals = read_reals<float>(raw, [](float item) { return item; }); break;
    case ElementType::f64: known.reals = read_reals<double>(raw, [](double item) { return item; }); break;
    case ElementType::f16: known.reals = read_reals<uint16_t>(raw, half_to_double); break;
    case ElementType::bf16:
      known.reals = read_reals<uint16_t>(raw, [](uint16_t item) { return std::bit_cast<float>(uint32_t{item} << 16); });
      break;
    case ElementType::i64: known.ints = read_ints<int64_t>(raw); break;
    case ElementType::i32: known.ints = read_ints<int32_t>(raw); break;
    case ElementType::i16: known.ints = read_ints<int16_t>(raw); break;
    case ElementType::i8: known.ints = read_ints<int8_t>(raw); break;
    case ElementType::u8: known.ints = read_ints<uint8_t>(raw); break;
    case ElementType::boolean:
      known.ints = read_ints<uint8_t>(raw);
      for (Dim& item : known.ints) item.value = item.value != 0;
      break;
    default: return std::nullopt;
  }
  return known;
}

ModelTensor to_tensor(const KnownValue& known, const std::string& name) {
  ModelTensor tensor{.name = name, .type = known.element};
  for (const Dim dim : known.dims) tensor.dims.push_back(dim.value);
  const size_t count = static_cast<size_t>(known.elements().value());
  std::string raw;
  switch (known.element) {
    case ElementType::f32: write_all<float>(raw, known, count); break;
    case ElementType::i64: write_all<int64_t>(raw, known, count); break;
    case ElementType::i32: write_all<int32_t>(raw, known, count); break;
    default: write_all<uint8_t>(raw, known, count); break;
  }
  tensor.data = std::make_shared<const std::string>(std::move(raw));
  return tensor;
}

}  // namespace plimsoll
