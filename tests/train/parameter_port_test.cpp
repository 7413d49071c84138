// Parameters of several pieces, in every layout and as reduced state: what is written is read back, and is in the arena
// as if the tensor had been converted as a whole.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/attrs/bf16.h"
#include "runtime/reduced_state.h"
#include "runtime/train/layout.h"
#include "runtime/train/parameter_port.h"

using namespace plimsoll;
using namespace plimsoll::train;

namespace {

constexpr int64_t kOffset = 256;

std::vector<float> numbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 65521) - 32000;
  return values;
}

// The bytes that a whole tensor of these values has.
std::vector<std::byte> laid_out(const TensorDesc& desc, const std::vector<float>& plain) {
  std::vector<float> values(static_cast<size_t>(desc.padded_elements()));
  to_blocked(desc, plain.data(), values.data());
  std::vector<std::byte> bytes(static_cast<size_t>(desc.bytes()));
  if (is_reduced(desc.type)) reduced::from_f32(desc.type, values.data(), desc.padded_elements(), bytes.data());
  else std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

struct Written {
  std::vector<int64_t> begins;
  std::vector<std::byte> in_arena;
  std::vector<float> read;
};

Written written(const ProgramParameter& row, const std::vector<float>& values) {
  const Program program{.model = "net", .generator = "test", .batch = 1, .parameters = std::span(&row, 1)};
  const backend::Arena arena(kOffset + row.desc.bytes());
  ParameterPort port(program, arena, nullptr);
  Written result;
  port.write(row, [&](int64_t at, std::span<std::byte> piece) {
    result.begins.push_back(at);
    std::memcpy(piece.data(), reinterpret_cast<const std::byte*>(values.data()) + at, piece.size());
  });
  result.in_arena.assign(arena.data() + kOffset, arena.data() + kOffset + row.desc.bytes());
  result.read.resize(values.size());
  port.read(row, [&](int64_t at, std::span<const std::byte> piece) {
    std::memcpy(reinterpret_cast<std::byte*>(result.read.data()) + at, piece.data(), piece.size());
  });
  return result;
}

}  // namespace

TEST_CASE("a large parameter is written and read in pieces, as if it were one") {
  const TensorDesc descs[] = {
      f32({1050, 1000}),
      f32({1100, 999}, Layout::nhwc),
      f32({530, 260, 3, 3}, Layout::OIhw16i16o),
      f32({521, 250, 3, 3}, Layout::OIhw8i8o),
      f32({30001, 3, 4, 4}, Layout::Ohwi16o),
      f32({130007, 1, 3, 3}, Layout::Goihw8g),
      f32({40, 100, 600}, Layout::nhwc),
      bf16({1050, 1000}),
      q8({1050, 1001}),
      uq8({2100001}),
      q8({541, 260, 3, 3}, Layout::OIhw16i16o),
  };
  for (const TensorDesc& desc : descs) {
    INFO(name_of(desc.type) << " in " << name_of(desc.layout));
    std::vector<float> values = numbers(desc.elements());
    if (desc.type == DataType::uq8)
      for (float& value : values) value = value < 0 ? -value : value;
    const ProgramParameter row{.name = "w", .desc = desc, .offset = kOffset, .file_offset = -1,
                               .role = is_reduced(desc.type) ? ParameterRole::state : ParameterRole::trained};
    const Written result = written(row, values);
    CHECK(result.begins.size() > 1);
    CHECK(std::is_sorted(result.begins.begin(), result.begins.end()));
    CHECK((result.in_arena == laid_out(desc, values)));
    if (is_reduced(desc.type)) CHECK((laid_out(desc, result.read) == result.in_arena));
    else CHECK((result.read == values));
  }
}

TEST_CASE("a weight in two halves is written and read as one in f32, whatever its layout") {
  for (const TensorDesc& desc : {bf16({1050, 1001}), bf16({530, 260, 3, 3}, Layout::OIhw16i16o)}) {
    INFO(name_of(desc.layout));
    const std::vector<float> given = numbers(desc.elements());
    std::vector<float> values = given;
    for (float& value : values) value *= 1.1F;
    const int64_t low = kOffset + (desc.bytes() + 255) / 256 * 256;
    const ProgramParameter row{.name = "w", .desc = desc, .offset = kOffset, .file_offset = -1,
                               .role = ParameterRole::trained, .low_offset = low};
    const Program program{.model = "net", .generator = "test", .batch = 1, .parameters = std::span(&row, 1)};
    const backend::Arena arena(low + desc.bytes());
    ParameterPort port(program, arena, nullptr);
    port.write(row, [&](int64_t at, std::span<std::byte> piece) {
      std::memcpy(piece.data(), reinterpret_cast<const std::byte*>(values.data()) + at, piece.size());
    });
    std::vector<float> read(values.size());
    port.read(row, [&](int64_t at, std::span<const std::byte> piece) {
      std::memcpy(reinterpret_cast<std::byte*>(read.data()) + at, piece.data(), piece.size());
    });
    CHECK((read == values));
    CHECK(row.bytes_in_file() == 4 * desc.elements());
    // What products read differs from the value by at most half of the last of 8 bits.
    std::vector<float> laid_out(static_cast<size_t>(desc.padded_elements()));
    if (desc.layout == Layout::plain) laid_out = values;
    else to_blocked(desc, values.data(), laid_out.data());
    const auto* const above = reinterpret_cast<const uint16_t*>(arena.data() + kOffset);
    int64_t wrong = 0;
    for (size_t i = 0; i < laid_out.size(); ++i)
      wrong += !(std::abs(widened(above[i]) - laid_out[i]) <= std::abs(laid_out[i]) / 256);
    CHECK(wrong == 0);
  }
}

TEST_CASE("half of a weight in the type of its file is at half the place") {
  const ProgramParameter row{.name = "w", .desc = f32({3, 500000}), .offset = kOffset, .file_offset = 0,
                             .role = ParameterRole::trained, .file_type = FileType::bf16};
  const Program program{.model = "net", .generator = "test", .batch = 1, .parameters = std::span(&row, 1)};
  const backend::Arena arena(kOffset + row.desc.bytes());
  ParameterPort port(program, arena, nullptr);
  const auto value = [](int64_t i) { return static_cast<float>(i % 200); };
  port.write(row, [&](int64_t at, std::span<std::byte> piece) {
    auto* const x = reinterpret_cast<float*>(piece.data());
    for (size_t i = 0; i < piece.size() / sizeof(float); ++i) x[i] = value(at / 4 + static_cast<int64_t>(i));
  });
  int64_t next = 0, wrong = 0;
  port.read_as_in_file(row, [&](int64_t at, std::span<const std::byte> piece) {
    wrong += at != next;
    next = at + static_cast<int64_t>(piece.size());
    const auto* const bits = reinterpret_cast<const uint16_t*>(piece.data());
    for (size_t i = 0; i < piece.size() / 2; ++i)
      wrong += widened(FileType::bf16, bits[i]) != value(at / 2 + static_cast<int64_t>(i));
  });
  CHECK(wrong == 0);
  CHECK(next == row.bytes_in_file());
}
