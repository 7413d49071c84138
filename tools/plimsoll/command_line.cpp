#include "tools/plimsoll/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "passes/policies.h"
#include "tools/plimsoll/option_table.h"
#include "tools/plimsoll/suggestions.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;
using std::string_view;

Error wrong(std::string what) { return {ExitCode::usage, std::move(what)}; }

std::string with_dashes(string_view name) { return fmt::format("{}{}", name.size() == 1 ? "-" : "--", name); }

cl::Option* find_option(const cl::SubCommand& sub, string_view name) {
  const auto found = sub.OptionsMap.find(llvm::StringRef(name.data(), name.size()));
  return found == sub.OptionsMap.end() ? nullptr : found->second;
}

Error unknown_option(const Command& command, const Commands& commands, string_view given, string_view name) {
  std::string text =
      fmt::format("`plimsoll {1}` has no option '{0}'", given.substr(0, given.find('=')), command.sub.getName().str());
  if (const std::optional<std::string> meant = option_called(name); meant && find_option(command.sub, *meant))
    return wrong(fmt::format("{}\nDid you mean '{}'?", text, with_dashes(*meant)));
  std::vector<std::string> others;
  for (const auto& other : commands)
    if (const cl::Option* const there = find_option(other->sub, name); there && is_own(other->sub, *there))
      others.push_back(other->sub.getName().str());
  const std::string elsewhere =
      others.empty() ? "" : fmt::format("; {} {} it", fmt::join(others, ", "), others.size() == 1 ? "has" : "have");
  if (const auto flag = command.takes_trainer_flags ? nearest_trainer_flag(name) : std::nullopt)
    return wrong(fmt::format("{}, and neither has its trainer\nDid you mean '{}'?", text, with_dashes(*flag)));
  if (is_of_trainer(name))
    return wrong(fmt::format(
        "{}{}; that is a trainer's flag: `DIR/build/train {} …`, where DIR is the output of `plimsoll compile`", text,
        elsewhere, with_dashes(name)));
  unsigned nearest = static_cast<unsigned>(name.size()) / 3 + 1;
  const cl::Option* near = nullptr;
  const llvm::StringRef wanted(name.data(), name.size());
  for (const auto& entry : command.sub.OptionsMap) {
    const unsigned distance =
        is_own(command.sub, *entry.second) && name.size() > 1 ? wanted.edit_distance(entry.first()) : nearest;
    if (distance > nearest || (distance == nearest && (!near || near->ArgStr < entry.first()))) continue;
    if (distance == nearest && !is_own(command.sub, *entry.second)) continue;
    nearest = distance;
    near = entry.second;
  }
  if (near && nearest <= name.size() / 3)
    return wrong(fmt::format("{}\nDid you mean '{}'?", text, with_dashes(near->ArgStr.str())));
  return wrong(text + elsewhere);
}

template <class T>
bool reads(const cl::Option& option) {
  return dynamic_cast<const cl::opt<T>*>(&option) || dynamic_cast<const cl::list<T>*>(&option);
}

bool is_whole_number(llvm::StringRef text) {
  long long number;
  return !text.getAsInteger(0, number);
}

bool is_one_of(const std::vector<std::string>& names, string_view value) {
  return std::find(names.begin(), names.end(), value) != names.end();
}

