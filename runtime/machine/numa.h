// The NUMA nodes whose memory this process may use, and memory that is spread over them.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/machine/host_memory.h"

namespace plimsoll {

namespace numa {

// Linux has at most 1024 nodes (CONFIG_NODES_SHIFT is at most 10).
inline constexpr int kMostNodes = 1024;

// "0-3,8" is {0, 1, 2, 3, 8}. What is not a list of nodes gives none.
inline std::vector<int> parse_nodes(std::string_view list) {
  std::vector<int> nodes;
  const std::string text(list);
  const char* at = text.c_str();
  while (*at == ' ' || *at == '\t') ++at;
  while (*at != '\0') {
    char* end = nullptr;
    const long first = std::strtol(at, &end, 10);
    if (end == at) return {};
    long last = first;
    if (*end == '-') {
      at = end + 1;
      last = std::strtol(at, &end, 10);
      if (end == at) return {};
    }
    if (first < 0 || last < first || last >= kMostNodes) return {};
    for (long node = first; node <= last; ++node) nodes.push_back(static_cast<int>(node));
    if (*end != '\0' && *end != ',') return {};
    at = *end == ',' ? end + 1 : end;
  }
  return nodes;
}

// One bit per node, as system calls take them.
inline std::vector<unsigned long> mask_of(const std::vector<int>& nodes) {
  constexpr size_t kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask;
  for (const int node : nodes) {
    const size_t word = static_cast<size_t>(node) / kBits;
    if (mask.size() <= word) mask.resize(word + 1);
    mask[word] |= 1UL << (static_cast<size_t>(node) % kBits);
  }
  return mask;
}

}  // namespace numa

// Nodes that have memory, and that the process's cpuset allows, ascending. Reads Linux's files below `root`; empty if
// they are unavailable.
inline std::vector<int> memory_nodes(const std::string& root = "") {
  using namespace host_memory_files;
  constexpr std::string_view kAllowed = "Mems_allowed_list:";
  std::vector<int> existing, allowed, nodes;
  for_each_line(root + "/sys/devices/system/node/has_memory",
                [&](std::string_view line) { existing = numa::parse_nodes(line); });
  for_each_line(root + "/proc/self/status", [&](std::string_view line) {
    if (line.starts_with(kAllowed)) allowed = numa::parse_nodes(line.substr(kAllowed.size()));
  });
  for (const int node : existing)
    for (const int other : allowed)
      if (node == other) nodes.push_back(node);
  return nodes;
}

// Spreads the pages of [address, address + bytes), none of which has been touched, over the nodes in turn. Does nothing
// with fewer than two nodes, or if the process has a memory policy already (numactl). Returns whether pages are spread:
// it is advice, and without it memory is only slower.
inline bool interleave(void* address, int64_t bytes, const std::vector<int>& nodes) {
#if defined(SYS_mbind) && defined(SYS_get_mempolicy)
  constexpr int kDefault = 0, kInterleave = 3;  // MPOL_DEFAULT, MPOL_INTERLEAVE of linux/mempolicy.h
  if (nodes.size() < 2) return false;
  int policy = kDefault;
  if (syscall(SYS_get_mempolicy, &policy, nullptr, 0UL, nullptr, 0UL) != 0 || policy != kDefault) return false;
  const std::vector<unsigned long> mask = numa::mask_of(nodes);
  // mbind reads one bit less than this number.
  const unsigned long bits = 8 * sizeof(unsigned long) * mask.size() + 1;
  return syscall(SYS_mbind, address, static_cast<unsigned long>(bytes), kInterleave, mask.data(), bits, 0U) == 0;
#else
  return false;
#endif
}

}  // namespace plimsoll
