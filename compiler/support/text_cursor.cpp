#include "compiler/support/text_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace plimsoll {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<unsigned char> hex_digit(char c) {
  if (is_digit(c)) return static_cast<unsigned char>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned char>(c - 'a' + 10);
  return std::nullopt;
}

}  // namespace

bool is_bare(char c) {
  return is_letter(c) || is_digit(c) || std::string_view("./:+-*'$&?!^|;").find(c) != std::string_view::npos;
}

void TextCursor::skip_spaces() {
  while (at_ < end_ && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
}

bool TextCursor::done() {
  skip_spaces();
  return error_ || at_ == end_ || text_[at_] == '#';
}

bool TextCursor::next_line() {
  for (;;) {
    if (!done())
      fail(fmt::format("'{}' is not expected here", rest().substr(0, std::min<size_t>(rest().find(' '), 40))));
    const bool first = line_ == 0;
    if (error_ || (first ? text_.empty() : end_ >= text_.size())) return false;
    begin_ = at_ = first ? 0 : end_ + 1;
    end_ = std::min(text_.find('\n', at_), text_.size());
    if (at_ > text_.size()) return false;
    ++line_;
    if (!done()) return true;
  }
}

bool TextCursor::sees(std::string_view sign) {
  if (error_) return false;
  skip_spaces();
  return rest().substr(0, sign.size()) == sign;
}

bool TextCursor::accept(std::string_view sign) {
  if (!sees(sign)) return false;
  at_ += sign.size();
  return true;
}

bool TextCursor::accept_word(std::string_view word) {
  const size_t before = at_;
  if (!accept(word)) return false;
  if (at_ == end_ || !is_bare(text_[at_])) return true;
  at_ = before;
  return false;
}

void TextCursor::expect(std::string_view sign) {
  if (!accept(sign)) fail(fmt::format("expected '{}'", sign));
}

std::string TextCursor::word() {
  skip_spaces();
  const size_t from = at_;
  while (!error_ && at_ < end_ && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
  if (at_ == from) fail("expected a word");
  return std::string(text_.substr(from, at_ - from));
}

std::string TextCursor::name() {
  skip_spaces();
  if (error_) return "";
  if (at_ < end_ && text_[at_] == '"') {
    std::string name;
    for (size_t i = at_ + 1; i < end_; ++i) {
      const char c = text_[i];
      if (c == '"') {
        at_ = i + 1;
        return name;
      }
      if (c != '\\') {
        name += c;
      } else if (i + 1 < end_ && (text_[i + 1] == '"' || text_[i + 1] == '\\')) {
        name += text_[++i];
      } else {
        const bool room = i + 3 < end_ && text_[i + 1] == 'x';
        const auto high = room ? hex_digit(text_[i + 2]) : std::nullopt,
                   low = room ? hex_digit(text_[i + 3]) : std::nullopt;
        if (!high || !low) {
          at_ = i;
          fail("expected \\\", \\\\ or \\x and two hexadecimal digits");
          return "";
        }
        name += static_cast<char>(*high * 16 + *low);
        i += 3;
      }
    }
    fail("this quote is never closed");
    return "";
  }
  const size_t from = at_;
  while (at_ < end_ && is_bare(text_[at_])) ++at_;
  if (at_ == from) fail("expected a name");
  return std::string(text_.substr(from, at_ - from));
}

int64_t TextCursor::integer() {
  skip_spaces();
  if (error_) return 0;
  const bool hex = rest().substr(0, 2) == "0x";
  const char* const from = text_.data() + at_ + (hex ? 2 : 0);
  int64_t value = 0;
  const auto [after, failure] = std::from_chars(from, text_.data() + end_, value, hex ? 16 : 10);
  if (failure != std::errc{} || (hex && value < 0)) {
    fail(failure == std::errc::result_out_of_range ? "this number does not fit 63 bits" : "expected an integer");
    return 0;
  }
  at_ = static_cast<size_t>(after - text_.data());
  return value;
}

double TextCursor::real() {
  skip_spaces();
  if (error_) return 0;
  double value = 0;
  const auto [after, failure] = std::from_chars(text_.data() + at_, text_.data() + end_, value);
  if (failure != std::errc{}) {
    fail("expected a number");
    return 0;
  }
  at_ = static_cast<size_t>(after - text_.data());
  return value;
}

std::string TextCursor::number_text() {
  skip_spaces();
  const size_t from = at_;
  while (!error_ && at_ < end_ &&
         (is_letter(text_[at_]) || is_digit(text_[at_]) ||
          std::string_view("+-.").find(text_[at_]) != std::string_view::npos))
    ++at_;
  if (at_ == from) fail("expected a number");
  return std::string(text_.substr(from, at_ - from));
}

void TextCursor::fail(const std::string& complaint) {
  if (!error_)
    error_ = Error{ExitCode::invalid_model, fmt::format("{}: line {}, column {}: {}", what_,
                                                        std::max<int64_t>(line_, 1), at_ - begin_ + 1, complaint)};
}

}  // namespace plimsoll
