#include "tools/plimsoll/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "compiler/report/table.h"
#include "passes/infeasible.h"

namespace plimsoll {

bool Console::color(int file_descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(file_descriptor) && (no_color == nullptr || *no_color == '\0');
}

void Console::tagged(const char* tag, const char* style, std::string_view text) const {
  if (color(STDERR_FILENO)) {
    fmt::print(stderr, "\033[{}m{}:\033[0m {}\n", style, tag, text);
  } else {
    fmt::print(stderr, "{}: {}\n", tag, text);
  }
}

void Console::error(const Error& error) const {
  if (error.code == ExitCode::internal) {
    tagged("internal error", "1;31", error.message);
    fmt::print(stderr, "This is a bug of Plimsoll. Please report it with the command line and the model.\n");
  } else {
    tagged("error", "1;31", error.message);
  }
  bool left_out = false;
  for (const std::string& note : error.notes) {
    const bool detail = error.code == ExitCode::budget_infeasible && note.starts_with(kLiveAtPeak);
    if (detail && !verbose_) left_out = true;
    else if (note.starts_with("--")) tagged("help", "1;32", note);  // an option that solves the problem
    else tagged("note", "1;36", note);
  }
  if (left_out) tagged("note", "1;36", "-v lists what is live at the peak");
}

void Console::warning(std::string_view text) const { tagged("warning", "1;33", text); }

void Console::note(std::string_view text) const {
  if (!quiet_) tagged("note", "1;36", text);
}

void Console::detail(std::string_view text) const {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began_;
  if (verbose_) fmt::print(stderr, "{:7.2f} s  {}\n", elapsed.count(), text);
}

Messages Console::messages() const {
  return {.on_note = [console = *this](std::string_view text) { console.note(text); },
          .on_choice = [console = *this](std::string_view text) { console.tagged("note", "1;36", text); },
          .on_warning = [console = *this](std::string_view text) { console.warning(text); },
          .on_text = [](std::string_view text) { fmt::print("{}", text); },
          .on_detail = [console = *this](std::string_view text) { console.detail(text); },
          .show_progress = !quiet_ && isatty(STDERR_FILENO) != 0};
}

void Console::say(std::string_view text) const {
  if (!quiet_) fmt::print(stderr, "{}\n", text);
}

std::vector<std::string> wrapped_lines(std::string_view text, size_t most) {
  std::vector<std::string> lines = {""};
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (!lines.back().empty() && width_of(lines.back()) + 1 + width_of(word) > most) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
    begin = end + 1;
  }
  return lines;
}

}  // namespace plimsoll
