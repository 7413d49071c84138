// A device model: the figures needed to plan for a device that is not at hand. The descriptors of compiler/devices/ are
// built into the compiler. docs/device-models.md states the sources of their figures.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/profile.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Fractions of peak rates that large kernels reach.
struct Efficiency {
  double memory = 1;          // of memory bandwidth: tasks limited by memory
  double tf32 = 1;            // of the tensor cores' peak: convolutions, and matrix products in TF32
  double matrix_product = 1;  // of the peak flops, like all below; of the tensor cores' in bf16
  double grouped = 1;         // convolutions with several groups
  double depthwise = 1;       // one channel per group
  // Fractions of the forward convolution's rate that its gradients reach.
  double backward_data = 1, backward_weights = 1;
};

struct Device {
  std::string name = {};    // "k40m": the argument of --costs
  std::string kind = {};    // host | cuda
  std::string title = {};   // display name
  int64_t memory_bytes = 0;
  int64_t process_bytes = 0;  // cuda: bytes that a process takes before its first allocation; an assumption
  double flops_per_second = 0;  // peak, f32, without tensor cores
  double tf32_flops_per_second = 0;  // dense peak of tensor cores on f32 operands; 0: not supported
  double bf16_flops_per_second = 0;  // the same on bf16 or f16 operands, with sums in f32
  double memory_bytes_per_second = 0;
  // Copies to pinned host memory and back: bytes per second of each direction, and the latency of a copy.
  double d2h_bytes_per_second = 0, h2d_bytes_per_second = 0, link_latency_seconds = 0;
  RankLink ranks = {};        // between such devices in one machine
  double launch_seconds = 0;  // of any kernel, however small
  int64_t units = 1;          // multiprocessors or cores: a small kernel does not use all of them
  Efficiency efficiency = {};
  // The available convolution algorithms, each with the fraction of the peak that it reaches in its actual operations.
  std::map<std::string, double> algorithms = {};
};

// Finds a built-in device. Error: usage, listing all names.
Result<Device> find_device(const std::string& name);
std::vector<std::string> device_names();

// Parses a descriptor. Error: unreadable_input, naming the field.
Result<Device> parse_device(const std::string& json);

}  // namespace plimsoll
