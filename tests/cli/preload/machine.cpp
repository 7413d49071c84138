// Loaded in front of a program (LD_PRELOAD): what it asks of the machine's memory is answered by the files below
// $MACHINE.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

extern "C" FILE* fopen(const char* path, const char* mode) {
  static auto* const call = reinterpret_cast<FILE* (*)(const char*, const char*)>(dlsym(RTLD_NEXT, "fopen"));
  const char* const root = std::getenv("MACHINE");
  const bool asked = std::strcmp(path, "/proc/meminfo") == 0 || std::strcmp(path, "/proc/self/cgroup") == 0 ||
                     std::strncmp(path, "/sys/fs/cgroup", 14) == 0;
  return root && asked ? call((std::string(root) + path).c_str(), mode) : call(path, mode);
}
extern "C" FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }
