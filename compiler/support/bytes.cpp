#include "compiler/support/bytes.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>

namespace plimsoll {
namespace {

struct Unit {
  std::string_view suffix;
  double factor;
};

constexpr double kKi = 1024.0, kMi = kKi * kKi, kGi = kMi * kKi, kTi = kGi * kKi;
constexpr std::array kUnits = {
    Unit{"", 1},      Unit{"B", 1},     Unit{"K", kKi},  Unit{"M", kMi},  Unit{"G", kGi},
    Unit{"T", kTi},   Unit{"KiB", kKi}, Unit{"MiB", kMi}, Unit{"GiB", kGi}, Unit{"TiB", kTi},
    Unit{"KB", 1e3},  Unit{"MB", 1e6},  Unit{"GB", 1e9}, Unit{"TB", 1e12},
};

Error bad_size(std::string_view text) {
  return Error{ExitCode::usage,
               fmt::format("'{}' is not a size; write 4GiB, 512MiB, 4G (base 2), 1.5GB (base 10), 60%, auto, or a "
                           "whole number of bytes",
                           text)};
}

}  // namespace

Result<SizeSpec> parse_size(std::string_view text) {
  if (text == "auto") return SizeSpec{};
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (failure != std::errc{} || !std::isfinite(number) || number < 0) return bad_size(text);
  std::string_view suffix(rest, static_cast<size_t>(end - rest));
  if (suffix == "%") {
    if (number <= 0 || number > 100) return bad_size(text);
    return SizeSpec{.kind = SizeSpec::Kind::percent, .percent = number};
  }
  if (!suffix.empty() && suffix.front() == ' ') suffix.remove_prefix(1);
  for (const Unit& unit : kUnits) {
    if (suffix != unit.suffix) continue;
    const double bytes = number * unit.factor;
    const bool fraction_of_a_byte = unit.factor == 1 && number != std::floor(number);
    if (fraction_of_a_byte || bytes >= 9.2e18) return bad_size(text);
    return SizeSpec{.kind = SizeSpec::Kind::bytes, .bytes = static_cast<int64_t>(bytes)};
  }
  return bad_size(text);
}

Result<SizeSpec> parse_size(std::string_view option, std::string_view text) {
  Result<SizeSpec> size = parse_size(text);
  if (!size.ok()) return Error{size.error().code, fmt::format("{}: {}", option, size.error().message)};
  return size;
}

std::string format_bytes(int64_t bytes) {
  const double b = static_cast<double>(bytes), magnitude = std::fabs(b);
  if (magnitude >= kGi) return fmt::format("{:.2f} GiB", b / kGi);
  if (magnitude >= kMi) return fmt::format("{:.1f} MiB", b / kMi);
  if (magnitude >= kKi) return fmt::format("{:.1f} KiB", b / kKi);
  return fmt::format("{} B", bytes);
}

std::string format_budget(int64_t bytes) {
  const double b = static_cast<double>(bytes);
  if (b >= kGi) return fmt::format("{:.2f}GiB", std::ceil(b / kGi * 100) / 100);
  if (b >= kMi) return fmt::format("{:.1f}MiB", std::ceil(b / kMi * 10) / 10);
  if (b >= kKi) return fmt::format("{:.1f}KiB", std::ceil(b / kKi * 10) / 10);
  return fmt::format("{}", bytes);
}

std::string format_grouped(int64_t number) {
  std::string digits = fmt::format("{}", number < 0 ? -number : number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), 1, ',');
  return number < 0 ? "-" + digits : digits;
}

std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

}  // namespace plimsoll
