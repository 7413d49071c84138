#include "compiler/costs/subprocess.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace plimsoll {
namespace {

// An unnamed file between a child process and us. Unlike a pipe it cannot fill up, and nothing remains if a process is
// killed.
class UnnamedFile {
 public:
  UnnamedFile() : file_(std::tmpfile()) {}
  ~UnnamedFile() {
    if (file_) std::fclose(file_);
  }
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;
  int descriptor() const { return file_ ? fileno(file_) : -1; }
  bool write(std::string_view text) const {
    if (!file_ || std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0)
      return false;
    std::rewind(file_);
    return true;
  }
  std::string text() const {
    std::string text;
    if (!file_) return text;
    std::rewind(file_);
    char piece[4096];
    for (size_t got; (got = std::fread(piece, 1, sizeof piece, file_)) > 0;) text.append(piece, got);
    return text;
  }

 private:
  std::FILE* file_;
};

}  // namespace

Result<ProcessResult> run_process(const std::vector<std::string>& arguments, std::string_view input, bool show_errors) {
  const UnnamedFile given, output, errors;
  if (!given.write(input) || output.descriptor() < 0)
    return Error{ExitCode::unwritable_output,
                 "cannot create temporary files for '" + arguments[0] + "': " + std::strerror(errno)};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, given.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.descriptor(), STDOUT_FILENO);
  if (!show_errors && errors.descriptor() >= 0)
    posix_spawn_file_actions_adddup2(&actions, errors.descriptor(), STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return Error{ExitCode::environment, "cannot run '" + arguments[0] + "': " + std::strerror(failed)};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return ProcessResult{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), output.text(), errors.text()};
}

}  // namespace plimsoll
