// Preloaded into a trainer (LD_PRELOAD): while the file named by $HANG exists, its kernels or its reads of data do not
// return ($HANG_IN: kernel, read), and $HANG.here shows that one is blocked. With $SLOW, kernels take that many
// milliseconds longer; with $SLOW_SYNC, so do operations that wait for a disk.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

void perhaps_hang(const char* where) {
  const char *const file = std::getenv("HANG"), *const in = std::getenv("HANG_IN");
  if (!file || !in || std::strcmp(in, where) != 0) return;
  if (access(file, F_OK) != 0) return;
  if (const int here = creat((std::string(file) + ".here").c_str(), 0644); here >= 0) close(here);
  while (access(file, F_OK) == 0) usleep(20000);
}

void perhaps_wait(const char* how_long) {
  if (const char* const slow = std::getenv(how_long)) usleep(1000 * static_cast<useconds_t>(std::atoi(slow)));
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int dnnl_primitive_execute(const void* primitive, void* stream, int count, const void* arguments) {
  static auto* const execute = next<int(const void*, void*, int, const void*)>("dnnl_primitive_execute");
  perhaps_hang("kernel");
  perhaps_wait("SLOW");
  return execute(primitive, stream, count, arguments);
}

ssize_t pread(int file, void* to, size_t bytes, off_t offset) {
  static auto* const read_at = next<ssize_t(int, void*, size_t, off_t)>("pread");
  perhaps_hang("read");
  return read_at(file, to, bytes, offset);
}

ssize_t pread64(int file, void* to, size_t bytes, off64_t offset) {
  static auto* const read_at = next<ssize_t(int, void*, size_t, off64_t)>("pread64");
  perhaps_hang("read");
  return read_at(file, to, bytes, offset);
}

int fsync(int file) {
  static auto* const sync = next<int(int)>("fsync");
  perhaps_wait("SLOW_SYNC");
  return sync(file);
}

int sync_file_range(int file, off64_t begin, off64_t bytes, unsigned flags) {
  static auto* const sync = next<int(int, off64_t, off64_t, unsigned)>("sync_file_range");
  perhaps_wait("SLOW_SYNC");
  return sync(file, begin, bytes, flags);
}
}
