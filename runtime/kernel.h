// What a kernel is, on every backend: built once from attributes and concrete operand descriptions, run many times on
// whatever addresses the plan gives. The generated program and the profiler know kernels by this interface only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/attrs/label_scales.h"
#include "runtime/attrs/tensor.h"

namespace plimsoll {

// One way of running a task: a convolution engine, an implementation of the library.
struct Algorithm {
  std::string name = "default";
  int64_t workspace_bytes = 0;  // exact: run() touches no more than this
  bool deterministic = true;
  bool tf32 = false;  // cuda: multiplies in TF32, with 10 bits of mantissa, not in f32
};

constexpr std::array<double, kLabelScales> filled_label_scales() {
  std::array<double, kLabelScales> all{};
  all.fill(1);
  return all;
}

struct UpdateNumbers;

// What changes from one execution of a step to the next.
struct RunContext {
  void* stream = nullptr;     // the backend's compute stream; the host backend runs on the calling thread
  bool training = true;       // false: evaluation (running statistics, no dropout)
  bool recompute = false;     // run again: side effects (updates of statistics) are left out
  uint64_t seed = 0;          // of the counter-based generator, with iteration, round and the kernel's own key
  int64_t iteration = 0;      // counts from 0
  int64_t round = 0;          // within the iteration
  int64_t rank = 0;           // of several ranks: which part of the round's samples this is, all parts being as large
  double learning_rate = 0;   // for update kernels, already scheduled
  // For an update kernel: its group's numbers (runtime/update_numbers.h). Null: those that it was built with.
  const UpdateNumbers* numbers = nullptr;
  // A backend's own: where its device reads seed, iteration, round and rate in a round that is recorded once and played
  // again. Null: the values above hold.
  const void* changing = nullptr;
  double loss_scale = 1;      // of a loss and its gradient: a batch that is not whole is the mean over fewer samples
  // Likewise of a loss that is a term of the model's own, by the trainer's input that its labels are.
  std::array<double, kLabelScales> label_scales = filled_label_scales();
  bool discard = false;       // an update leaves weight and state as they are; it clears the gradient if it does so at all
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // `operands` has one address per slot of the description it was built from, nullptr where absent.
  // `workspace` has the algorithm's workspace_bytes, aligned to 256. Allocates nothing.
  //
  //   read    the kernel does not change it
  //   write   every byte of it is defined afterwards, whatever was there
  //   update  read and changed: a gradient is added to, a statistic moved, a weight stepped
  //
  // Operands never overlap but for the in-place pairs that the operator declared in the compiler.
  virtual void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) = 0;

  // What run() touches of the workspace, of a kernel that was built by its algorithm's name and found out then; -1: what
  // algorithms() says.
  virtual int64_t workspace_found() const { return -1; }
};

// What is thrown while kernels are built, before the first step: the library cannot do what the plan asks.
class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace plimsoll
