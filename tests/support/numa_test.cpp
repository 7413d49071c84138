// The NUMA nodes of a process, by files as Linux has them, and memory spread over nodes.
#include "runtime/machine/numa.h"

#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

using plimsoll::memory_nodes;
using plimsoll::numa::mask_of;
using plimsoll::numa::parse_nodes;

TEST_CASE("a list of nodes is numbers and ranges") {
  CHECK(parse_nodes("0") == std::vector<int>{0});
  CHECK(parse_nodes("0-3,8") == std::vector<int>{0, 1, 2, 3, 8});
  CHECK(parse_nodes("\t0,2-2,63-64") == std::vector<int>{0, 2, 63, 64});
  CHECK(parse_nodes("1023") == std::vector<int>{1023});
  for (const char* none : {"", "all", "3-1", "0-", "-1", "0;1", "0-1x", "1024", "0-4000000000"}) {
    INFO(none);
    CHECK(parse_nodes(none).empty());
  }
}

TEST_CASE("a mask has one bit per node") {
  CHECK(mask_of({}).empty());
  CHECK(mask_of({0, 1, 3}) == std::vector<unsigned long>{0b1011});
  CHECK(mask_of({1, 64}) == std::vector<unsigned long>{2, 1});
}

TEST_CASE("the nodes of a process have memory and are in its cpuset") {
  const std::filesystem::path root =
      std::filesystem::temp_directory_path() / ("plimsoll-numa-" + std::to_string(::getpid()));
  const auto put = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root.string() + path).substr(0, (root.string() + path).rfind('/')));
    std::ofstream(root.string() + path) << text;
  };
  CHECK(memory_nodes(root.string()).empty());
  put("/sys/devices/system/node/has_memory", "0-2,4\n");
  CHECK(memory_nodes(root.string()).empty());
  put("/proc/self/status", "Name:\ttrain\nMems_allowed:\t00000000,0000001a\nMems_allowed_list:\t1,3-4\n");
  CHECK(memory_nodes(root.string()) == std::vector<int>{1, 4});
  std::filesystem::remove_all(root);
}

TEST_CASE("memory is spread over nodes that exist, and works whatever the system says") {
  constexpr int64_t kBytes = 1 << 20;
  const auto usable_after = [](const std::vector<int>& nodes) {
    void* const address = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(address != MAP_FAILED);
    const bool spread = plimsoll::interleave(address, kBytes, nodes);
    static_cast<char*>(address)[kBytes - 1] = 1;
    munmap(address, kBytes);
    return spread;
  };
  CHECK(!usable_after({}));
  CHECK(!usable_after({0}));          // nothing to spread over
  CHECK(!usable_after({1022, 1023}));  // no machine has these: the system refuses
  if (const std::vector<int> nodes = memory_nodes(); nodes.size() > 1) usable_after(nodes);
}
