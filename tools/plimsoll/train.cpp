// `plimsoll train`: compiles the model, builds the trainer and runs it. The trainer is cached under a key of all its
// inputs, so the next run with the same model and options starts it at once.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "compiler/driver/compile.h"
#include "compiler/driver/kept_trainer.h"
#include "compiler/import/fingerprint.h"
#include "compiler/import/sha256.h"
#include "compiler/support/output.h"
#include "runtime/machine/host_memory.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/command_line.h"
#include "tools/plimsoll/commit.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/json.h"
#include "tools/plimsoll/other_batch.h"
#include "tools/plimsoll/planning_options.h"
#include "tools/plimsoll/suggestions.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;
namespace fs = std::filesystem;

// A hash of the file's contents.
std::string fingerprint(const std::string& path) {
  if (path.ends_with(".onnx"))
    if (const Result<std::string> model = fingerprint_of_model(path); model.ok()) return *model;
  const Result<std::string> bytes = read_file(path);
  return bytes.ok() ? sha256_hex(*bytes) : "";
}

// Version, commit, and the executable itself, because a rebuilt compiler may generate another program.
std::string this_program() {
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  return fmt::format("{} {} {} {} {}", PLIMSOLL_VERSION, commit(), self.string(), fs::file_size(self, failed),
                     fs::last_write_time(self, failed).time_since_epoch().count());
}

// The trainer's kernels are compiled for the processor that builds it, and several machines may share a cache.
std::string this_processor() {
  std::string text;
  host_memory_files::for_each_line("/proc/cpuinfo", [&](std::string_view line) {
    const bool describes = line.starts_with("model name") || line.starts_with("flags");
    if (describes && text.find(line) == text.npos) text += fmt::format("\n{}", line);
  });
  return text;
}

class TrainCommand final : public Command {
 public:
  TrainCommand()
      : Command("train",
                "compile, build and run a trainer: plimsoll train net.onnx --batch 64 --budget 4GiB --data images:DIR"),
        options_(sub),
        one_(sub),
        trainer_("trainer", cl::value_desc("DIR"),
                 cl::desc("build the trainer in DIR (default: in the cache, which `plimsoll cache` lists)"),
                 cl::sub(sub)),
        dry_run_("dry-run", cl::desc("print the three commands instead of running them"), cl::sub(sub)),
        json_("json", cl::desc("print the figures of the run as JSON when it ends; with --dry-run, the commands"),
              cl::sub(sub)) {
    one_.let_from_replace(options_);
    takes_trainer_flags = true;
  }

  Status run() override {
    const Console console(options_.quiet, options_.verbose);
    if (!has_trainer_flag("data") && !has_trainer_flag("predict"))
      return Error{
          ExitCode::usage,
          "--data SOURCE is required: the training data",
          {"npy:X.npy,Y.npy, tokens:FILE, images:DIR, cifar10:DIR, mnist:DIR, or synthetic for a trial run"}};
    PLIMSOLL_ASSIGN(PlanningRequest planning, one_.planning_request(options_));
    PLIMSOLL_ASSIGN(OnePlanRequest plan, request_of(one_));
    TrainerToMake trainer{.key = key(compile_arguments()),
                          .target = planning.of_model.target,
                          .ranks = std::max<int64_t>(1, options_.ranks)};
    PLIMSOLL_ASSIGN(trainer.directory, directory(trainer.key));
    if (const std::optional<TrainerOfFamily> other = other_batch(trainer)) {
      const PlannedBatch& planned = other->planned;
      std::vector<std::string> run =
          run_line(trainer.ranks, other->directory, {"--batch", std::to_string(options_.batch)});
      if (dry_run_) return print_commands({for_shell(run)});
      console.say(fmt::format(
          "using the trainer that was planned for batch {}, in rounds of {}; --trainer DIR builds one for batch {}",
          planned.batch, planned.sub_batch, options_.batch.getValue()));
      return become(run);
    }
    trainer.command =
        fmt::format("plimsoll compile {} -o {}", for_shell(compile_arguments()), for_shell({trainer.directory}));
    const std::vector<std::string> run = run_line(trainer.ranks, trainer.directory, {});
    if (dry_run_) {
      const std::string tree = for_shell({trainer.directory + "/build"});
      return print_commands({trainer.command,
                             fmt::format("cmake -S {} -B {} && cmake --build {}", for_shell({trainer.directory}), tree,
                                         tree),
                             for_shell(run)});
    }
    trainer.before_build = [&] { console.say(fmt::format("building the trainer in {}", trainer.directory)); };
    trainer.compile = [&]() -> Status {
      PLIMSOLL_ASSIGN(const Planned planned, compile({.planning = planning,
                                                      .plan = plan,
                                                      .directory = trainer.directory,
                                                      .invocation = trainer.command},
                                                     console.messages()));
      const Plan& made = planned.plan;
      PLIMSOLL_TRY(write_family(trainer.directory, family(), {made.batch, made.sub_batch, made.rounds, trainer.ranks}));
      console.say(describe(planned));
      return last_word(planned);
    };
    PLIMSOLL_TRY(make_trainer(trainer, console.messages()));
    return become(run);
  }

