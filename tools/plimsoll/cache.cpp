#include <fmt/format.h>

#include <filesystem>

#include "compiler/costs/cache.h"
#include "compiler/driver/kept_trainer.h"
#include "compiler/report/table.h"
#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/json.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;
namespace fs = std::filesystem;

class CacheCommand final : public Command {
 public:
  CacheCommand()
      : Command("cache", "list or delete cached measurements and trainers: plimsoll cache, plimsoll cache --clear"),
        clear_("clear",
               cl::desc("delete them; the next command that needs one measures or builds it again"),
               cl::sub(sub)),
        json_("json", cl::desc("print the list as JSON"), cl::sub(sub)) {}

  Status run() override {
    const std::string directory = default_cache_directory();
    if (directory.empty())
      return Error{ExitCode::environment, "neither HOME nor XDG_CACHE_HOME is set: there is no cache"};
    const std::vector<CacheFile> files = cache_files(directory);
    const std::vector<KeptTrainer> trainers = kept_trainers(trainers_directory());
    if (clear_ && json_) return Error{ExitCode::usage, "--json applies to the list; --clear prints none"};
    if (json_) return list_as_json(directory, files, trainers);
    return clear_ ? clear(directory, files, trainers) : list(directory, files, trainers);
  }

 private:
  using Files = std::vector<CacheFile>;
  using Trainers = std::vector<KeptTrainer>;

  template <class Entry>
  static int64_t bytes_of(const std::vector<Entry>& entries) {
    int64_t bytes = 0;
    for (const Entry& entry : entries) bytes += entry.bytes;
    return bytes;
  }

  static std::string counted_trainers(const Trainers& trainers) {
    return counted(static_cast<int64_t>(trainers.size()), "trainer");
  }

  static Status clear(const std::string& directory, const Files& files, const Trainers& trainers) {
    for (const CacheFile& file : files) {
      std::error_code failed;
      fs::remove(file.path, failed);
      if (failed)
        return Error{ExitCode::unwritable_output, fmt::format("cannot delete '{}': {}", file.path, failed.message())};
    }
    Trainers deleted;
    for (const KeptTrainer& trainer : trainers) {
      PLIMSOLL_ASSIGN(const bool removed, remove_trainer(trainer.path));
      if (removed) deleted.push_back(trainer);
      else fmt::print("{} is kept: it is being built\n", fs::path(trainer.path).filename().string());
    }
    const std::string of_trainers =
        deleted.empty() ? "" : fmt::format(", {} of {}", counted_trainers(deleted), format_bytes(bytes_of(deleted)));
    fmt::print("deleted {} of {}{} in {}\n", counted(static_cast<int64_t>(files.size()), "file"),
               format_bytes(bytes_of(files)), of_trainers, directory);
    return {};
  }

  static void list(const Trainers& trainers) {
    if (trainers.empty()) return;
    fmt::print("\n{} of `plimsoll train`, {}\n", counted_trainers(trainers), format_bytes(bytes_of(trainers)));
    Table table({{.heading = "trainer", .most = 40},
                 {.heading = "size", .right = true},
                 {.heading = "compiled by", .most = 90}});
    for (const KeptTrainer& trainer : trainers)
      table.row({fs::path(trainer.path).filename().string(), format_bytes(trainer.bytes),
                 trainer.command.empty() ? "(not finished)"
                                         : trainer.command.substr(0, trainer.command.rfind(" -o "))});
    fmt::print("{}", table.print(Console::color(1)));
  }

  static Status list(const std::string& directory, const Files& files, const Trainers& trainers) {
    fmt::print("{}: {}, {}\n", directory, counted(static_cast<int64_t>(files.size()), "file"),
               format_bytes(bytes_of(files)));
    Table table({{.heading = "file", .most = 32},
                 {.heading = "tasks", .right = true},
                 {.heading = "size", .right = true},
                 {.heading = "measured on", .most = 60}});
    // The rest is the build of the profiler, which is not shown.
    const auto measured_on = [](const std::string& key) { return key.substr(0, key.rfind(", profiler ")); };
    for (const CacheFile& file : files)
      table.row({fs::path(file.path).filename().string(), std::to_string(file.tasks), format_bytes(file.bytes),
                 measured_on(file.key)});
    fmt::print("{}", table.print(Console::color(1)));
    list(trainers);
    return {};
  }

  static Status list_as_json(const std::string& directory, const Files& files, const Trainers& trainers) {
    std::vector<std::string> objects;
    for (const CacheFile& file : files)
      objects.push_back(JsonObject()
                            .add("file", fs::path(file.path).filename().string())
                            .add("tasks", file.tasks)
                            .add("bytes", file.bytes)
                            .add("measured_on", file.key)
                            .text());
    std::vector<std::string> made;
    for (const KeptTrainer& trainer : trainers)
      made.push_back(JsonObject()
                         .add("trainer", fs::path(trainer.path).filename().string())
                         .add("bytes", trainer.bytes)
                         .add("command", trainer.command)
                         .text());
    fmt::print("{}\n", JsonObject()
                           .add("directory", directory)
                           .add_text("files", json_list(objects))
                           .add_text("trainers", json_list(made))
                           .text());
    return {};
  }

  cl::opt<bool> clear_, json_;
};

}  // namespace

std::unique_ptr<Command> cache_command() { return std::make_unique<CacheCommand>(); }

}  // namespace plimsoll
