// The description of a tensor shared by compiler and runtime: element type, dimensions and memory layout. A TensorDesc
// is concrete (every dimension is a number) and constexpr, so generated code contains it as data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>

namespace plimsoll {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();  // as an attribute in generated code

// bf16: the upper half of an f32, so the same range with 8 significant bits. f16: IEEE binary16, 11 significant bits up
// to 65504. A kernel computes with both in f32.
// q8, uq8: optimizer state in 8 bits, with a scale for each block of elements (runtime/reduced_state.h). uq8 has no
// sign.
// i16: the lower halves of f32 numbers whose upper halves are in bf16: weights that are read in bf16
// (runtime/split_weight.h).
enum class DataType : uint8_t { f32, i32, i64, u8, bf16, q8, uq8, f16, i16 };

// Of one element. In blocks, that of the code.
constexpr int64_t bytes_of(DataType type) {
  switch (type) {
    case DataType::i64: return 8;
    case DataType::bf16: case DataType::f16: case DataType::i16: return 2;
    case DataType::u8: case DataType::q8: case DataType::uq8: return 1;
    case DataType::f32: case DataType::i32: break;
  }
  return 4;
}

constexpr bool is_in_blocks(DataType type) { return type == DataType::q8 || type == DataType::uq8; }

// A block in memory: its scale in f32, then a code for each element. Only the last one may be shorter.
inline constexpr int64_t kBlockElements = 256;
inline constexpr int64_t kScaleBytes = 4;

constexpr int64_t bytes_of(DataType type, int64_t elements) {
  const int64_t scales = is_in_blocks(type) ? (elements + kBlockElements - 1) / kBlockElements * kScaleBytes : 0;
  return elements * bytes_of(type) + scales;
}

// Real numbers in 16 bits, which kernels read and write as elements.
constexpr bool is_narrow(DataType type) { return type == DataType::bf16 || type == DataType::f16; }

// The types of activations, gradients and weights; the others are counts, indices and truth values.
constexpr bool is_real(DataType type) { return type == DataType::f32 || is_narrow(type); }

// Real numbers in fewer bytes than f32.
constexpr bool is_reduced(DataType type) { return is_narrow(type) || is_in_blocks(type); }
inline constexpr std::array kReducedTypes = {DataType::bf16, DataType::q8, DataType::uq8, DataType::f16};

// Physical order of the elements. `plain` is row-major in the order of the dimensions. In a blocked layout, the
// lower-case axis that is repeated with a number is split into blocks of that size (oneDNN's names). An axis that is
// not a multiple of its block is padded, so a tensor's bytes depend on its layout, not only on its shape.
enum class Layout : uint8_t {
  plain,
  nChw8c, nChw16c,          // activations
  OIhw8i8o, OIhw16i16o,     // convolution weights
  Ohwi8o, Ohwi16o,          // for a first convolution with few input channels
  Goihw8g, Goihw16g,        // depthwise
  nhwc,                     // channels last: activations, and convolution weights as [O, H, W, I]
};

inline constexpr std::array<std::string_view, 10> kLayoutNames = {
    "plain", "nChw8c", "nChw16c", "OIhw8i8o", "OIhw16i16o", "Ohwi8o", "Ohwi16o", "Goihw8g", "Goihw16g", "nhwc"};
inline constexpr std::array<std::string_view, 9> kDataTypeNames = {"f32", "i32", "i64", "u8", "bf16",
                                                                   "q8",  "uq8", "f16", "i16"};

constexpr std::string_view name_of(Layout layout) { return kLayoutNames[static_cast<size_t>(layout)]; }
constexpr std::string_view name_of(DataType type) { return kDataTypeNames[static_cast<size_t>(type)]; }

// Channels per block of an activation's layout; 0 if it is not blocked.
constexpr int block_of(Layout layout) { return layout == Layout::nChw16c ? 16 : layout == Layout::nChw8c ? 8 : 0; }

inline constexpr int kMaxRank = 8;

// A short list of integers with inline storage: dimensions, strides, permutations.
struct IntList {
  int32_t count = 0;
  std::array<int64_t, kMaxRank> items = {};

