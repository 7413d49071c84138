#include <fmt/format.h>

#include <filesystem>

#include "compiler/costs/cache.h"
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
      : Command("cache", "the measured times that are kept: plimsoll cache, plimsoll cache --clear"),
        clear_("clear", cl::desc("delete them: the next command that needs them measures again"), cl::sub(sub)),
        json_("json", cl::desc("the list as JSON, to stdout"), cl::sub(sub)) {}

  Status run() override {
    const std::string directory = default_cache_directory();
    if (directory.empty())
      return Error{ExitCode::environment, "neither HOME nor XDG_CACHE_HOME is set: measured times are not kept"};
    const std::vector<CacheFile> files = cache_files(directory);
    if (clear_ && json_) return Error{ExitCode::usage, "--json is of the list, and --clear prints none"};
    if (json_) return list_as_json(directory, files);
    return clear_ ? clear(directory, files) : list(directory, files);
  }

 private:
  static int64_t bytes_of(const std::vector<CacheFile>& files) {
    int64_t bytes = 0;
    for (const CacheFile& file : files) bytes += file.bytes;
    return bytes;
  }

  static Status clear(const std::string& directory, const std::vector<CacheFile>& files) {
    for (const CacheFile& file : files) {
      std::error_code failed;
      fs::remove(file.path, failed);
      if (failed) return Error{ExitCode::unwritable_output, fmt::format("cannot delete '{}': {}", file.path, failed.message())};
    }
    fmt::print("deleted {} of {} in {}\n", counted(static_cast<int64_t>(files.size()), "file"), format_bytes(bytes_of(files)), directory);
    return {};
  }

  static Status list(const std::string& directory, const std::vector<CacheFile>& files) {
    fmt::print("{}: {}, {}\n", directory, counted(static_cast<int64_t>(files.size()), "file"), format_bytes(bytes_of(files)));
    Table table({{.heading = "file", .most = 32}, {.heading = "tasks", .right = true}, {.heading = "size", .right = true}, {.heading = "measured on", .most = 60}});
    // Behind it the build of the profiler follows, which tells a person nothing.
    const auto measured_on = [](const std::string& key) { return key.substr(0, key.rfind(", profiler ")); };
    for (const CacheFile& file : files)
      table.row({fs::path(file.path).filename().string(), std::to_string(file.tasks), format_bytes(file.bytes), measured_on(file.key)});
    fmt::print("{}", table.print(Console::color(1)));
    return {};
  }

  static Status list_as_json(const std::string& directory, const std::vector<CacheFile>& files) {
    std::vector<std::string> objects;
    for (const CacheFile& file : files)
      objects.push_back(JsonObject().add("file", fs::path(file.path).filename().string()).add("tasks", file.tasks).add("bytes", file.bytes)
                            .add("measured_on", file.key).text());
    fmt::print("{}\n", JsonObject().add("directory", directory).add_text("files", json_list(objects)).text());
    return {};
  }

  cl::opt<bool> clear_, json_;
};

}  // namespace

std::unique_ptr<Command> cache_command() { return std::make_unique<CacheCommand>(); }

}  // namespace plimsoll
