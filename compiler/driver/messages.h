// Message callbacks of the compiler. An empty function discards its messages.
#pragma once

#include <functional>
#include <string_view>

namespace plimsoll {

struct Messages {
  std::function<void(std::string_view)> on_note = {};
  std::function<void(std::string_view)> on_choice = {};  // of a meaning, by default: a note that no flag hides
  std::function<void(std::string_view)> on_warning = {};
  std::function<void(std::string_view)> on_text = {};  // requested output: plans after passes
  std::function<void(std::string_view)> on_detail = {};  // progress: what has been done
  bool show_progress = false;                          // of measurements, on stderr

  void note(std::string_view text) const { say(on_note, text); }
  void choice(std::string_view text) const { say(on_choice, text); }
  void warning(std::string_view text) const { say(on_warning, text); }
  void detail(std::string_view text) const { say(on_detail, text); }
  void text(std::string_view text) const { say(on_text, text); }

 private:
  static void say(const std::function<void(std::string_view)>& listener, std::string_view text) {
    if (listener) listener(text);
  }
};

}  // namespace plimsoll