  constexpr IntList() = default;
  constexpr IntList(std::initializer_list<int64_t> list) {
    for (int64_t item : list) items[static_cast<size_t>(count++)] = item;
  }
  constexpr size_t size() const { return static_cast<size_t>(count); }
  constexpr int64_t operator[](size_t i) const { return items[i]; }
  constexpr int64_t& operator[](size_t i) { return items[i]; }
  constexpr const int64_t* begin() const { return items.data(); }
  constexpr const int64_t* end() const { return items.data() + count; }
  constexpr void push_back(int64_t item) { items[static_cast<size_t>(count++)] = item; }
  friend constexpr bool operator==(const IntList&, const IntList&) = default;
};

struct TensorDesc {
  DataType type = DataType::f32;
  IntList dims = {};  // logical, in ONNX order; rank 0 is a scalar
  Layout layout = Layout::plain;

  constexpr size_t rank() const { return dims.size(); }
  constexpr int64_t dim(size_t axis) const { return dims[axis]; }
  // Logical elements, without padding.
  constexpr int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
  // Elements in memory, including padding.
  constexpr int64_t padded_elements() const {
    IntList padded = dims;
    const auto pad = [&](size_t axis, int64_t block) { padded[axis] = (padded[axis] + block - 1) / block * block; };
    switch (layout) {
      case Layout::plain: case Layout::nhwc: break;
      case Layout::nChw8c: pad(1, 8); break;
      case Layout::nChw16c: pad(1, 16); break;
      case Layout::OIhw8i8o: pad(0, 8); pad(1, 8); break;
      case Layout::OIhw16i16o: pad(0, 16); pad(1, 16); break;
      case Layout::Ohwi8o: case Layout::Goihw8g: pad(0, 8); break;
      case Layout::Ohwi16o: case Layout::Goihw16g: pad(0, 16); break;
    }
    int64_t n = 1;
    for (int64_t d : padded) n *= d;
    return n;
  }
  constexpr int64_t bytes() const { return bytes_of(type, padded_elements()); }
  friend constexpr bool operator==(const TensorDesc&, const TensorDesc&) = default;
};

// How a task accesses an operand. An absent operand (an optional bias) keeps its slot.
enum class Access : uint8_t { absent, read, write, update };

struct OperandDesc {
  TensorDesc tensor = {};
  Access access = Access::absent;
  friend constexpr bool operator==(const OperandDesc&, const OperandDesc&) = default;
};

// Short forms for generated code: read(f32({n, 64, 56, 56}, Layout::nChw16c)).
constexpr TensorDesc f32(IntList dims, Layout layout = Layout::plain) { return {DataType::f32, dims, layout}; }
constexpr TensorDesc i32(IntList dims, Layout layout = Layout::plain) { return {DataType::i32, dims, layout}; }
constexpr TensorDesc i64(IntList dims, Layout layout = Layout::plain) { return {DataType::i64, dims, layout}; }
constexpr TensorDesc bf16(IntList dims, Layout layout = Layout::plain) { return {DataType::bf16, dims, layout}; }
constexpr TensorDesc f16(IntList dims, Layout layout = Layout::plain) { return {DataType::f16, dims, layout}; }
constexpr TensorDesc i16(IntList dims, Layout layout = Layout::plain) { return {DataType::i16, dims, layout}; }
constexpr TensorDesc u8(IntList dims, Layout layout = Layout::plain) { return {DataType::u8, dims, layout}; }
constexpr TensorDesc q8(IntList dims, Layout layout = Layout::plain) { return {DataType::q8, dims, layout}; }
constexpr TensorDesc uq8(IntList dims, Layout layout = Layout::plain) { return {DataType::uq8, dims, layout}; }
constexpr OperandDesc read(TensorDesc tensor) { return {tensor, Access::read}; }
constexpr OperandDesc write(TensorDesc tensor) { return {tensor, Access::write}; }
constexpr OperandDesc update(TensorDesc tensor) { return {tensor, Access::update}; }
constexpr OperandDesc absent() { return {}; }

}  // namespace plimsoll