 private:
  Status print_commands(const std::vector<std::string>& commands) const {
    if (!json_) {
      fmt::print("{}\n", fmt::join(commands, "\n"));
      return {};
    }
    std::vector<std::string> quoted;
    for (const std::string& command : commands) quoted.push_back(json_text(command));
    fmt::print("{}\n", JsonObject().add_text("commands", json_list(quoted)).text());
    return {};
  }

  bool has_trainer_flag(std::string_view name) const {
    return std::any_of(trainer_arguments.begin(), trainer_arguments.end(), [&](const std::string& argument) {
      const std::string_view flag = std::string_view(argument).substr(0, argument.find('='));
      return flag == fmt::format("--{}", name) || flag == fmt::format("-{}", name);
    });
  }

  // The arguments of `plimsoll compile`, which decide the trainer.
  std::vector<std::string> compile_arguments() const {
    std::vector<std::string> arguments;
    for (size_t i = 0; i < own_arguments.size(); ++i) {
      const std::string_view argument = own_arguments[i], name = option_name(argument);
      if (name == "q" || name == "v" || name == "dry-run" || name == "json") continue;
      if (name != "trainer") arguments.emplace_back(argument);
      else if (argument.find('=') == argument.npos) ++i;
    }
    return arguments;
  }

  // What a trainer depends on, except for the batch: its plan may allow another.
  std::string family() const {
    std::vector<std::string> arguments = compile_arguments();
    for (size_t i = 0; i < arguments.size();) {
      if (option_name(arguments[i]) != "batch") {
        ++i;
        continue;
      }
      const bool value_follows = arguments[i].find('=') == std::string::npos && i + 1 < arguments.size();
      const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(i);
      arguments.erase(first, first + (value_follows ? 2 : 1));
    }
    return key(arguments);
  }

  // The trainer of another batch that serves this one, if the wanted one is not there. A budget in percent is another
  // number of bytes for each batch, so it is planned for each.
  std::optional<TrainerOfFamily> other_batch(const TrainerToMake& wanted) const {
    std::error_code failed;
    const std::vector<std::string> arguments = compile_arguments();
    const auto is_percentage = [](const std::string& argument) { return argument.ends_with('%'); };
    if (!trainer_.empty() || fs::exists(wanted.directory + "/built", failed) ||
        std::ranges::any_of(arguments, is_percentage))
      return {};
    return find_family(trainers_directory(), stem() + "-", family(), options_.batch);
  }

  std::string stem() const { return fs::path(options_.model.getValue()).stem().string(); }

  // Includes the contents of each file that an argument names.
  std::string key(const std::vector<std::string>& arguments) const {
    std::string text = this_program() + this_processor();
    for (const std::string& argument : arguments) {
      text += fmt::format("\n{}", argument);
      const size_t equals = argument.find('=');
      const bool has_value = argument.starts_with("-") && equals != argument.npos;
      const std::string path = has_value ? argument.substr(equals + 1) : argument;
      std::error_code failed;
      if (fs::is_regular_file(path, failed)) text += fmt::format(" {}", fingerprint(path));
    }
    return sha256_hex(text);
  }

  Result<std::string> directory(const std::string& key) const {
    if (!trainer_.empty()) return trainer_.getValue();
    const std::string kept = trainers_directory();
    if (kept.empty())
      return Error{ExitCode::environment,
                   "neither HOME nor XDG_CACHE_HOME is set: there is no cache for the trainer",
                   {"--trainer DIR builds it in DIR"}};
    return fmt::format("{}/{}-{}", kept, stem(), key.substr(0, 16));
  }

  std::vector<std::string> run_line(int64_t ranks, const std::string& directory,
                                    const std::vector<std::string>& first) const {
    std::vector<std::string> line;
    if (ranks > 1) line = {"mpirun", "-np", std::to_string(ranks)};
    line.push_back(directory + "/build/train");
    line.insert(line.end(), first.begin(), first.end());
    line.insert(line.end(), trainer_arguments.begin(), trainer_arguments.end());
    if (json_) line.push_back("--json");
    else if (options_.quiet) line.push_back("--quiet");
    return line;
  }

  // Replaces this process by the trainer, which then gets its signals, its terminal and its exit code.
  static Status become(const std::vector<std::string>& line) {
    std::vector<char*> arguments;
    for (const std::string& argument : line) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    std::fflush(stdout);
    ::execvp(arguments[0], arguments.data());
    return Error{ExitCode::environment, fmt::format("cannot run '{}': {}", line[0], std::strerror(errno))};
  }

  PlanningOptions options_;
  OnePlanOptions one_;
  cl::opt<std::string> trainer_;
  cl::opt<bool> dry_run_, json_;
};

}  // namespace

std::unique_ptr<Command> train_command() { return std::make_unique<TrainCommand>(); }

}  // namespace plimsoll
