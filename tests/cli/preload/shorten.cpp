// Loaded in front of plimsoll (LD_PRELOAD): the file named $SHORTEN loses all but its first byte when anything is read
// from it.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

extern "C" ssize_t pread64(int file, void* to, size_t bytes, off64_t offset) {
  static auto* const call = reinterpret_cast<ssize_t (*)(int, void*, size_t, off64_t)>(dlsym(RTLD_NEXT, "pread64"));
  struct stat wanted, read;
  if (const char* const name = std::getenv("SHORTEN"); name && stat(name, &wanted) == 0 && fstat(file, &read) == 0 &&
                                                       wanted.st_ino == read.st_ino && wanted.st_size > 1 &&
                                                       truncate(name, 1) != 0)
    abort();
  return call(file, to, bytes, offset);
}
extern "C" ssize_t pread(int file, void* to, size_t bytes, off_t offset) { return pread64(file, to, bytes, offset); }
