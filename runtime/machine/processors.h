// The number of processors that this process may use, how long its threads wait for one, and whether bf16 is faster.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/machine/host_memory.h"

namespace plimsoll {

namespace processors_files {

// "max 100000", "150000 100000": microseconds of processor time per period. Negative: no limit.
inline double of_quota(const std::string& file) {
  double processors = -1;
  host_memory_files::for_each_line(file, [&](std::string_view line) {
    double quota = 0, period = 0;
    if (std::sscanf(std::string(line).c_str(), "%lf %lf", &quota, &period) == 2 && quota > 0 && period > 0)
      processors = quota / period;
  });
  return processors;
}

}  // namespace processors_files

// By the scheduler's affinity mask and, below `root`, the quotas of control groups v1 and v2; at least 1.
inline int processors(const std::string& root = "") {
  using namespace host_memory_files;
  double allowed = std::max(1U, std::thread::hardware_concurrency());
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) allowed = CPU_COUNT(&mask);
  const auto limit_by = [&](double quota) {
    if (quota > 0) allowed = std::min(allowed, quota);
  };
  for_each_line(root + "/proc/self/cgroup", [&](std::string_view line) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) return;
    const std::string controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    std::string path(line.substr(second + 1));
    const bool unified = controllers == ",,";
    if (!path.starts_with('/') || (!unified && controllers.find(",cpu,") == controllers.npos)) return;
    // Applies the quotas of the group and of all its ancestors. In a container the files of a path may be missing; the
    // container's own are at the mount point.
    for (;;) {
      while (!path.empty() && path.back() == '/') path.pop_back();
      if (unified) {
        for (const char* mounted : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
          limit_by(processors_files::of_quota(root + mounted + path + "/cpu.max"));
      } else {
        for (const char* mounted : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
          const double quota = static_cast<double>(number_in(root + mounted + path + "/cpu.cfs_quota_us", "")),
                       period = static_cast<double>(number_in(root + mounted + path + "/cpu.cfs_period_us", ""));
          if (quota > 0 && period > 0) limit_by(quota / period);
        }
      }
      if (path.empty()) return;
      path.erase(path.find_last_of('/'));
    }
  });
  return std::max(1, static_cast<int>(allowed + 0.5));
}

// On how many of a process's processors kernels run if nothing else is asked for. Of 16 or more, one is left for the
// threads that copy, read and decode: the threads of a kernel wait for the slowest of them, and one that shares its
// processor takes twice as long. One of 16 is 6 % of the arithmetic, of fewer more than what it saves.
constexpr int computing_processors(int processors) { return processors < 16 ? processors : processors - 1; }

// Whether products of bf16 are faster than products of f32: with AMX, and with the AVX512-BF16 of AMD. Intel's
// AVX512-BF16 multiplies at little more than half the rate of f32 (docs/decisions/products.md). Without AVX512-BF16,
// products of bf16 are emulated or computed in f32.
constexpr bool multiplies_bf16_faster(bool has_amx, bool has_avx512_bf16, bool is_intel) {
  return has_amx || (has_avx512_bf16 && !is_intel);
}

// The same for the processor that /proc/cpuinfo below `root` describes.
inline bool processor_multiplies_bf16_faster(const std::string& root = "") {
  bool has_amx = false, has_avx512_bf16 = false, is_intel = false;
  host_memory_files::for_each_line(root + "/proc/cpuinfo", [&](std::string_view line) {
    const std::string padded = std::string(line) + ' ';
    const auto has = [&](const char* word) { return padded.find(std::string(" ") + word + " ") != padded.npos; };
    if (line.starts_with("vendor_id")) is_intel = is_intel || has("GenuineIntel");
    if (!line.starts_with("flags")) return;
    has_amx = has_amx || has("amx_bf16");
    has_avx512_bf16 = has_avx512_bf16 || has("avx512_bf16");
  });
  return multiplies_bf16_faster(has_amx, has_avx512_bf16, is_intel);
}

// Seconds in which threads of this process were runnable but not running, summed over threads. The waiting time of
// finished threads is not included. 0 if Linux does not report it (/proc/*/schedstat).
inline double queued_seconds(const std::string& root = "") {
  double seconds = 0;
  std::error_code failed;
  const std::string tasks = root + "/proc/self/task";
  for (std::filesystem::directory_iterator task(tasks, failed), end; !failed && task != end; task.increment(failed)) {
    host_memory_files::for_each_line(task->path() / "schedstat", [&](std::string_view line) {
      unsigned long long ran = 0, waited = 0;
      if (std::sscanf(std::string(line).c_str(), "%llu %llu", &ran, &waited) == 2)
        seconds += 1e-9 * static_cast<double>(waited);
    });
  }
  return seconds;
}

}  // namespace plimsoll
