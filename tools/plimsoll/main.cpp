// The command `plimsoll`: parses the command line, runs the subcommand and returns its status as an exit code.
// Everything else is in the subcommands' files.
#include <fmt/format.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "tools/plimsoll/command_line.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/commit.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/help.h"
#include "tools/plimsoll/option_table.h"
#include "tools/plimsoll/suggestions.h"

namespace plimsoll {
namespace {

bool is_help(std::string_view argument) { return argument == "--help" || argument == "-help" || argument == "-h"; }

// Among the options, before "--".
bool asks_for_help(std::span<const std::string_view> arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::any_of(arguments.begin(), end, is_help);
}

// At every exit: reports an error if stdout could not be written.
void check_stdout();

// Ends the process. The memory of plans is left to the system: for deep networks, to free every name takes half a
// second. Sanitizers look for leaks at the usual end.
int leave(ExitCode code) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
  return static_cast<int>(code);
#else
  check_stdout();
  std::_Exit(static_cast<int>(code));
#endif
}

int run(int argc, char** argv) {
  const Console console(false);
  Commands commands;
  for (const auto make :
       {train_command, compile_command, plan_command, compare_command, frontier_command, inspect_command, diff_command,
        runs_command, verify_command, profile_command, cache_command, model_command, export_command, operators_command,
        place_command, doctor_command})
    commands.push_back(make());
  commands.push_back(completion_command(commands));
  commands.push_back(man_command(commands));
  commands.push_back(help_command(commands));
  const auto named = [&](const std::string& name) {
    return std::any_of(commands.begin(), commands.end(),
                       [&](const auto& command) { return command->sub.getName() == name; });
  };
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb.empty() || (verb[0] != '-' && !named(verb))) {
    console.error(unknown_command(verb, commands));
    return static_cast<int>(ExitCode::usage);
  }
  if (is_help(verb)) {
    fmt::print("{}", general_help(option_table(commands)));
    return 0;
  }
  const auto ask_for_help = [&](Error error) {
    error.notes.push_back(fmt::format("see `plimsoll {}--help`", named(verb) ? verb + " " : ""));
    console.error(error);
    return static_cast<int>(ExitCode::usage);
  };
  std::vector<std::string_view> given(argv + 1, argv + argc);
  if (asks_for_help(std::span(given).subspan(1)))
    for (const CommandRow& row : option_table(commands))
      if (row.name == verb) {
        fmt::print("{}", command_help(row));
        return 0;
      }
  for (const auto& command : commands) {
    if (command->sub.getName() != verb || !command->takes_trainer_flags) continue;
    split_trainer_flags(*command, std::span(given).subspan(1));
    given.resize(1);
    given.insert(given.end(), command->own_arguments.begin(), command->own_arguments.end());
  }
  // The long names of the two options of one letter.
  for (const auto& command : commands) {
    if (command->sub.getName() != verb) continue;
    for (size_t i = 1; i < given.size() && given[i] != "--"; ++i) {
      if (given[i] == "--quiet" && command->sub.OptionsMap.count("q") > 0) given[i] = "-q";
      if (given[i] == "--verbose" && command->sub.OptionsMap.count("v") > 0) given[i] = "-v";
    }
  }
  for (const auto& command : commands)
    if (command->sub.getName() == verb)
      if (const Status right = check_command_line(*command, commands, std::span(given).subspan(1)); !right.ok())
        return ask_for_help(right.error());
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream& out) {
    out << "plimsoll " PLIMSOLL_VERSION;
    if (*commit() != '\0') out << " (commit " << commit() << ")";
    out << "\n";
  });
  std::string complaint;
  llvm::raw_string_ostream complaints(complaint);
  std::vector<const char*> arguments = {"plimsoll"};  // quoted by LLVM's messages
  for (const std::string_view argument : given) arguments.push_back(argument.data());
  const int count = static_cast<int>(arguments.size());
  if (!llvm::cl::ParseCommandLineOptions(count, arguments.data(), kOverview, &complaints)) {
    complaints.flush();
    return ask_for_help(
        {ExitCode::usage,
         named(verb) ? complaint : fmt::format("unexpected '{}': the subcommand comes first, then its options", verb)});
  }
  for (const auto& command : commands) {
    if (!command->sub) continue;
    command->invocation = "plimsoll " + for_shell({argv + 1, argv + argc});
    const Status status = command->run();
    if (status.ok()) return leave(ExitCode::ok);
    Console(false, std::ranges::count(given, "-v") > 0).error(status.error());
    return leave(status.error().code);
  }
  return static_cast<int>(ExitCode::usage);
}

[[noreturn]] void end_without_stdout(int why) {
  llvm::outs().clear_error();  // otherwise it aborts
  Console(false).error(
      {ExitCode::unwritable_output, fmt::format("cannot write to standard output: {}", std::strerror(why))});
  std::fflush(stderr);
  std::_Exit(static_cast<int>(ExitCode::unwritable_output));
}

void check_stdout() {
  llvm::outs().flush();
  if (llvm::outs().has_error()) end_without_stdout(llvm::outs().error().value());
  if (std::fflush(stdout) != 0) end_without_stdout(errno);
  if (std::ferror(stdout)) end_without_stdout(EIO);  // from an earlier write
}

}  // namespace

Error unknown_command(const std::string& name, const Commands& commands) {
  std::vector<std::string> names;
  for (const auto& command : commands) names.push_back(command->sub.getName().str());
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  Error error{ExitCode::usage,
              name.empty() ? "a subcommand is required: " + list
                           : fmt::format("'{}' is not a subcommand; expected one of {}", name, list),
              {"see `plimsoll --help` and `plimsoll SUBCOMMAND --help`"}};
  if (std::optional<std::string> meant = command_called(name); meant || (meant = nearest_name(name, names)))
    error.message += fmt::format("\nDid you mean '{}'?", *meant);
  return error;
}

}  // namespace plimsoll

int main(int argc, char** argv) {
  using plimsoll::Console, plimsoll::Error, plimsoll::ExitCode;
  std::setlocale(LC_ALL, "C");
  llvm::outs();  // constructed first, so destroyed last
  std::atexit(plimsoll::check_stdout);
  try {
    return plimsoll::run(argc, argv);
  } catch (const std::bad_alloc&) {
    Console(false).error(Error{ExitCode::environment, "out of memory"});
    return static_cast<int>(ExitCode::environment);
  } catch (const std::system_error& failure) {
    if (std::ferror(stdout)) plimsoll::end_without_stdout(failure.code().value());  // fmt::print's
    Console(false).error(Error{ExitCode::internal, failure.what()});
    return static_cast<int>(ExitCode::internal);
  } catch (const std::exception& bug) {
    Console(false).error(Error{ExitCode::internal, bug.what()});
    return static_cast<int>(ExitCode::internal);
  }
}
