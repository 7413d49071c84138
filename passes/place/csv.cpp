#include "passes/place/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

namespace plimsoll::placement {
namespace {

constexpr std::array<std::string_view, 5> kColumns = {"id", "lower", "upper", "size", "offset"};
constexpr size_t kId = 0, kLower = 1, kUpper = 2, kSize = 3;

std::string_view trimmed(std::string_view text) {
  const char* const blank = " \t\r";
  const size_t first = text.find_first_not_of(blank);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const size_t comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

Error refuse(size_t line, std::string what) {
  return {ExitCode::unreadable_input, fmt::format("line {}: {}", line, what)};
}

// The index in kColumns of each field of a row.
Result<std::vector<size_t>> parse_header(std::string_view line, size_t number) {
  std::vector<size_t> columns;
  for (const std::string_view field : fields_of(line)) {
    const auto column = static_cast<size_t>(std::find(kColumns.begin(), kColumns.end(), field) - kColumns.begin());
    if (column == kColumns.size())
      return refuse(number, fmt::format("unknown column '{}'; a header is id,lower,upper,size[,offset]", field));
    if (std::find(columns.begin(), columns.end(), column) != columns.end())
      return refuse(number, fmt::format("duplicate column '{}'", field));
    columns.push_back(column);
  }
  for (const size_t column : {kId, kLower, kUpper, kSize})
    if (std::find(columns.begin(), columns.end(), column) == columns.end())
      return refuse(number,
                    fmt::format("missing column '{}'; a header is id,lower,upper,size[,offset]", kColumns[column]));
  return columns;
}

}  // namespace

Result<Problem> parse_csv(std::string_view text) {
  Problem problem;
  std::vector<size_t> columns;
  std::set<std::string_view> ids;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty()) continue;
    if (columns.empty()) {
      PLIMSOLL_ASSIGN(columns, parse_header(line, number));
      continue;
    }
    const std::vector<std::string_view> fields = fields_of(line);
    if (fields.size() != columns.size())
      return refuse(number, fmt::format("{} fields, but the header has {}", fields.size(), columns.size()));
    std::array<int64_t, kColumns.size()> numbers = {};
    Buffer& buffer = problem.buffers.emplace_back();
    for (size_t i = 0; i < fields.size(); ++i) {
      if (columns[i] == kId) {
        buffer.id = fields[i];
        if (!ids.insert(fields[i]).second) return refuse(number, fmt::format("duplicate buffer '{}'", fields[i]));
        continue;
      }
      const char* const last = fields[i].data() + fields[i].size();
      const auto [rest, failure] = std::from_chars(fields[i].data(), last, numbers[columns[i]]);
      if (failure != std::errc() || rest != last)
        return refuse(number, fmt::format("{} '{}' is not a 64-bit integer", kColumns[columns[i]], fields[i]));
    }
    buffer.lower = numbers[kLower];
    buffer.upper = numbers[kUpper];
    buffer.size = numbers[kSize];
  }
  if (columns.empty()) return refuse(1, "the file is empty; a header is id,lower,upper,size[,offset]");
  PLIMSOLL_TRY(check(problem));
  return problem;
}

std::string to_csv(const Problem& problem, const Solution& solution) {
  std::string text = "id,lower,upper,size,offset\n";
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    text += fmt::format("{},{},{},{},{}\n", buffer.id, buffer.lower, buffer.upper, buffer.size, solution.offsets[i]);
  }
  return text;
}

}  // namespace plimsoll::placement
