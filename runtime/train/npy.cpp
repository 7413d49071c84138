#include "runtime/train/npy.h"

#include <charconv>
#include <cstring>
#include <limits>
#include <optional>

#include "runtime/train/error.h"

namespace plimsoll::train {
namespace {

[[noreturn]] void refuse(const InputFile& file, const std::string& what) {
  throw TrainerError(Exit::unreadable_input, "'" + file.path() + "': " + what);
}

// The text after `'key':` in the header's dictionary, without leading blanks.
std::string_view value_of(const InputFile& file, std::string_view header, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "'";
  size_t at = header.find(quoted);
  if (at == std::string_view::npos) refuse(file, "the npy header has no " + quoted);
  at = header.find(':', at + quoted.size());
  if (at == std::string_view::npos) refuse(file, "the npy header is malformed");
  at = header.find_first_not_of(' ', at + 1);
  if (at == std::string_view::npos) refuse(file, "the npy header is malformed");
  return header.substr(at);
}

DataType type_of(const InputFile& file, std::string_view value, bool shorts, NpyHeader& npy) {
  if (value.size() < 2 || value[0] != '\'') refuse(file, "structured npy arrays are not supported");
  const std::string_view type = value.substr(1, value.find('\'', 1) - 1);
  const auto of_width = [&](DataType found, int64_t bytes) {
    npy.width = bytes;
    return found;
  };
  if (type == "<f4") return of_width(DataType::f32, 4);
  if (type == "<i4") return of_width(DataType::i32, 4);
  if (type == "<i8") return of_width(DataType::i64, 8);
  if (type == "|u1" || type == "<u1") return of_width(DataType::u8, 1);
  npy.boolean = type == "|b1";
  if (npy.boolean) return of_width(DataType::u8, 1);
  if (type == "<u2" && shorts) return of_width(DataType::i32, 2);
  refuse(file, "elements are '" + std::string(type) +
                   "'; they should be float32, int32, int64, uint8 or bool; convert with numpy's astype");
}

IntList dims_of(const InputFile& file, std::string_view value) {
  const size_t close = value.find(')');
  if (value.empty() || value[0] != '(' || close == std::string_view::npos) refuse(file, "the npy header has no shape");
  IntList dims;
  std::string_view rest = value.substr(1, close - 1);
  while (true) {
    const size_t begin = rest.find_first_not_of(", ");
    if (begin == std::string_view::npos) return dims;
    rest.remove_prefix(begin);
    int64_t dim = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), dim);
    if (error != std::errc() || dim < 0) refuse(file, "the npy header has no valid shape");
    if (dims.count == kMaxRank) refuse(file, "more than " + std::to_string(kMaxRank) + " dimensions");
    dims.push_back(dim);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  }
}

}  // namespace

NpyHeader read_npy_header(const InputFile& file, bool shorts) {
  unsigned char start[12] = {};
  if (file.bytes() < 12) refuse(file, "not an npy file");
  file.read(0, reinterpret_cast<std::byte*>(start), sizeof start);
  if (std::memcmp(start, "\x93NUMPY", 6) != 0 || start[6] < 1 || start[6] > 3) refuse(file, "not an npy file");
  const int64_t begin = start[6] == 1 ? 10 : 12;
  int64_t length = start[8] | start[9] << 8;
  if (start[6] > 1) length |= static_cast<int64_t>(start[10]) << 16 | static_cast<int64_t>(start[11]) << 24;
  if (length > (1 << 16) || begin + length > file.bytes()) refuse(file, "the npy header is longer than the file");
  std::string header(static_cast<size_t>(length), '\0');
  file.read(begin, reinterpret_cast<std::byte*>(header.data()), length);

  if (value_of(file, header, "fortran_order").substr(0, 5) != "False")
    refuse(file, "the array is in Fortran order; save numpy.ascontiguousarray of it");
  NpyHeader npy{.desc = {}, .data_offset = begin + length};
  npy.desc.type = type_of(file, value_of(file, header, "descr"), shorts, npy);
  npy.desc.dims = dims_of(file, value_of(file, header, "shape"));
  int64_t bytes = npy.width;
  for (const int64_t dim : npy.desc.dims)
    if (__builtin_mul_overflow(bytes, dim, &bytes)) refuse(file, "the shape is larger than any file");
  if (bytes != file.bytes() - npy.data_offset)
    refuse(file, "holds " + std::to_string(file.bytes() - npy.data_offset) + " bytes of data, but its shape needs " +
                     std::to_string(bytes));
  return npy;
}

std::string npy_header(const IntList& dims) {
  std::string shape;
  for (const int64_t dim : dims) shape += std::to_string(dim) + ",";
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
  constexpr size_t kBefore = 10;  // magic, version, length
  text.resize((kBefore + text.size() + 1 + 63) / 64 * 64 - kBefore - 1, ' ');
  text += '\n';
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(text.size() & 255) +
         static_cast<char>(text.size() >> 8) + text;
}

}  // namespace plimsoll::train
