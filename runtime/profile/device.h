// What a profiler asks of its backend beside kernels: which device it speaks of, and how long things take there. One set of
// functions per backend, in runtime/profile/<backend>/; the link decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace plimsoll::profile {

// To be called once, before anything else of the backend, or not at all. From then on workspaces are those of the device
// that a file describes, which need not be here; nothing can be measured. `name_or_file` is a .json file, or the name of a
// description that came with this program. Throws std::runtime_error: unknown, unreadable, or this backend has none.
void use_described_device(const std::string& name_or_file);
bool device_is_described();
bool device_is_here();
// Of the device at hand, for use_described_device() elsewhere. Throws std::runtime_error.
std::string description_of_device();

std::string device_name();
// backend::start(), where the device is here.
void start(int64_t threads);

// Measured once for all tasks: what it costs to launch anything at all, and what a process takes of the device's memory
// before it has asked for any. Empty where the backend has no such figures.
nlohmann::json measure_overheads();
// For a process of its own, which measure_overheads() starts: holds what a trainer holds, until its stdin ends.
void hold_device();

// Seconds that the threads which run kernels have waited for a processor; 0 where kernels run elsewhere.
double waited_for_processors();

// Of which kernels are measured.
void* stream();

// Time as the device sees it.
class Stopwatch {
 public:
  Stopwatch();
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  void start();
  double stop();  // waits for all that was issued; seconds since start()

 private:
  void *began_ = nullptr, *ended_ = nullptr;
  double began_at_ = 0;
};

// Bytes that another kernel passes over between two measurements, half of them written: more than all caches hold.
int64_t interlude_bytes();

// What was touched so many bytes ago is no longer in the cores' own caches, and in none at all.
struct Caches {
  int64_t own = 0, all = 0;
};
Caches caches();
// Brings bytes into the cores' own caches, as a task that has just written them would have left them.
void touch(std::byte* from, int64_t bytes);

}  // namespace plimsoll::profile
