// What a profiler needs from its backend in addition to kernels: the identity of the device, and how it measures time.
// One set of functions per backend, in runtime/profile/<backend>/; the link selects it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace plimsoll::profile {

// Call once, before anything else of the backend, or not at all. Afterwards workspaces are those of the device that a
// file describes, which need not be present; nothing can be measured. `name_or_file` is a .json file, or the name of a
// description embedded in this program. Throws std::runtime_error: unknown, unreadable, or this backend has none.
void use_described_device(const std::string& name_or_file);
bool device_is_described();
bool device_is_here();
// The description of the present device, for use_described_device() on another machine. Throws std::runtime_error.
std::string description_of_device();

std::string device_name();
// Calls backend::start() if the device is present.
void start(int64_t threads);

// Measured once for all tasks: the cost of a kernel launch, and the device memory that a process takes before it
// allocates any. Empty if the backend has no such figures.
nlohmann::json measure_overheads();
// For a separate process that measure_overheads() starts: holds the memory that a trainer holds until its stdin ends.
void hold_device();

// Seconds that the threads which run kernels waited for a processor; 0 if kernels run on a device.
double waited_for_processors();

// The stream on which kernels are measured.
void* stream();

// Time as measured by the device.
class Stopwatch {
 public:
  Stopwatch();
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  void start();
  double stop();  // waits for all issued work; seconds since start()

 private:
  void *began_ = nullptr, *ended_ = nullptr;
  double began_at_ = 0;
};

// Bytes that another kernel processes between two measurements, half of them written: more than all caches hold.
int64_t interlude_bytes();

// Data last used more than this many bytes ago is no longer in the cores' private caches, or in no cache at all.
struct Caches {
  int64_t own = 0, all = 0;
};
Caches caches();
// Loads bytes into the cores' private caches, as if a task had just written them.
void touch(std::byte* from, int64_t bytes);

}  // namespace plimsoll::profile