// LLVM's own options, which exist only after it has parsed a command line.
bool is_of_llvm(string_view name) {
  constexpr string_view kNames[] = {
      "help", "h", "help-list", "help-hidden", "help-list-hidden", "version", "print-options", "print-all-options"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

// The suggested value. If the option also takes files, only a value that differs in case.
std::optional<std::string> meant_value(const cl::Option& option, string_view value,
                                       const std::vector<std::string>& names) {
  if (const std::optional<std::string> known = value_called(option.ArgStr.str(), value);
      known && is_one_of(names, *known))
    return known;
  const std::optional<std::string> near = nearest_name(value, names);
  const bool may_be_a_file =
      option.ArgStr == "costs" && near &&
      llvm::StringRef(*near).compare_insensitive(llvm::StringRef(value.data(), value.size())) != 0;
  return may_be_a_file ? std::nullopt : near;
}

Error with_suggestion(Error error, const cl::Option& option, string_view value, const std::vector<std::string>& names) {
  if (const std::optional<std::string> meant = meant_value(option, value, names))
    error.message += fmt::format("\nDid you mean '{}'?", *meant);
  return error;
}

// Accepts the numbers that LLVM's parsers accept.
Status check_value(cl::Option& option, string_view value) {
  const std::string name = with_dashes(option.ArgStr.str());
  const llvm::StringRef text(value.data(), value.size());
  const auto should_be = [&](const std::string& what) {
    return wrong(fmt::format("{} is '{}'; expected {}", name, value, what));
  };
  if (reads<long long>(option) || reads<int>(option)) {
    llvm::SmallVector<llvm::StringRef, 4> parts;
    text.split(parts, ',');
    if (parts.size() > 1 && !(option.getMiscFlags() & cl::CommaSeparated)) return should_be("an integer");
    const bool too_large = !value.empty() && value.find_first_not_of("0123456789") == value.npos;
    if (!std::all_of(parts.begin(), parts.end(), is_whole_number))
      return should_be(too_large ? "a smaller number" : "an integer");
    return {};
  }
  double number;
  if (reads<double>(option)) return text.getAsDouble(number) ? Status(should_be("a number")) : Status();
  if (const std::vector<std::string> names = enumerated(option); !names.empty()) {
    if (is_one_of(names, value)) return {};
    // The only value with a suffix (loss_parser.h).
    if (option.ArgStr == "loss" && value.starts_with("output:"))
      return value == "output:" ? Status(should_be("output:NAME, where NAME is an output of the model")) : Status();
    return with_suggestion(should_be(fmt::format("one of {}", fmt::join(names, ", "))), option, value, names);
  }
  // Other values are checked later; names that are almost one of these are reported now.
  if (const std::vector<std::string> names = values_of(option);
      !names.empty() && !is_one_of(names, value) && !(option.ArgStr == "policy" && find_policy(value).ok())) {
    if (const std::optional<std::string> meant = meant_value(option, value, names))
      return wrong(
          fmt::format("{} is '{}'; expected {}\nDid you mean '{}'?", name, value, fmt::join(names, ", "), *meant));
  }
  return value.empty() ? Status(wrong(fmt::format("{} is empty", name))) : Status();
}

class CommandLine {
 public:
  CommandLine(const Command& command, const Commands& commands, std::span<const string_view> arguments)
      : command_(command), commands_(commands), arguments_(arguments) {}

  Status check() {
    for (; at_ < arguments_.size(); ++at_) {
      const string_view argument = arguments_[at_], name = only_positional_ ? string_view() : option_name(argument);
      if (!only_positional_ && argument == "--") only_positional_ = true;
      else if (name.empty()) positional_.push_back(argument);
      else PLIMSOLL_TRY(check_option(argument, name));
      if (asks_for_help_) return {};
    }
    PLIMSOLL_TRY(check_positional());
    for (const auto& entry : command_.sub.OptionsMap)
      if (entry.second->getNumOccurrencesFlag() == cl::Required && !given_.contains(entry.second))
        return wrong(fmt::format("{}{} is required: {}", with_dashes(entry.first().str()),
                                 entry.second->ValueStr.empty() ? "" : " " + entry.second->ValueStr.str(),
                                 first_line(entry.second->HelpStr.str())));
    return {};
  }

 private:
  static std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

  Status check_option(string_view argument, string_view name) {
    asks_for_help_ = is_of_llvm(name);
    if (asks_for_help_) return {};
    cl::Option* const option = find_option(command_.sub, name);
    if (!option) return unknown_option(command_, commands_, argument, name);
    const size_t equals = argument.find('=');
    string_view value = equals == argument.npos ? string_view() : argument.substr(equals + 1);
    if (option->getValueExpectedFlag() == cl::ValueRequired) {
      if (equals == argument.npos && (at_ + 1 == arguments_.size() || is_option(arguments_[at_ + 1])))
        return wrong(fmt::format("{} needs a value: {}", with_dashes(name),
                                 option->ValueStr.empty() ? "VALUE" : option->ValueStr.str()));
      if (equals == argument.npos) value = arguments_[++at_];
      PLIMSOLL_TRY(check_value(*option, value));
    } else if (equals != argument.npos && !enumerated(*option).empty()) {
      PLIMSOLL_TRY(check_value(*option, value));
    } else if (equals != argument.npos && std::ranges::find(kTruths, value) == std::end(kTruths)) {
      return wrong(fmt::format("{} takes no value, but '{}' is given", with_dashes(name), value));
    }
    const auto [before, fresh] = given_.emplace(option, value);
    const bool may_be_repeated =
        option->getNumOccurrencesFlag() == cl::ZeroOrMore || option->getNumOccurrencesFlag() == cl::OneOrMore;
    if (fresh || may_be_repeated) return {};
    return wrong(fmt::format("{} is given twice{}", with_dashes(name),
                             value.empty() ? "" : fmt::format(": {} and {}", before->second, value)));
  }

  // A value may begin with a dash: negative numbers.
  bool is_option(string_view argument) const {
    return argument.starts_with("--") && find_option(command_.sub, option_name(argument));
  }

  Status check_positional() const {
    const auto& wanted = command_.sub.PositionalOpts;
    const bool endless = std::any_of(wanted.begin(), wanted.end(), [](const cl::Option* option) {
      return option->getNumOccurrencesFlag() == cl::ZeroOrMore || option->getNumOccurrencesFlag() == cl::OneOrMore;
    });
    for (size_t i = 0; i < wanted.size(); ++i) {
      const bool needed =
          wanted[i]->getNumOccurrencesFlag() == cl::Required || wanted[i]->getNumOccurrencesFlag() == cl::OneOrMore;
      if (i >= positional_.size() && needed) return wrong(fmt::format("{} is missing", wanted[i]->HelpStr.str()));
      if (i < positional_.size() && positional_[i].empty())
        return wrong(fmt::format("{} is empty", wanted[i]->HelpStr.str()));
    }
    if (!positional_.empty())
      if (const std::vector<std::string> words = words_of(command_.sub.getName().str()); !words.empty()) {
        const string_view name = positional_[0].substr(0, positional_[0].find(':'));
        if (const auto meant = nearest_name(name, words); meant && !is_one_of(words, name))
          return wrong(fmt::format("`plimsoll {1}` has no '{0}'\nDid you mean '{2}'?", name,
                                   command_.sub.getName().str(), *meant));
      }
    if (positional_.size() <= wanted.size() || endless) return {};
    return wrong(fmt::format("unexpected argument '{}': `plimsoll {}` takes {}", positional_[wanted.size()],
                             command_.sub.getName().str(), wanted.empty() ? "only options" : list_of_positional()));
  }

  std::string list_of_positional() const {
    std::string list;
    for (const cl::Option* option : command_.sub.PositionalOpts)
      list += (list.empty() ? "" : " ") + option->HelpStr.str();
    return list;
  }

  static constexpr string_view kTruths[] = {"",      "true",  "TRUE",  "True", "1",
                                            "false", "FALSE", "False", "0"};  // that LLVM accepts

  const Command& command_;
  const Commands& commands_;
  std::span<const string_view> arguments_;
  size_t at_ = 0;
  bool only_positional_ = false, asks_for_help_ = false;
  std::vector<string_view> positional_;
  std::map<const cl::Option*, string_view> given_;
};

}  // namespace

string_view option_name(string_view argument) {
  if (argument.size() < 2 || argument[0] != '-') return {};
  argument.remove_prefix(argument[1] == '-' ? 2 : 1);
  return argument.substr(0, argument.find('='));
}

Status check_command_line(const Command& command, const Commands& commands, std::span<const string_view> arguments) {
  // LLVM replaces @FILE by the contents of the file.
  if (std::any_of(arguments.begin(), arguments.end(), [](string_view argument) { return argument.starts_with('@'); }))
    return {};
  return CommandLine(command, commands, arguments).check();
}

void split_trainer_flags(Command& command, std::span<const string_view> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const string_view argument = arguments[i], name = option_name(argument);
    if (argument == "--") {
      for (++i; i < arguments.size(); ++i) command.trainer_arguments.emplace_back(arguments[i]);
      return;
    }
    if (argument == "--quiet") {  // -q of the command
      command.own_arguments.emplace_back("-q");
      continue;
    }
    const cl::Option* const own = name.empty() ? nullptr : find_option(command.sub, name);
    const bool of_trainer = !own && is_of_trainer(name);
    std::vector<std::string>& to = of_trainer ? command.trainer_arguments : command.own_arguments;
    to.emplace_back(argument);
    const bool takes_value =
        own ? own->getValueExpectedFlag() == cl::ValueRequired : of_trainer && takes_value_in_trainer(name);
    const bool value_follows = takes_value && argument.find('=') == argument.npos && i + 1 < arguments.size();
    if (value_follows) to.emplace_back(arguments[++i]);
  }
}

std::string for_shell(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& argument : arguments) {
    const bool plain = argument.find_first_of(" \t\n'\"\\$`!*?()[]{}<>|&;~#") == std::string::npos && !argument.empty();
    if (&argument != &arguments.front()) line += ' ';
    if (plain) {
      line += argument;
      continue;
    }
    line += '\'';
    for (const char c : argument) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace plimsoll
