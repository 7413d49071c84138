// Reads our text forms: lines of fields separated by spaces; '#' begins a comment. The first error is kept with its
// line and column. After it, every read returns a harmless default and every line is the last, so a parser reads
// straight through and checks once at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/support/status.h"

namespace plimsoll {

// Characters allowed in a name without quotes.
bool is_bare(char c);

class TextCursor {
 public:
  // `what` names the text in errors: "three-convs.graph".
  TextCursor(std::string_view text, std::string what) : text_(text), what_(std::move(what)) {}

  // Advances to the next non-blank line. The current line must be read completely. Returns false at the end.
  bool next_line();
  // True if the line is read completely.
  bool done();

  // Consumes the next token if it matches: a whole word, or a sign ("->", "%", "workspace=").
  bool accept_word(std::string_view word);
  bool accept(std::string_view sign);
  bool sees(std::string_view sign);  // without consuming it
  void expect(std::string_view sign);

  std::string word();      // letters, digits and _ only
  std::string name();      // unquoted, or in quotes
  int64_t integer();       // decimal, or hexadecimal after 0x; negative with a sign
  double real();
  std::string number_text();  // the characters of a number, unconverted

  void fail(const std::string& complaint);
  // "plan: line 3, column 7: …", with code invalid_model.
  const std::optional<Error>& error() const { return error_; }

 private:
  void skip_spaces();
  std::string_view rest() const { return text_.substr(at_, end_ - at_); }

  std::string_view text_;
  std::string what_;
  size_t begin_ = 0, at_ = 0, end_ = 0;  // of the current line
  int64_t line_ = 0;
  std::optional<Error> error_;
};

}  // namespace plimsoll
