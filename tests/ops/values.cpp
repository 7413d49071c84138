#include "values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "runtime/attrs/bf16.h"
#include "runtime/attrs/f16.h"

namespace plimsoll::test {
namespace {

// One axis after another, blocked axes as two parts: {axis, divisor, size}; index = i[axis] / divisor % size.
struct Part {
  size_t axis;
  int64_t divisor, size;
};

std::vector<Part> parts_of(const TensorDesc& desc) {
  const auto whole = [&](size_t axis) { return Part{axis, 1, desc.dim(axis)}; };
  const auto outer = [&](size_t axis, int64_t block) {
    const int64_t blocks = (desc.dim(axis) + block - 1) / block;
    return Part{axis, block, blocks};
  };
  const auto inner = [](size_t axis, int64_t block) { return Part{axis, 1, block}; };
  const auto channels = [&](int64_t b) { return std::vector{whole(0), outer(1, b), whole(2), whole(3), inner(1, b)}; };
  const auto weights = [&](int64_t b) {
    return std::vector{outer(0, b), outer(1, b), whole(2), whole(3), inner(1, b), inner(0, b)};
  };
  const auto first = [&](int64_t b) { return std::vector{outer(0, b), whole(2), whole(3), whole(1), inner(0, b)}; };
  const auto depthwise = [&](int64_t b) { return std::vector{outer(0, b), whole(1), whole(2), whole(3), inner(0, b)}; };
  switch (desc.layout) {
    case Layout::plain: break;
    case Layout::nChw8c: return channels(8);
    case Layout::nChw16c: return channels(16);
    case Layout::OIhw8i8o: return weights(8);
    case Layout::OIhw16i16o: return weights(16);
    case Layout::Ohwi8o: return first(8);
    case Layout::Ohwi16o: return first(16);
    case Layout::Goihw8g: return depthwise(8);
    case Layout::Goihw16g: return depthwise(16);
    case Layout::nhwc: return {whole(0), whole(2), whole(3), whole(1)};
  }
  std::vector<Part> parts;
  for (size_t axis = 0; axis < desc.rank(); ++axis) parts.push_back(whole(axis));
  return parts;
}

// body(logical offset, physical offset), in elements. A physical offset is a sum with one term for each axis. The terms
// are computed once: gradient tests convert tensors a hundred thousand times.
template <class Body>
void for_each_element(const TensorDesc& desc, Body body) {
  if (desc.elements() == 0) return;
  std::vector<std::vector<int64_t>> terms;
  for (size_t axis = 0; axis < desc.rank(); ++axis) terms.emplace_back(static_cast<size_t>(desc.dim(axis)), 0);
  int64_t stride = 1;
  const std::vector<Part> parts = parts_of(desc);
  for (auto part = parts.rbegin(); part != parts.rend(); stride *= part++->size)
    for (size_t i = 0; i < terms[part->axis].size(); ++i)
      terms[part->axis][i] += static_cast<int64_t>(i) / part->divisor % part->size * stride;
  if (terms.empty()) terms.push_back({0});
  const std::vector<int64_t> inner = std::move(terms.back());
  terms.pop_back();
  std::vector<size_t> index(terms.size(), 0);
  for (size_t logical = 0;;) {
    int64_t outer = 0;
    for (size_t axis = 0; axis < terms.size(); ++axis) outer += terms[axis][index[axis]];
    for (const int64_t term : inner) body(logical++, outer + term);
    size_t axis = terms.size();
    while (axis > 0 && ++index[axis - 1] == terms[axis - 1].size()) index[--axis] = 0;
    if (axis == 0) return;
  }
}

template <class T>
void put_all(const TensorDesc& desc, const Values& values, std::byte* bytes) {
  for_each_element(desc, [&](size_t logical, int64_t physical) {
    const T typed = static_cast<T>(values[logical]);
    std::memcpy(bytes + physical * static_cast<int64_t>(sizeof(T)), &typed, sizeof(T));
  });
}

template <class T>
void get_all(const TensorDesc& desc, const std::byte* bytes, Values& values) {
  for_each_element(desc, [&](size_t logical, int64_t physical) {
    T typed;
    std::memcpy(&typed, bytes + physical * static_cast<int64_t>(sizeof(T)), sizeof(T));
    values[logical] = static_cast<double>(typed);
  });
}

}  // namespace

void store(const TensorDesc& desc, const Values& values, std::byte* bytes) {
  std::memset(bytes, 0, static_cast<size_t>(desc.bytes()));
  switch (desc.type) {
    case DataType::f32: return put_all<float>(desc, values, bytes);
    case DataType::i32: return put_all<int32_t>(desc, values, bytes);
    case DataType::i64: return put_all<int64_t>(desc, values, bytes);
    case DataType::u8: return put_all<uint8_t>(desc, values, bytes);
    case DataType::bf16: return put_all<Bf16>(desc, values, bytes);
    case DataType::f16: return put_all<F16>(desc, values, bytes);
    case DataType::q8: case DataType::uq8: case DataType::i16:
      throw std::logic_error("values of optimizer state in 8 bits, or of half a weight");
  }
}

Values load(const TensorDesc& desc, const std::byte* bytes) {
  Values values(static_cast<size_t>(desc.elements()));
  switch (desc.type) {
    case DataType::f32: get_all<float>(desc, bytes, values); break;
    case DataType::i32: get_all<int32_t>(desc, bytes, values); break;
    case DataType::i64: get_all<int64_t>(desc, bytes, values); break;
    case DataType::u8: get_all<uint8_t>(desc, bytes, values); break;
    case DataType::bf16: get_all<Bf16>(desc, bytes, values); break;
    case DataType::f16: get_all<F16>(desc, bytes, values); break;
    case DataType::q8: case DataType::uq8: case DataType::i16:
      throw std::logic_error("values of optimizer state in 8 bits, or of half a weight");
  }
  return values;
}

Values rows_of(const Values& values, const TensorType& type, int64_t samples, int64_t first, int64_t count) {
  const auto axis = std::find_if(type.dims.begin(), type.dims.end(), [](const Dim& d) { return d.batch; });
  if (axis == type.dims.end()) return values;
  int64_t inside = 1;
  for (auto d = axis + 1; d != type.dims.end(); ++d) inside *= d->value;
  const int64_t row = axis->value * inside, stride = row * samples;
  Values part;
  for (int64_t at = 0; at < static_cast<int64_t>(values.size()); at += stride)
    part.insert(part.end(), values.begin() + at + first * row, values.begin() + at + (first + count) * row);
  return part;
}

double norm(const Values& a) {
  double sum = 0;
  for (const double v : a) sum += v * v;
  return std::sqrt(sum);
}

double distance(const Values& a, const Values& b, double floor) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double sum = 0, squares = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] && std::isinf(b[i])) continue;
    sum += (a[i] - b[i]) * (a[i] - b[i]);
    squares += b[i] * b[i];
  }
  const double relative = std::sqrt(sum) / std::max(std::sqrt(squares), floor);
  return std::isfinite(relative) ? relative : std::numeric_limits<double>::infinity();
}

}  // namespace plimsoll::test
