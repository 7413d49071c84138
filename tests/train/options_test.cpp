// Numbers on a trainer's command line: none overflows, and none is misread as another.
#include "runtime/train/options.h"

#include <cctype>
#include <sstream>

#include "code_of.h"

using namespace plimsoll::train;

namespace {

// The options that take a number, as listed by --help, with the letter that gives its kind.
std::vector<std::pair<std::string, std::string>> numeric_options() {
  std::vector<std::pair<std::string, std::string>> options;
  std::istringstream lines(help_text());
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, value;
    words >> name >> value;
    if (name.starts_with("--") && (value == "N" || value == "X" || value == "X[,X,X]" || value == "MIB" ||
                                   value == "SECONDS" || value == "ALPHA"))
      options.emplace_back(name, value);
  }
  return options;
}

// With the other options that it requires.
Exit parsed(const std::string& name, const std::string& number) {
  std::vector<std::string> arguments = {"train", "--data", "images:x", name, number};
  if (name == "--keep" || name == "--checkpoint-every") arguments.insert(arguments.end(), {"--checkpoint", "ck"});
  if (name == "--eval-every" || name == "--early-stop") arguments.insert(arguments.end(), {"--eval-data", "images:y"});
  if (name == "--lr-min") arguments.insert(arguments.end(), {"--lr-schedule", "cosine"});
  if (name == "--lr-step" || name == "--lr-gamma")
    arguments.insert(arguments.end(), {"--lr-schedule", "step", "--lr-step", name == "--lr-step" ? number : "3"});
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return code_of([&] { parse_options(static_cast<int>(pointers.size()), pointers.data()); });
}

}  // namespace

TEST_CASE("what is no number, and what is too large for one, is refused by every option of a trainer") {
  const auto options = numeric_options();
  CHECK(options.size() == 29);
  for (const auto& [name, kind] : options) {
    const bool real = kind.starts_with("X") || kind == "ALPHA";
    for (const std::string number :
         {"", "12x", "nan", "inf", "-1", "1e400", "1e39", "0x10", " 1", "99999999999999999999999999999999999999999"}) {
      INFO(name << " '" << number << "'");
      CHECK(parsed(name, number) == Exit::usage);
    }
    for (const std::string number : {"1e30", "9223372036854775808", "9223372036854775807"}) {
      INFO(name << " '" << number << "'");
      const bool seed = name == "--seed" && number != "1e30";
      CHECK(parsed(name, number) == (real || seed ? Exit::ok : Exit::usage));
    }
    INFO(name);
    CHECK(parsed(name, "1") == Exit::ok);
  }
}
