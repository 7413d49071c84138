// The element types of weights in a model's file. The compiler and trainers hold real numbers in f32; a model that
// arrives in f16 or bf16 is widened when it is read and rounded when it is saved.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "runtime/attrs/bf16.h"
#include "runtime/attrs/f16.h"

namespace plimsoll {

enum class FileType : uint8_t {
  same,  // as in memory
  f16,
  bf16,
};

constexpr int64_t bytes_in_file(FileType type, int64_t bytes_in_memory) {
  return type == FileType::same ? bytes_in_memory : bytes_in_memory / 2;
}

constexpr float widened(FileType type, uint16_t bits) {
  return type == FileType::f16 ? widened_f16(bits) : widened(bits);
}
constexpr uint16_t narrowed(FileType type, float value) {
  return type == FileType::f16 ? narrowed_f16(value) : narrowed(value);
}

// The first number that is finite in f32 and infinite in the file.
inline std::optional<float> too_large_for(FileType type, std::span<const std::byte> memory) {
  if (type != FileType::f16) return std::nullopt;
  for (size_t i = 0; i < memory.size() / sizeof(float); ++i) {
    float value = 0;
    std::memcpy(&value, memory.data() + i * sizeof value, sizeof value);
    if (std::abs(value) >= kF16Overflow && std::isfinite(value)) return value;
  }
  return std::nullopt;
}

// Between f32 in memory and the file's elements; `type` is f16 or bf16. Before: `file` has half the bytes of `memory`.
// They may overlap if both begin at the same address.
inline void widen(FileType type, std::span<const std::byte> file, std::span<std::byte> memory) {
  for (size_t i = file.size() / 2; i-- > 0;) {  // backwards: what is written has been read
    uint16_t bits = 0;
    std::memcpy(&bits, file.data() + 2 * i, sizeof bits);
    const float value = widened(type, bits);
    std::memcpy(memory.data() + 4 * i, &value, sizeof value);
  }
}
inline void narrow(FileType type, std::span<const std::byte> memory, std::span<std::byte> file) {
  for (size_t i = 0; i < file.size() / 2; ++i) {
    float value = 0;
    std::memcpy(&value, memory.data() + 4 * i, sizeof value);
    const uint16_t bits = narrowed(type, value);
    std::memcpy(file.data() + 2 * i, &bits, sizeof bits);
  }
}

}  // namespace plimsoll
