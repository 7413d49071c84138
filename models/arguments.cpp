#include "models/arguments.h"

#include <algorithm>
#include <charconv>

namespace plimsoll {
namespace {

Error usage(std::string message) { return {ExitCode::usage, std::move(message)}; }

bool parse_integer(std::string_view text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template <class Items, class Name>
std::string listed(const Items& items, Name name) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + std::string(name(item));
  return text;
}

}  // namespace

Result<Arguments::Value> Arguments::convert(const std::string& model, const ZooParameter& parameter,
                                            const std::string& text) {
  const auto wrong = [&](const std::string& expected) {
    return usage(model + ": " + parameter.name + "=" + text + " is not " + expected);
  };
  Value value{text, {}};
  const bool is_word = std::find(parameter.words.begin(), parameter.words.end(), text) != parameter.words.end();
  const std::string bounds = std::to_string(parameter.least) + " to " + std::to_string(parameter.most);
  switch (parameter.kind) {
    case ParameterKind::word:
      if (!is_word) return wrong("one of " + listed(parameter.words, [](const std::string& word) { return word; }));
      return value;
    case ParameterKind::flag:
      if (text != "0" && text != "1") return wrong("0 or 1");
      value.numbers = {text == "1"};
      return value;
    case ParameterKind::integer: {
      int64_t number = 0;
      if (!is_word && (!parse_integer(text, number) || number < parameter.least || number > parameter.most)) {
        return wrong("an integer from " + bounds +
                     (parameter.words.empty() ? "" : ", or " + parameter.words.front()));
      }
      value.numbers = {number};
      return value;
    }
    case ParameterKind::list:
      if (text.empty() && parameter.fallback.empty()) return value;
      for (const std::string_view item : split(text, ',')) {
        int64_t number = 0;
        if (!parse_integer(item, number) || number < parameter.least || number > parameter.most)
          return wrong("a list of integers from " + bounds + ", such as " + parameter.name + "=3,4,6,3");
        value.numbers.push_back(number);
      }
      return value;
  }
  return value;
}

Result<Arguments> Arguments::parse(const std::string& model, const std::vector<ZooParameter>& parameters,
                                   std::string_view text) {
  // A piece without '=' continues the preceding list: "n=3,4,6,3".
  std::vector<std::pair<std::string, std::string>> given;
  if (!text.empty()) {
    for (const std::string_view piece : split(text, ',')) {
      const size_t equals = piece.find('=');
      if (equals != std::string_view::npos) {
        given.emplace_back(piece.substr(0, equals), piece.substr(equals + 1));
      } else if (given.empty()) {
        return usage(model + ": '" + std::string(piece) + "' is not of the form key=value");
      } else {
        given.back().second += "," + std::string(piece);
      }
    }
  }

  Arguments arguments;
  for (const auto& [name, value] : given) {
    const auto parameter = std::find_if(parameters.begin(), parameters.end(),
                                        [&](const ZooParameter& candidate) { return candidate.name == name; });
    if (parameter == parameters.end()) {
      return usage(model + " has no parameter '" + name + "'; it has " +
                   listed(parameters, [](const ZooParameter& each) { return each.name; }));
    }
    if (arguments.values_.count(name) > 0) return usage(model + ": " + name + " is given twice");
    PLIMSOLL_ASSIGN(arguments.values_[name], convert(model, *parameter, value));
  }
  for (const ZooParameter& parameter : parameters) {
    if (arguments.values_.count(parameter.name) > 0) continue;
    PLIMSOLL_ASSIGN(arguments.values_[parameter.name], convert(model, parameter, parameter.fallback));
  }
  return arguments;
}

const Arguments::Value& Arguments::at(const std::string& name) const {
  const auto found = values_.find(name);
  PLIMSOLL_CHECK(found != values_.end(), "a model asks for its parameter '" + name + "', which it does not declare");
  return found->second;
}

int64_t Arguments::integer(const std::string& name) const { return at(name).numbers.at(0); }
const std::string& Arguments::word(const std::string& name) const { return at(name).text; }
const std::vector<int64_t>& Arguments::list(const std::string& name) const { return at(name).numbers; }

ZooParameter integer_parameter(std::string name, int64_t fallback, std::string meaning, int64_t least, int64_t most) {
  return {.name = std::move(name),
          .fallback = std::to_string(fallback),
          .meaning = std::move(meaning),
          .least = least,
          .most = most};
}

ZooParameter flag_parameter(std::string name, bool fallback, std::string meaning) {
  return {.name = std::move(name),
          .fallback = fallback ? "1" : "0",
          .meaning = std::move(meaning),
          .kind = ParameterKind::flag};
}

ZooParameter word_parameter(std::string name, std::vector<std::string> words, std::string meaning) {
  std::string fallback = words.at(0);
  return {.name = std::move(name),
          .fallback = std::move(fallback),
          .meaning = std::move(meaning),
          .kind = ParameterKind::word,
          .words = std::move(words)};
}

ZooParameter list_parameter(std::string name, std::string fallback, std::string meaning, int64_t least, int64_t most) {
  return {.name = std::move(name),
          .fallback = std::move(fallback),
          .meaning = std::move(meaning),
          .kind = ParameterKind::list,
          .least = least,
          .most = most};
}

std::vector<ZooParameter> operator+(std::vector<ZooParameter> some, std::vector<ZooParameter> more) {
  for (ZooParameter& parameter : more) some.push_back(std::move(parameter));
  return some;
}

std::vector<ZooParameter> common_parameters() {
  return {{.name = "batch",
           .fallback = "N",
           .meaning = "samples: N leaves the number open, an integer fixes it",
           .least = 1,
           .most = 1 << 20,
           .words = {"N"}},
          integer_parameter("seed", 0, "of the initial weights", 0, INT64_MAX),
          word_parameter("init", {"normal", "zeros"},
                         "initial weights; zeros take no disk space and suffice for planning")};
}

std::vector<ZooParameter> image_parameters(int64_t input, int64_t channels, int64_t classes) {
  return std::vector{integer_parameter("input", input, "height and width of the images", 1, 1 << 14),
                     integer_parameter("channels", channels, "of the images", 1, 1 << 12),
                     integer_parameter("classes", classes, "number of classes", 1, 1 << 20)} +
         common_parameters();
}

}  // namespace plimsoll
