// How much memory is left, and how many processors, by files as Linux has them: a machine, and control groups of either
// version.
#include "runtime/machine/host_memory.h"
#include "runtime/machine/processors.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

using plimsoll::host_memory;

namespace {

class FakeMachine {
 public:
  FakeMachine() : root_(std::filesystem::temp_directory_path() / ("plimsoll-machine-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(root_);
  }
  ~FakeMachine() { std::filesystem::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

constexpr int64_t kMi = int64_t{1} << 20;

}  // namespace

TEST_CASE("without limits it is what the machine has available") {
  const FakeMachine machine;
  CHECK(!host_memory(machine.root()));
  machine.put("/proc/meminfo", "MemTotal:       16384000 kB\nMemFree:  1000 kB\nMemAvailable:    8192000 kB\n");
  REQUIRE(host_memory(machine.root()));
  CHECK(host_memory(machine.root())->available == 8192000 * int64_t{1024});
  CHECK(!host_memory(machine.root())->limited_by_group);
  machine.put("/proc/self/cgroup", "0::/user.slice/job\n");
  machine.put("/sys/fs/cgroup/user.slice/job/memory.max", "max\n");
  machine.put("/sys/fs/cgroup/user.slice/job/memory.current", "1000\n");
  CHECK(!host_memory(machine.root())->limited_by_group);
}

TEST_CASE("a control group of version 2 limits it, and so do those above and caches are given up first") {
  const FakeMachine machine;
  machine.put("/proc/meminfo", "MemAvailable: 8192000 kB\n");
  machine.put("/proc/self/cgroup", "0::/user.slice/job\n");
  machine.put("/sys/fs/cgroup/user.slice/job/memory.max", std::to_string(100 * kMi) + "\n");
  machine.put("/sys/fs/cgroup/user.slice/job/memory.current", std::to_string(60 * kMi) + "\n");
  machine.put("/sys/fs/cgroup/user.slice/job/memory.stat",
              "anon 1\ninactive_file " + std::to_string(20 * kMi) + "\nactive_file 5\n");
  CHECK(host_memory(machine.root())->available == 60 * kMi);
  CHECK(host_memory(machine.root())->limited_by_group);
  machine.put("/sys/fs/cgroup/user.slice/memory.max", std::to_string(70 * kMi) + "\n");
  machine.put("/sys/fs/cgroup/user.slice/memory.current", std::to_string(65 * kMi) + "\n");
  CHECK(host_memory(machine.root())->available == 5 * kMi);
}

TEST_CASE("a control group of version 1 does, also where a container sees nothing but its own") {
  const FakeMachine machine;
  machine.put("/proc/meminfo", "MemAvailable: 8192000 kB\n");
  machine.put("/proc/self/cgroup", "7:cpu,cpuacct:/docker/1a\n5:memory:/docker/1a\n0::/\n");
  machine.put("/sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(50 * kMi) + "\n");
  machine.put("/sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(30 * kMi) + "\n");
  machine.put("/sys/fs/cgroup/memory/memory.stat", "cache 9\ntotal_inactive_file " + std::to_string(4 * kMi) + "\n");
  CHECK(host_memory(machine.root())->available == 24 * kMi);
  machine.put("/sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(90 * kMi) + "\n");
  CHECK(host_memory(machine.root())->available == 0);
  machine.put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(!host_memory(machine.root())->limited_by_group);
}

TEST_CASE("files that say nothing are no limit") {
  const FakeMachine machine;
  machine.put("/proc/meminfo", "MemAvailable: lots kB\n");
  CHECK(!host_memory(machine.root()));
  machine.put("/proc/meminfo", "MemAvailable: 4 kB\n");
  machine.put("/proc/self/cgroup", "nonsense\n0::relative\n::\n");
  CHECK(host_memory(machine.root())->available == 4096);
}

TEST_CASE(
    "processors are those of the machine, or fewer by the quota of a control group of either version, but one at "
    "least") {
  using plimsoll::processors;
  const FakeMachine machine;
  const int all = processors(machine.root());
  CHECK(all >= 1);
  machine.put("/proc/self/cgroup", "0::/user.slice/job\n");
  machine.put("/sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
  CHECK(processors(machine.root()) == all);
  machine.put("/sys/fs/cgroup/user.slice/cpu.max", "20000 100000\n");
  CHECK(processors(machine.root()) == 1);
  machine.put("/sys/fs/cgroup/user.slice/cpu.max", std::to_string(100000 * all - 100) + " 100000\n");
  CHECK(processors(machine.root()) == all);
  machine.put("/proc/self/cgroup", "7:cpu,cpuacct:/docker/1a2b\n");
  machine.put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  machine.put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(processors(machine.root()) == all);
  machine.put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
  CHECK(processors(machine.root()) == 1);
}

TEST_CASE("a processor's features and vendor decide if it multiplies bf16 faster than f32") {
  using plimsoll::processor_multiplies_bf16_faster;
  const FakeMachine machine;
  CHECK(!processor_multiplies_bf16_faster(machine.root()));
  const auto faster = [&](const std::string& vendor, const std::string& flags) {
    machine.put("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: " + vendor + "\nflags\t\t: fpu " + flags + "\n");
    return processor_multiplies_bf16_faster(machine.root());
  };
  CHECK(faster("AuthenticAMD", "avx512_bf16"));
  CHECK(!faster("GenuineIntel", "avx512_bf16 clflush"));
  CHECK(faster("GenuineIntel", "avx512_bf16 amx_bf16"));
  CHECK(!faster("AuthenticAMD", "avx512f avx512_bf16x"));
}

TEST_CASE("what threads waited for a processor is added up, and is nothing where the system does not say") {
  using plimsoll::queued_seconds;
  const FakeMachine machine;
  CHECK(queued_seconds(machine.root()) == 0);
  machine.put("/proc/self/task/7/schedstat", "5000000000 1500000000 12\n");
  machine.put("/proc/self/task/8/schedstat", "1 250000000 3\n");
  machine.put("/proc/self/task/9/status", "no schedstat\n");
  CHECK(queued_seconds(machine.root()) == Approx(1.75));
}

TEST_CASE("of many processors one is left for copies and decoding") {
  using plimsoll::computing_processors;
  CHECK(computing_processors(1) == 1);
  CHECK(computing_processors(15) == 15);
  CHECK(computing_processors(16) == 15);
  CHECK(computing_processors(64) == 63);
}
