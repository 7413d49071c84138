#include "tools/plimsoll/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "compiler/report/table.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/json.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

constexpr size_t kHelpWidth = 110;
constexpr size_t kHelpColumn = 28;  // of descriptions

struct NamedGroup {
  const char* title;
  std::vector<std::string_view> names;
};

const std::vector<NamedGroup>& option_groups() {
  static const std::vector<NamedGroup> groups = {
      {"basics",
       {"batch", "budget", "o", "target", "optimizer", "loss", "checkpoint", "average", "inference", "explain", "clear",
        "list"}},
      {"what to train, and how",
       {"trainable", "freeze", "frozen-statistics", "momentum", "nesterov", "weight-decay", "clip-norm",
        "optimizer-state", "class-axis", "class-weights", "pos-weight", "ignore-index", "label-smoothing",
        "mixed-labels", "output"}},
      {"what the model leaves open", {"dim", "input", "assume", "modes", "assume-shared", "strict", "require-bn"}},
      {"how to meet the budget",
       {"policy", "sub-batch", "batch-norm", "process-budget", "host-budget", "algorithms-of", "capacity"}},
      {"several ranks", {"ranks", "rank-costs"}},
      {"planning effort", {"effort", "time-limit", "jobs", "quick"}},
      {"where costs come from", {"costs", "remeasure", "tasks-only", "spill"}},
      {"kernels and layouts",
       {"threads", "layout", "attention", "loss-form", "recurrence", "precision", "keep-fp32",
        "allow-nondeterministic"}},
      {"output",
       {"json", "csv", "html", "trace", "measured", "weights", "markdown", "external-data", "trainer", "force",
        "dry-run", "q", "v"}},
      {"reports and debugging", {"what-if", "rules", "print-after", "dump", "stop-after", "from"}},
  };
  return groups;
}

struct CommandGroup {
  const char* title;
  std::vector<std::string_view> names;
};

const std::vector<CommandGroup>& command_groups() {
  static const std::vector<CommandGroup> groups = {
      {"build a trainer", {"train", "compile", "plan", "model", "export"}},
      {"understand a plan", {"inspect", "compare", "frontier", "diff", "verify"}},
      {"understand a training run", {"runs"}},
      {"this machine, this compiler", {"doctor", "profile", "cache", "operators", "place"}},
      {"help", {"help", "man", "completion"}},
  };
  return groups;
}

// Wraps `text` to lines of at most kHelpWidth, indented by `column` from the second line on.
std::string wrapped(std::string_view text, size_t column) {
  return fmt::format("{}", fmt::join(wrapped_lines(text, kHelpWidth - column), "\n" + std::string(column, ' ')));
}

std::string help_of(std::string left, std::string_view text, size_t column) {
  const size_t width = width_of(left);
  if (width + 2 > column) left += "\n" + std::string(column, ' ');
  else left.append(column - width, ' ');
  return left + wrapped(text, column) + "\n";
}

std::string help_of(const OptionRow& option) {
  const std::string& all = option.description;
  const size_t first = std::min(all.find('\n'), all.size());
  std::string text = help_of("  " + option.dashed() + option.suffix(), all.substr(0, first), kHelpColumn);
  // Lines with columns keep them.
  for (size_t begin = first + 1; begin < all.size();) {
    const size_t end = std::min(all.find('\n', begin), all.size()),
                 name = std::min(all.find_first_not_of(' ', begin), end);
    const size_t gap = std::min(all.find("  ", name), end), meaning = std::min(all.find_first_not_of(' ', gap), end);
    text += help_of(std::string(8, ' ') + all.substr(name, gap - name),
                    std::string_view(all).substr(meaning, end - meaning), 8 + meaning - name);
    begin = end + 1;
  }
  for (size_t i = 0; i < option.meanings.size(); ++i)
    text += help_of(fmt::format("        {}", option.values[i]), option.meanings[i], kHelpColumn + 4);
  return text;
}

std::string as_json(const CommandRow& row) {
  const auto list_of = [](const std::vector<std::string>& texts) {
    std::vector<std::string> quoted;
    for (const std::string& text : texts) quoted.push_back(json_text(text));
    return fmt::format("[{}]", fmt::join(quoted, ","));
  };
  std::vector<std::string> options;
  for (const OptionGroup& group : grouped_options(row))
    for (const OptionRow& option : group.options)
      options.push_back(JsonObject()
                            .add("option", option.dashed())
                            .add("group", group.title)
                            .add("value", option.value)
                            .add("required", option.needed)
                            .add("description", option.description)
                            .add_text("values", list_of(option.values))
                            .text());
  return JsonObject()
      .add("subcommand", row.name)
      .add("summary", row.summary)
      .add("example", row.example)
      .add_text("arguments", list_of(row.positional))
      .add_text("options", json_list(options))
      .text();
}

class HelpCommand final : public Command {
 public:
  explicit HelpCommand(const Commands& commands)
      : Command("help", "list the subcommands, or explain one: plimsoll help compile"),
        commands_(commands),
        about_(cl::Positional, cl::desc("[SUBCOMMAND]"), cl::sub(sub)),
        json_("json", cl::desc("print the subcommands and their options as JSON"), cl::sub(sub)) {}

  Status run() override {
    const std::vector<CommandRow> table = option_table(commands_);
    if (about_.empty()) {
      std::vector<std::string> all;
      for (const CommandRow& row : table) all.push_back(as_json(row));
      fmt::print("{}", json_ ? json_list(all) + "\n" : general_help(table));
      return {};
    }
    for (const CommandRow& row : table) {
      if (row.name != about_.getValue()) continue;
      fmt::print("{}", json_ ? as_json(row) + "\n" : command_help(row));
      return {};
    }
    return unknown_command(about_, commands_);
  }

 private:
  const Commands& commands_;
  cl::opt<std::string> about_;
  cl::opt<bool> json_;
};

}  // namespace

std::vector<OptionGroup> grouped_options(const CommandRow& command) {
  std::vector<OptionGroup> groups;
  std::vector<bool> placed(command.options.size());
  for (const NamedGroup& group : option_groups()) {
    OptionGroup here{.title = group.title, .options = {}};
    for (const std::string_view name : group.names)
      for (size_t i = 0; i < command.options.size(); ++i) {
        if (command.options[i].name != name || placed[i]) continue;
        here.options.push_back(command.options[i]);
        placed[i] = true;
      }
    if (!here.options.empty()) groups.push_back(std::move(here));
  }
  OptionGroup rest{.title = "others", .options = {}};
  for (size_t i = 0; i < command.options.size(); ++i)
    if (!placed[i]) rest.options.push_back(command.options[i]);
  if (!rest.options.empty()) groups.push_back(std::move(rest));
  return groups;
}

std::string general_help(const std::vector<CommandRow>& commands) {
  std::string text = fmt::format("{}\nusage: plimsoll SUBCOMMAND [options]\n", kOverview);
  std::vector<std::string_view> told;
  const auto tell = [&](const CommandRow& row) { text += help_of("  " + row.name, row.summary, 14); };
  for (const CommandGroup& group : command_groups()) {
    text += fmt::format("\n{}\n", group.title);
    for (const std::string_view name : group.names)
      for (const CommandRow& row : commands)
        if (row.name == name) {
          tell(row);
          told.push_back(name);
        }
  }
  for (const CommandRow& row : commands)
    if (std::find(told.begin(), told.end(), row.name) == told.end()) tell(row);
  return text +
         "\n`plimsoll help SUBCOMMAND` lists its options; `plimsoll --version` prints the version and the commit.\n";
}

std::string command_help(const CommandRow& command) {
  std::string usage = "plimsoll " + command.name;
  for (const std::string& positional : command.positional) usage += " " + positional;
  for (const OptionRow& option : command.options)
    if (option.needed) usage += fmt::format(" {} {}", option.dashed(), option.value);
  std::string text = fmt::format("plimsoll {}: {}\n\nusage:   {}{}\n", command.name, command.summary, usage,
                                 command.options.empty() ? "" : " [options]");
  if (!command.example.empty()) text += fmt::format("example: {}\n", command.example);
  if (!command.words.empty() && command.positional.front() != fmt::format("{}", fmt::join(command.words, "|")))
    text += fmt::format(
        "\n{}\n",
        wrapped(fmt::format("{} is one of {}", command.positional.front(), fmt::join(command.words, ", ")), 0));
  const std::vector<OptionGroup> groups = grouped_options(command);
  for (const OptionGroup& group : groups) {
    text += groups.size() > 1 ? fmt::format("\n{}\n", group.title) : "\n";
    for (const OptionRow& option : group.options) text += help_of(option);
  }
  if (!command.of_trainer.empty()) {
    const std::string of_trainer = fmt::format(
        "Options of the trainer may be mixed with these: {}. Arguments after -- go to the trainer unchanged; "
        "DIR/build/train --help explains them.",
        fmt::join(command.of_trainer, ", "));
    text += fmt::format("\n{}\n", wrapped(of_trainer, 0));
  }
  return text;
}

std::unique_ptr<Command> help_command(const Commands& commands) { return std::make_unique<HelpCommand>(commands); }

}  // namespace plimsoll
