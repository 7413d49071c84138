#include "tools/plimsoll/numbers.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

namespace plimsoll {
namespace {

static_assert(std::endian::native == std::endian::little, "npy files are read as they lie in memory");

// None if the text has anything else.
std::optional<std::vector<float>> numbers_of(std::string_view text) {
  constexpr std::string_view kBetween = ", \t\r\n";
  std::vector<float> numbers;
  for (size_t at = text.find_first_not_of(kBetween); at != std::string_view::npos;
       at = text.find_first_not_of(kBetween, at)) {
    const size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    float number = 0;
    const auto [rest, failure] = std::from_chars(text.data() + at, text.data() + end, number);
    if (failure != std::errc{} || rest != text.data() + end) return std::nullopt;
    numbers.push_back(number);
    at = end;
  }
  return numbers.empty() ? std::nullopt : std::optional(numbers);
}

template <class T>
std::vector<float> floats_of(std::string_view bytes) {
  std::vector<float> numbers;
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    numbers.push_back(static_cast<float>(number));
  }
  return numbers;
}

// NumPy's format, version 1: 10 bytes, the last two of which are the header's length; then the header; then the data.
std::optional<std::vector<float>> numbers_of_npy(std::string_view file) {
  constexpr size_t kFixed = 10;
  if (file.size() < kFixed || file.substr(1, 5) != "NUMPY" || file[6] != 1) return std::nullopt;
  const size_t length = static_cast<unsigned char>(file[8]) + 256U * static_cast<unsigned char>(file[9]);
  if (file.size() < kFixed + length) return std::nullopt;
  const std::string_view header = file.substr(kFixed, length), data = file.substr(kFixed + length);
  const size_t shape = header.find("'shape': (");
  if (shape == std::string_view::npos) return std::nullopt;
  const std::string_view dims = header.substr(shape, header.find(')', shape) - shape);
  if (dims.find(',') == std::string_view::npos ||
      dims.find_first_not_of(' ', dims.find(',') + 1) != std::string_view::npos)
    return std::nullopt;
  if (header.find("'<f4'") != std::string_view::npos) return floats_of<float>(data);
  if (header.find("'<f8'") != std::string_view::npos) return floats_of<double>(data);
  return std::nullopt;
}

}  // namespace

Result<std::vector<float>> read_numbers(const char* flag, const std::string& given) {
  if (const auto numbers = numbers_of(given)) return *numbers;
  std::ifstream file(given, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.good() && !file.eof())
    return Error{ExitCode::unreadable_input,
                 fmt::format("{} '{}' is neither a list of numbers nor a readable file", flag, given)};
  const bool npy = text.size() > 6 && text.compare(1, 5, "NUMPY") == 0;
  if (const auto numbers = npy ? numbers_of_npy(text) : numbers_of(text)) return *numbers;
  return Error{ExitCode::unreadable_input,
               npy ? fmt::format("{}: '{}' is not a one-dimensional array of f32 or f64", flag, given)
                   : fmt::format("{}: '{}' contains something other than numbers", flag, given)};
}

}  // namespace plimsoll
