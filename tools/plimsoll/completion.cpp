#include <fmt/format.h>

#include <map>

#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/json.h"
#include "tools/plimsoll/option_table.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// In single quotes, which sh, zsh and fish all read; without characters that zsh treats as special in a list of
// options.
std::string quoted(const std::string& text, bool in_list = false) {
  std::string safe = "'";
  for (const char c : text) {
    if (c == '\'') safe += "'\\''";
    else if (in_list && (c == '[' || c == ']' || c == ':')) safe += std::string("\\") + c;
    else safe += c;
  }
  return safe + "'";
}

std::string names_of(const std::vector<CommandRow>& table) {
  std::string names;
  for (const CommandRow& row : table) names += (names.empty() ? "" : " ") + row.name;
  return names;
}

std::string for_bash(const std::vector<CommandRow>& table) {
  std::string cases, values, words;
  for (const CommandRow& row : table) {
    std::string options = "--help";
    for (const OptionRow& option : row.options) {
      options += " " + option.dashed();
      if (!option.joined && (!option.values.empty() || (!option.value.empty() && !option.file)))
        values += fmt::format("    {}:{}) COMPREPLY=($(compgen {}-W '{}' -- \"$word\")); return ;;\n", row.name,
                              option.dashed(), option.file ? "-f " : "", fmt::join(option.values, " "));
    }
    if (!row.words.empty()) words += fmt::format("    {}) words='{}' ;;\n", row.name, fmt::join(row.words, " "));
    cases += fmt::format("    {}) options='{}' ;;\n", row.name, options);
  }
  return fmt::format(
      "# eval \"$(plimsoll completion bash)\", or keep this in ~/.local/share/bash-completion/completions/plimsoll\n"
      "COMP_WORDBREAKS=${{COMP_WORDBREAKS//:}}  # policies have colons in their names\n"
      "_plimsoll() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} "
      "options= words=\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then COMPREPLY=($(compgen -W '{} --help --version' -- \"$word\")); return; fi\n"
      "  case $command:$before in\n{}  esac\n"
      "  case $command in\n{}  esac\n"
      "  case $command in\n{}  esac\n"
      "  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
      "  elif [[ -n $words && $before != -* ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  else COMPREPLY=($(compgen -f -- \"$word\")); fi\n"
      "}}\n"
      "complete -o filenames -F _plimsoll plimsoll\n",
      names_of(table), values, cases, words);
}

std::string for_zsh(const std::vector<CommandRow>& table) {
  std::string commands, cases;
  std::map<std::string, std::string> helpers;  // by option: its names, or files
  for (const CommandRow& row : table) {
    commands += fmt::format("    {}\n", quoted(row.name + ":" + row.summary));
    cases += fmt::format("    {}) _arguments", row.name);
    for (const OptionRow& option : row.options) {
      std::string value;
      std::string names;  // escaped, because a colon ends the list
      for (const char c : fmt::format("{}", fmt::join(option.values, " ")))
        names += c == ':' ? "\\:" : std::string(1, c);
      if (!option.value.empty())
        value = fmt::format(":{}:{}", option.value,
                            option.values.empty() ? (option.file ? "_files" : " ")
                            : option.file         ? "_plimsoll_" + option.name
                                                  : fmt::format("({})", names));
      if (option.file && !names.empty())
        helpers[option.name] = fmt::format("_plimsoll_{}() {{ _alternative 'names:name:({})' 'files:file:_files' }}\n",
                                           option.name, names);
      const std::string said = quoted(first_line(option.description), true);
      cases += fmt::format(" \\\n      '{}{}[{}]{}{}'", option.dashed(), option.joined ? "=-" : "",
                           said.substr(1, said.size() - 2), option.joined ? ":" : "", value);
    }
    cases += row.words.empty() ? " \\\n      '*:file:_files' ;;\n"
                               : fmt::format(" \\\n      '*:name:({})' ;;\n", fmt::join(row.words, " "));
  }
  std::string all;
  for (const auto& [option, helper] : helpers) all += helper;
  return fmt::format(
      "#compdef plimsoll\n"
      "# keep this as _plimsoll in a directory of $fpath\n"
      "{}_plimsoll() {{\n"
      "  local -a commands=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
      "  local command=$words[2]\n"
      "  shift words; (( CURRENT-- ))\n"
      "  case $command in\n{}  esac\n"
      "}}\n"
      "if [[ $funcstack[1] == _plimsoll ]]; then _plimsoll \"$@\"; else compdef _plimsoll plimsoll; fi\n",
      all, commands, cases);
}

std::string for_fish(const std::vector<CommandRow>& table) {
  std::string text = "# plimsoll completion fish > ~/.config/fish/completions/plimsoll.fish\n";
  for (const CommandRow& row : table)
    text +=
        fmt::format("complete -c plimsoll -n __fish_use_subcommand -f -a {} -d {}\n", row.name, quoted(row.summary));
  for (const CommandRow& row : table)
    if (!row.words.empty())
      text += fmt::format("complete -c plimsoll -n '__fish_seen_subcommand_from {}' -f -a {}\n", row.name,
                          quoted(fmt::format("{}", fmt::join(row.words, " "))));
  for (const CommandRow& row : table)
    for (const OptionRow& option : row.options) {
      text += fmt::format("complete -c plimsoll -n '__fish_seen_subcommand_from {}' -{} {}", row.name,
                          option.name.size() == 1 ? "s" : "l", option.name);
      if (!option.value.empty() && !option.joined) text += option.file ? " -r" : " -x";
      if (!option.values.empty())
        text += fmt::format(" -a {}", quoted(fmt::format("{}", fmt::join(option.values, " "))));
      text += fmt::format(" -d {}\n", quoted(first_line(option.description)));
    }
  return text;
}

class CompletionCommand final : public Command {
 public:
  explicit CompletionCommand(const Commands& commands)
      : Command("completion", "print the completion script of a shell: plimsoll completion bash"),
        commands_(commands),
        shell_(cl::Positional, cl::Required, cl::desc("bash|zsh|fish"), cl::sub(sub)),
        json_("json", cl::desc("print the script as a JSON string"), cl::sub(sub)) {}

  Status run() override {
    const std::vector<CommandRow> table = option_table(commands_);
    std::string script;
    if (shell_ == "bash") script = for_bash(table);
    else if (shell_ == "zsh") script = for_zsh(table);
    else if (shell_ == "fish") script = for_fish(table);
    else
      return Error{ExitCode::usage, fmt::format("no completion for '{}'; shells: bash, zsh, fish", shell_.getValue())};
    if (json_) script = JsonObject().add("shell", shell_.getValue()).add("script", script).text() + "\n";
    fmt::print("{}", script);
    return {};
  }

 private:
  const Commands& commands_;
  cl::opt<std::string> shell_;
  cl::opt<bool> json_;
};

}  // namespace

std::unique_ptr<Command> completion_command(const Commands& commands) {
  return std::make_unique<CompletionCommand>(commands);
}

}  // namespace plimsoll
