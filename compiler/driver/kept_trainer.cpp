#include "compiler/driver/kept_trainer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "compiler/costs/cache.h"
#include "compiler/costs/subprocess.h"
#include "compiler/support/output.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBuilt = "built";
constexpr size_t kLinesOfFailure = 20;

std::string lock_of(const std::string& directory) { return directory + ".making"; }

// Locks the file `path` during its lifetime, and then deletes it. A killed process leaves the file, unlocked.
class MakingLock {
 public:
  enum class IfTaken { wait, give_up };

  // No descriptor: another process holds the lock, and IfTaken::give_up.
  static Result<MakingLock> take(const std::string& path, IfTaken if_taken, const Messages& messages = {}) {
    for (;;) {
      const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
      if (descriptor < 0)
        return Error{ExitCode::unwritable_output, fmt::format("cannot write '{}': {}", path, std::strerror(errno))};
      MakingLock lock(path, descriptor);
      if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        if (if_taken == IfTaken::give_up) return lock.without();
        messages.note("another process is building the same trainer; waiting for it");
        while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
        }
      }
      // The holder deleted the file in the meantime; a third process may have created a new one of that name.
      if (lock.is_at_path()) return lock;
      lock.without();
    }
  }
  MakingLock(MakingLock&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  MakingLock& operator=(MakingLock&&) = delete;
  ~MakingLock() {
    if (descriptor_ < 0) return;
    ::unlink(path_.c_str());
    ::close(descriptor_);
  }
  bool is_held() const { return descriptor_ >= 0; }

 private:
  MakingLock(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  // Leaves the file to its holder.
  MakingLock without() {
    ::close(std::exchange(descriptor_, -1));
    return std::move(*this);
  }
  bool is_at_path() const {
    struct stat ours, there;
    return ::fstat(descriptor_, &ours) == 0 && ::stat(path_.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
  }

  std::string path_;
  int descriptor_;
};

// The directory of this Plimsoll's runtime libraries, in a build tree or installed. Empty: none; the trainer's project
// then builds the sources itself, which takes a minute or more.
std::string built_runtime(const TrainerToMake& trainer) {
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return "";
  const fs::path prefix = self.parent_path().parent_path();
  const auto has = [&](const fs::path& directory, const std::string& name) {
    return fs::exists(directory / name, failed) || fs::exists(directory / "runtime" / name, failed);
  };
  for (const fs::path& directory : {prefix, prefix / "lib" / "plimsoll"})
    if (has(directory, "libplimsoll_" + trainer.target + ".a") &&
        (trainer.ranks == 1 || has(directory, "libplimsoll_ranks_" + trainer.target + ".a")))
      return directory.string();
  return "";
}

bool is_installed(const std::string& program) {
  const Result<ProcessResult> found = run_process({"/usr/bin/env", program, "--version"});
  return found.ok() && found->exit_code == 0;
}

std::vector<std::string> last_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t end = text.size(); end > 0 && lines.size() < kLinesOfFailure;) {
    const size_t begin = text.rfind('\n', end - 1);
    const size_t first = begin == text.npos ? 0 : begin + 1;
    if (first < end) lines.push_back(text.substr(first, end - first));
    end = begin == text.npos ? 0 : begin;
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

Status run_cmake(const std::vector<std::string>& arguments, const std::string& log) {
  std::vector<std::string> command = {"/usr/bin/env", "cmake"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  PLIMSOLL_ASSIGN(const ProcessResult result, run_process(command));
  if (result.exit_code == 0) return {};
  const std::string output = result.output + result.errors;
  Error error{ExitCode::environment,
              fmt::format("building the trainer failed: cmake exited with code {}", result.exit_code),
              last_lines(output)};
  if (result.exit_code == 127)
    error.notes = {"install CMake and a C++ compiler: apt install cmake ninja-build g++"};
  else if (write_file(log, output).ok()) error.notes.push_back(fmt::format("the full output is in {}", log));
  return error;
}

Status build(const TrainerToMake& trainer) {
  const std::string tree = trainer.directory + "/build", log = trainer.directory + "/build.log";
  // -U: CMake caches where an earlier build found its libraries, and would link those of another Plimsoll.
  std::vector<std::string> configure = {"-S", trainer.directory, "-B", tree, "-U", "plimsoll_*_FILE"};
  if (const std::string runtime = built_runtime(trainer); !runtime.empty())
    configure.push_back("-DPLIMSOLL_RUNTIME=" + runtime);
  if (!fs::exists(tree + "/CMakeCache.txt") && is_installed("ninja"))
    configure.insert(configure.end(), {"-G", "Ninja"});
  PLIMSOLL_TRY(run_cmake(configure, log));
  const std::string jobs = std::to_string(std::max(1U, std::thread::hardware_concurrency()));
  return run_cmake({"--build", tree, "--parallel", jobs}, log);
}

std::string contents_when_built(const TrainerToMake& trainer) { return trainer.key + "\n" + trainer.command + "\n"; }

}  // namespace

std::string trainers_directory() {
  const std::string cache = default_cache_directory();
  return cache.empty() ? "" : cache + "/trainers";
}

std::vector<KeptTrainer> kept_trainers(const std::string& directory) {
  std::vector<KeptTrainer> trainers;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(directory, failed)) {
    if (!entry.is_directory(failed)) continue;
    KeptTrainer& trainer = trainers.emplace_back(KeptTrainer{.path = entry.path().string()});
    for (const auto& file : fs::recursive_directory_iterator(entry.path(), failed))
      if (file.is_regular_file(failed)) trainer.bytes += static_cast<int64_t>(file.file_size(failed));
    if (const Result<std::string> built = read_file(trainer.path + "/" + kBuilt); built.ok()) {
      trainer.command = built->substr(std::min(built->find('\n'), built->size() - 1) + 1);
      while (!trainer.command.empty() && trainer.command.back() == '\n') trainer.command.pop_back();
    }
  }
  std::ranges::sort(trainers, {}, &KeptTrainer::path);
  return trainers;
}

Result<bool> remove_trainer(const std::string& path) {
  PLIMSOLL_ASSIGN(const MakingLock lock, MakingLock::take(lock_of(path), MakingLock::IfTaken::give_up));
  if (!lock.is_held()) return false;
  std::error_code failed;
  fs::remove_all(path, failed);
  if (failed) return Error{ExitCode::unwritable_output, fmt::format("cannot delete '{}': {}", path, failed.message())};
  return true;
}

Status make_trainer(const TrainerToMake& trainer, const Messages& messages) {
  std::error_code failed;
  const fs::path parent = fs::path(trainer.directory).parent_path();
  if (!parent.empty()) fs::create_directories(parent, failed);
  if (failed)
    return Error{ExitCode::unwritable_output, fmt::format("cannot create '{}': {}", parent.string(), failed.message())};
  PLIMSOLL_ASSIGN(const MakingLock lock,
                  MakingLock::take(lock_of(trainer.directory), MakingLock::IfTaken::wait, messages));
  const std::string built = trainer.directory + "/" + kBuilt;
  if (const Result<std::string> there = read_file(built);
      there.ok() && *there == contents_when_built(trainer) && fs::exists(trainer.directory + "/build/train", failed))
    return {};
  PLIMSOLL_TRY(trainer.compile());
  trainer.before_build();
  PLIMSOLL_TRY(build(trainer));
  return write_file(built, contents_when_built(trainer));
}

}  // namespace plimsoll
