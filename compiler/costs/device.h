// A device as a few figures: what a plan for a machine that is elsewhere is made with. The descriptors of
// compiler/devices/ are built into the compiler.
#pragma once

#include <string>
#include <vector>

#include "compiler/support/status.h"

namespace plimsoll {

struct Device {
  std::string name = {};    // "k40m": what --device takes
  std::string kind = {};    // host | cuda
  std::string title = {};   // for people
  int64_t memory_bytes = 0;
  double flops_per_second = 0;         // peak, f32
  double memory_bytes_per_second = 0;
  double copy_bytes_per_second = 0;    // to the host's memory and back, each way
  double launch_seconds = 0;           // of any task, however small
  double compute_efficiency = 1;       // share of the peak that dense kernels reach
  // Workspace of a task that computes much per byte, as a share of its operands' bytes; others need none.
  double workspace_share = 0;
};

// Of the built-in ones. Error: usage, with all names.
Result<Device> find_device(const std::string& name);
std::vector<std::string> device_names();

// From a descriptor's text. Error: unreadable_input, naming the field.
Result<Device> parse_device(const std::string& json);

}  // namespace plimsoll
