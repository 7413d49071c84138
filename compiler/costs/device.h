// A device as a few figures: what a plan for a machine that is elsewhere is made with. The descriptors of
// compiler/devices/ are built into the compiler; docs/device-models.md says where their figures come from.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/profile.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Shares of a peak that kernels reach when they are large.
struct Efficiency {
  double memory = 1;          // of the memory's bandwidth: tasks that move more than they compute
  double tf32 = 1;            // of the tensor cores' peak in TF32: convolutions and matrix products
  double matrix_product = 1;  // of the peak flops, like all below
  double grouped = 1;         // convolutions of several groups
  double depthwise = 1;       // of one channel per group
  // What the gradients of a convolution reach of its forward direction's share.
  double backward_data = 1, backward_weights = 1;
};

struct Device {
  std::string name = {};    // "k40m": what --costs takes
  std::string kind = {};    // host | cuda
  std::string title = {};   // for people
  int64_t memory_bytes = 0;
  int64_t process_bytes = 0;  // cuda: what a process takes of it before it asks for any; an assumption
  double flops_per_second = 0;  // peak, f32, no tensor cores
  double tf32_flops_per_second = 0;  // peak of tensor cores on f32 operands, dense; 0: it has none that take them
  double memory_bytes_per_second = 0;
  // To the host's memory and back, pinned; each way, and what a copy takes before its first byte.
  double d2h_bytes_per_second = 0, h2d_bytes_per_second = 0, link_latency_seconds = 0;
  RankLink ranks = {};        // between such devices in one machine
  double launch_seconds = 0;  // of any kernel, however small
  int64_t units = 1;          // multiprocessors or cores: a small kernel does not keep all of them busy
  Efficiency efficiency = {};
  // The convolution algorithms there are, each with its share of the peak in the operations that it really does.
  std::map<std::string, double> algorithms = {};
};

// Of the built-in ones. Error: usage, with all names.
Result<Device> find_device(const std::string& name);
std::vector<std::string> device_names();

// From a descriptor's text. Error: unreadable_input, naming the field.
Result<Device> parse_device(const std::string& json);

}  // namespace plimsoll
