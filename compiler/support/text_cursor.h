// Reads our text forms: lines of fields separated by spaces, '#' begins a comment. The first complaint is remembered with
// its line and column; beyond it every answer is a harmless default and every line is the last, so a parser reads
// straight on and asks once, at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/support/status.h"

namespace plimsoll {

// Characters that a name may have without quotes.
bool is_bare(char c);

class TextCursor {
 public:
  // `what` names the text in errors: "three-convs.graph".
  TextCursor(std::string_view text, std::string what) : text_(text), what_(std::move(what)) {}

  // To the next line that is not blank; the line at hand must be read to its end. false: there is none.
  bool next_line();
  // The line is read to its end.
  bool done();

  // What comes next, if it is exactly this: a word up to its end, or a sign ("->", "%", "workspace=").
  bool accept_word(std::string_view word);
  bool accept(std::string_view sign);
  bool sees(std::string_view sign);  // and leaves it
  void expect(std::string_view sign);

  std::string word();      // letters, digits and _ only
  std::string name();      // bare, or in quotes
  int64_t integer();       // decimal, or hexadecimal after 0x; negative with a sign
  double real();
  std::string number_text();  // digits, signs, points and letters of a number, as they stand

  void fail(const std::string& complaint);
  // "plan: line 3, column 7: …", of kind invalid_model.
  const std::optional<Error>& error() const { return error_; }

 private:
  void skip_spaces();
  std::string_view rest() const { return text_.substr(at_, end_ - at_); }

  std::string_view text_;
  std::string what_;
  size_t begin_ = 0, at_ = 0, end_ = 0;  // of the line at hand
  int64_t line_ = 0;
  std::optional<Error> error_;
};

}  // namespace plimsoll
