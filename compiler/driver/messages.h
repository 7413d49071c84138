// The messages of the compiler while it works on a request. An empty function drops its messages.
#pragma once

#include <functional>
#include <string_view>

namespace plimsoll {

struct Messages {
  std::function<void(std::string_view)> on_note = {};
  std::function<void(std::string_view)> on_warning = {};
  std::function<void(std::string_view)> on_text = {};  // what was asked for: plans after passes
  std::function<void(std::string_view)> on_detail = {};  // what was done, when it is done
  bool show_progress = false;                          // of measuring, on stderr

  void note(std::string_view text) const { say(on_note, text); }
  void warning(std::string_view text) const { say(on_warning, text); }
  void detail(std::string_view text) const { say(on_detail, text); }
  void text(std::string_view text) const { say(on_text, text); }

 private:
  static void say(const std::function<void(std::string_view)>& listener, std::string_view text) {
    if (listener) listener(text);
  }
};

}  // namespace plimsoll
