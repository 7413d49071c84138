// The memory that this machine can still give to a process. Used by the planner if a plan needs a host pool, and before
// a host pool is allocated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

struct HostMemory {
  int64_t available = 0;     // bytes that can be allocated without swapping, if caches are dropped
  bool limited_by_group = false;  // the limit comes from the process's control group, not from the machine
};

namespace host_memory_files {

// Calls visit(line) for each line, without its newline. False: the file does not exist.
template <class Visit>
bool for_each_line(const std::string& path, Visit visit) {
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (!file) return false;
  char line[4096];
  while (std::fgets(line, sizeof line, file)) {
    line[std::strcspn(line, "\n")] = '\0';
    visit(std::string_view(line));
  }
  std::fclose(file);
  return true;
}

// The number after `name` at the beginning of a line ("" for a file that contains only a number); -1: there is none, or
// a word such as "max".
inline int64_t number_in(const std::string& path, std::string_view name) {
  int64_t found = -1;
  for_each_line(path, [&](std::string_view line) {
    if (found >= 0 || !line.starts_with(name)) return;
    const std::string rest(line.substr(name.size()));
    char* end = nullptr;
    const int64_t number = std::strtoll(rest.c_str(), &end, 10);
    if (end != rest.c_str() && number >= 0) found = number;
  });
  return found;
}

struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* cached;  // in memory.stat: the part of the usage that is reclaimed first
};
inline constexpr GroupFiles kSecond = {"memory.max", "memory.current", "inactive_file "},
                            kFirst = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "};

// Applies the limits of the group and of all its ancestors. In a container the files of a path may be missing; the
// container's own are at the mount point.
inline void limit_by(const std::string& mounted, std::string path, const GroupFiles& files, HostMemory& memory) {
  while (!path.empty() && path.back() == '/') path.pop_back();
  for (;;) {
    const std::string group = mounted + path + "/";
    const int64_t limit = number_in(group + files.limit, ""), usage = number_in(group + files.usage, "");
    if (limit >= 0 && usage >= 0) {
      const int64_t cached = std::max<int64_t>(0, number_in(group + "memory.stat", files.cached));
      const int64_t left = std::max<int64_t>(0, limit - std::max<int64_t>(0, usage - cached));
      if (left < memory.available) memory = {.available = left, .limited_by_group = true};
    }
    if (path.empty()) return;
    path.erase(path.find_last_of('/'));
  }
}

}  // namespace host_memory_files

// Reads Linux's files below `root`: MemAvailable, and the limits of control groups v1 and v2. nullopt if they are
// unavailable.
inline std::optional<HostMemory> host_memory(const std::string& root = "") {
  using namespace host_memory_files;
  const int64_t kibibytes = number_in(root + "/proc/meminfo", "MemAvailable:");
  if (kibibytes < 0) return {};
  HostMemory memory{.available = kibibytes * 1024};
  // "0::/user.slice", "5:cpu,memory:/docker/1a2b"
  for_each_line(root + "/proc/self/cgroup", [&](std::string_view line) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) return;
    const std::string controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",",
                      path(line.substr(second + 1));
    if (!path.starts_with('/')) return;
    if (controllers == ",,") {
      for (const char* mounted : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
        limit_by(root + mounted, path, kSecond, memory);
    } else if (controllers.find(",memory,") != controllers.npos) {
      limit_by(root + "/sys/fs/cgroup/memory", path, kFirst, memory);
    }
  });
  return memory;
}

}  // namespace plimsoll
