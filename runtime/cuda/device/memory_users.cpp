#include "runtime/cuda/device/memory_users.h"

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

namespace plimsoll::cuda {
namespace {

constexpr size_t kNamedHolders = 4;
constexpr const char* kManagement = "libnvidia-ml.so.1";

// The part of NVML's C interface that is needed here, declared according to its documentation: its header may be
// missing where a trainer is built, and the library where it is run.
struct ManagedDevice;
struct ManagedProcess {
  unsigned pid;
  unsigned long long bytes;  // kBytesUnknown: the driver does not report it
  unsigned gpu_instance, compute_instance;
};
constexpr int kManaged = 0, kInsufficientSize = 7;   // NVML_SUCCESS, NVML_ERROR_INSUFFICIENT_SIZE
constexpr unsigned long long kBytesUnknown = ~0ULL;  // NVML_VALUE_NOT_AVAILABLE

class Management {
 public:
  Management() : library_(dlopen(kManagement, RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) return;
    find("nvmlInit_v2", init_);
    find("nvmlShutdown", shutdown_);
    find("nvmlDeviceGetHandleByPciBusId_v2", by_bus_);
    find("nvmlDeviceGetComputeRunningProcesses_v3", computing_);
    find("nvmlDeviceGetGraphicsRunningProcesses_v3", drawing_);
    find("nvmlSystemGetProcessName", name_);
    ready_ = init_ && shutdown_ && by_bus_ && computing_ && init_() == kManaged;
  }
  ~Management() {
    if (ready_) shutdown_();
    if (library_) dlclose(library_);
  }
  Management(const Management&) = delete;
  Management& operator=(const Management&) = delete;

  std::vector<ManagedProcess> processes_on(const char* bus) const {
    ManagedDevice* device = nullptr;
    std::vector<ManagedProcess> all;
    if (!ready_ || by_bus_(bus, &device) != kManaged) return all;
    for (const ListFunction list : {computing_, drawing_}) {
      if (!list) continue;
      for (const ManagedProcess& one : list_of(list, device)) {
        const bool known =
            std::any_of(all.begin(), all.end(), [&](const ManagedProcess& other) { return other.pid == one.pid; });
        if (!known) all.push_back(one);
      }
    }
    return all;
  }

  // Without directories. "": unknown, for example because process ids in a container differ from the driver's.
  std::string name_of(unsigned pid) const {
    char text[256] = "";
    if (!name_ || name_(pid, text, sizeof text) != kManaged) return "";
    text[sizeof text - 1] = '\0';
    std::string name(text);
    name.erase(0, name.find_last_of('/') + 1);
    return name.substr(0, name.find(' '));
  }

 private:
  using ListFunction = int (*)(ManagedDevice*, unsigned* count, ManagedProcess* all);

  template <class Function>
  void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
  }

  // The list may grow between the query of its length and the query of its contents.
  static std::vector<ManagedProcess> list_of(ListFunction list, ManagedDevice* device) {
    unsigned count = 0;
    for (int tries = 0; tries < 3; ++tries) {
      std::vector<ManagedProcess> all(count + 4);
      count = static_cast<unsigned>(all.size());
      const int result = list(device, &count, all.data());
      if (result == kInsufficientSize) continue;
      if (result != kManaged) break;
      all.resize(std::min<size_t>(count, all.size()));
      return all;
    }
    return {};
  }

  void* library_;
  bool ready_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*by_bus_)(const char*, ManagedDevice**) = nullptr;
  ListFunction computing_ = nullptr, drawing_ = nullptr;
  int (*name_)(unsigned, char*, unsigned) = nullptr;
};

std::string held_text(unsigned long long bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

}  // namespace

std::string memory_users() {
  char bus[32] = "";
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetPCIBusId(bus, sizeof bus, device) != cudaSuccess) {
    cudaGetLastError();
    return "";
  }
  const Management management;
  std::vector<ManagedProcess> others = management.processes_on(bus);
  std::erase_if(others, [](const ManagedProcess& one) { return one.pid == static_cast<unsigned>(getpid()); });
  const auto held = [](const ManagedProcess& one) { return one.bytes == kBytesUnknown ? 0 : one.bytes; };
  std::stable_sort(others.begin(), others.end(),
                   [&](const ManagedProcess& a, const ManagedProcess& b) { return held(a) > held(b); });
  std::string text;
  for (size_t i = 0; i < std::min(others.size(), kNamedHolders); ++i) {
    const std::string name = management.name_of(others[i].pid);
    text += (text.empty() ? "process " : ", process ") + std::to_string(others[i].pid) +
            (name.empty() ? "" : " (" + name + ")") + " holds " +
            (others[i].bytes == kBytesUnknown ? "an unknown part" : held_text(others[i].bytes));
  }
  if (others.size() > kNamedHolders)
    text += ", and " + std::to_string(others.size() - kNamedHolders) + " more hold memory";
  return text;
}

}  // namespace plimsoll::cuda
