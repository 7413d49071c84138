// Loaded in front of plimsoll or a trainer (LD_PRELOAD): it kills itself before its $DIE_AT-th call that changes the
// file system, counted from when it opens a file to write whose name has $DIE_FROM in it. Of calls that come for each
// of many files, every 16th counts, or every $DIE_EVERY-th. With $NAMED it is on a file system that knows no files
// without a name.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace {

bool counting = false;
int calls = 0, of_files = 0;

void perhaps_die() {
  static const char* const at = std::getenv("DIE_AT");
  if (counting && at && ++calls == std::atoi(at)) kill(getpid(), SIGKILL);
}

void perhaps_die_of_a_file() {
  static const char* const every = std::getenv("DIE_EVERY");
  if (counting && of_files++ % (every ? std::atoi(every) : 16) == 0) perhaps_die();
}

void opens(const char* path) {
  static const char* const from = std::getenv("DIE_FROM");
  if (from && std::string_view(path).find(from) != std::string_view::npos) counting = true;
}

bool creates(int flags) { return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE; }

bool refused(int flags) {
  if ((flags & O_TMPFILE) != O_TMPFILE || !std::getenv("NAMED")) return false;
  errno = EOPNOTSUPP;
  return true;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  static auto* const call = next<int(const char*, int, ...)>("open");
  if (creates(flags)) opens(path), perhaps_die_of_a_file();
  return refused(flags) ? -1 : call(path, flags, 0644);
}
int open64(const char* path, int flags, ...) {
  static auto* const call = next<int(const char*, int, ...)>("open64");
  if (creates(flags)) opens(path), perhaps_die_of_a_file();
  return refused(flags) ? -1 : call(path, flags, 0644);
}
int fsync(int) {  // a process that is killed loses nothing that it has written: this is of machines that are, and would
                  // take minutes here
  perhaps_die_of_a_file();
  return 0;
}
ssize_t pwrite(int file, const void* from, size_t bytes, off_t offset) {
  static auto* const call = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  perhaps_die_of_a_file();
  return call(file, from, bytes, offset);
}
ssize_t pwrite64(int file, const void* from, size_t bytes, off64_t offset) {
  static auto* const call = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  perhaps_die_of_a_file();
  return call(file, from, bytes, offset);
}
int mkdir(const char* path, mode_t mode) {
  static auto* const call = next<int(const char*, mode_t)>("mkdir");
  perhaps_die();
  return call(path, mode);
}
int rename(const char* from, const char* to) {
  static auto* const call = next<int(const char*, const char*)>("rename");
  perhaps_die();
  return call(from, to);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  static auto* const call = next<int(int, const char*, int, const char*, int)>("linkat");
  perhaps_die();
  return call(from_folder, from, to_folder, to, flags);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  static auto* const call = next<int(int, const char*, int, const char*, unsigned)>("renameat2");
  perhaps_die();
  return call(from_folder, from, to_folder, to, flags);
}
int unlink(const char* path) {
  static auto* const call = next<int(const char*)>("unlink");
  perhaps_die_of_a_file();
  return call(path);
}
int unlinkat(int folder, const char* path, int flags) {
  static auto* const call = next<int(int, const char*, int)>("unlinkat");
  perhaps_die_of_a_file();
  return call(folder, path, flags);
}
}
