#include "runtime/cuda/device/libraries.h"

#include <dlfcn.h>

namespace plimsoll::cuda {
namespace {

bool loads(const std::string& path) { return dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr; }

std::string folder_of(const void* address) {
  Dl_info found{};
  if (!address || dladdr(address, &found) == 0 || !found.dli_fname) return "";
  const std::string path = found.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

}  // namespace

std::string why_not_loaded(const std::string& name, const void* beside) {
  const std::string folder = folder_of(beside);
  if (!folder.empty() && loads(folder + name)) return "";
  if (loads(name)) return "";
  const char* const why = dlerror();
  return why ? why : name + " cannot be loaded";
}

}  // namespace plimsoll::cuda
