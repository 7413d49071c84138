#include <fmt/format.h>

#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/help.h"
#include "tools/plimsoll/json.h"
#include "tools/plimsoll/option_table.h"

namespace plimsoll {
namespace {

// Escapes text for roff: dashes stay dashes, and no line is taken for a request.
std::string roff(const std::string& text) {
  std::string safe;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) safe += "\\&";
    if (c == '\\') safe += "\\e";
    else if (c == '-') safe += "\\-";
    else safe += c;
    begins = c == '\n';
  }
  return safe;
}

// Lines with columns keep them.
std::string paragraph(const std::string& text) {
  const size_t end = text.find('\n');
  if (end == std::string::npos) return roff(text) + "\n";
  return roff(text.substr(0, end)) + "\n.RS 2\n.nf\n" + roff(text.substr(end + 1)) + "\n.fi\n.RE\n";
}

std::string man_entry(const OptionRow& option) {
  std::string text = fmt::format(".TP\n.B {}", roff(option.dashed()));
  if (!option.value.empty()) text += fmt::format(" \\fI{}\\fR", roff(option.value));
  text += "\n" + paragraph(option.description);
  for (size_t i = 0; i < option.meanings.size(); ++i)
    text += fmt::format(".br\n{}: {}\n", roff(option.values[i]), roff(option.meanings[i]));
  if (option.meanings.empty() && !option.values.empty() && option.description.find('\n') == std::string::npos)
    text += fmt::format(".br\n{}\n", roff(fmt::format("{}", fmt::join(option.values, ", "))));
  return text;
}

std::string described(const CommandRow& row) {
  std::string text = fmt::format(".SS plimsoll {}", roff(row.name));
  for (const std::string& positional : row.positional) text += " " + roff(positional);
  for (const OptionRow& option : row.options)
    if (option.needed) text += roff(fmt::format(" {} {}", option.dashed(), option.value));
  text += fmt::format(" [options]\n{}\n", roff(row.summary));
  if (!row.example.empty()) text += fmt::format(".PP\n.nf\n  {}\n.fi\n", roff(row.example));
  for (const OptionGroup& group : grouped_options(row)) {
    text += fmt::format(".PP\n.I {}\n", roff(group.title));
    for (const OptionRow& option : group.options) text += man_entry(option);
  }
  return text;
}

class ManCommand final : public Command {
 public:
  explicit ManCommand(const Commands& commands)
      : Command("man", "print the manual page: plimsoll man | man -l -"),
        commands_(commands),
        json_("json", llvm::cl::desc("print the page as a JSON string"), llvm::cl::sub(sub)) {}

  Status run() override {
    std::string page =
        fmt::format(".TH PLIMSOLL 1 \"\" \"plimsoll {}\" \"\"\n.SH NAME\nplimsoll \\- {}\n", PLIMSOLL_VERSION,
                    roff("compile an ONNX model into a training program within a memory budget"));
    page += fmt::format(
        ".SH SYNOPSIS\n.B plimsoll\n\\fISUBCOMMAND\\fR [options]\n.SH DESCRIPTION\n.nf\n{}.fi\n.SH SUBCOMMANDS\n",
        roff(kOverview));
    for (const CommandRow& row : option_table(commands_)) page += described(row);
    if (json_) page = JsonObject().add("page", page).text() + "\n";
    fmt::print("{}", page);
    return {};
  }

 private:
  const Commands& commands_;
  llvm::cl::opt<bool> json_;
};

}  // namespace

std::unique_ptr<Command> man_command(const Commands& commands) { return std::make_unique<ManCommand>(commands); }

}  // namespace plimsoll
