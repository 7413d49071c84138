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

// An unnamed file that a child writes and we read afterwards: no pipe can fill up.
class CapturedFile {
 public:
  CapturedFile() : file_(std::tmpfile()) {}
  ~CapturedFile() {
    if (file_) std::fclose(file_);
  }
  CapturedFile(const CapturedFile&) = delete;
  CapturedFile& operator=(const CapturedFile&) = delete;
  int descriptor() const { return file_ ? fileno(file_) : -1; }
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

Result<ProcessResult> run_process(const std::vector<std::string>& arguments, bool show_errors) {
  const CapturedFile output, errors;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output.descriptor() >= 0) posix_spawn_file_actions_adddup2(&actions, output.descriptor(), STDOUT_FILENO);
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
