// The interface of kernels on every backend: a kernel is built once from attributes and concrete operand descriptions,
// and run many times on the addresses that the plan assigns. The generated program and the profiler use only this
// interface.
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
  int64_t workspace_bytes = 0;  // exact: run() uses no more than this
  bool deterministic = true;
  bool tf32 = false;  // cuda: multiplies in TF32, with a 10-bit mantissa, instead of f32
  bool compared = true;  // with the host's results, on a device. False: plans do not use it unless told to
};

constexpr std::array<double, kLabelScales> filled_label_scales() {
  std::array<double, kLabelScales> all{};
  all.fill(1);
  return all;
}

struct UpdateNumbers;

// What changes between two executions of a step.
struct RunContext {
  void* stream = nullptr;     // the backend's compute stream; the host backend runs on the calling thread
  bool training = true;       // false: evaluation (running statistics, no dropout)
  bool recompute = false;     // recomputing: side effects (updates of statistics) are omitted
  uint64_t seed = 0;          // of the counter-based generator, together with iteration, round and the kernel's own key
  int64_t iteration = 0;      // counted from 0
  int64_t round = 0;          // within the iteration
  int64_t rank = 0;  // with several ranks: which part of the round's samples this is; all parts have equal size
  double learning_rate = 0;   // for update kernels, with the schedule applied
  // For an update kernel: the numbers of its parameter group (runtime/update_numbers.h). Null: those it was built with.
  const UpdateNumbers* numbers = nullptr;
  // Private to a backend: where its device reads seed, iteration, round and rate in a round that is recorded once and
  // replayed. Null: the values above apply.
  const void* changing = nullptr;
  double loss_scale = 1;      // of a loss and its gradient: in an incomplete batch, the mean is over fewer samples
  // Of the gradient of the loss, not of the loss itself: in fp16, so that small gradients are not rounded to zero. The
  // factor of the updates undoes it (UnscaleFactor).
  double gradient_scale = 1;
  int64_t skipped = 0;  // iterations before this one whose updates were skipped: no steps of the optimizer
  // As loss_scale, for losses inside the model's own loss, by the trainer's input that holds their labels.
  std::array<double, kLabelScales> label_scales = filled_label_scales();
  // an update leaves weight and state unchanged; it still clears the gradient if it normally does
  bool discard = false;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // `operands` has one address per slot of the description that the kernel was built from; nullptr if absent.
  // `workspace` has the algorithm's workspace_bytes, aligned to 256. Does not allocate.
  //
  //   read    the kernel does not change it
  //   write   the kernel defines every byte, whatever the previous contents
  //   update  read and changed: accumulated gradients, updated statistics, trained weights
  //
  // Operands never overlap, except for the in-place pairs that the operator declared in the compiler.
  virtual void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) = 0;

  // The workspace that run() uses, for a kernel that was built by its algorithm's name and determined it then; -1: what
  // algorithms() reports.
  virtual int64_t workspace_found() const { return -1; }
};

// Thrown while kernels are built, before the first step: the library cannot do what the plan requires.
class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A kernel's two functions (runtime/kernels.h) and its attributes, whatever its type: what is done with every kernel is
// compiled once.
struct KernelMaker {
  std::string_view name;
  const void* attrs;  // must outlive this
  std::vector<Algorithm> (*algorithms)(const void* attrs, std::span<const OperandDesc> operands);
  std::unique_ptr<Kernel> (*make)(const void* attrs, std::span<const OperandDesc> operands, std::string_view algorithm);
};

template <class K>
KernelMaker maker_of(const typename K::Attrs& attrs) {
  using Attrs = typename K::Attrs;
  return {.name = K::kName,
          .attrs = &attrs,
          .algorithms = [](const void* given, std::span<const OperandDesc> operands) {
            return K::algorithms(*static_cast<const Attrs*>(given), operands);
          },
          .make = [](const void* given, std::span<const OperandDesc> operands, std::string_view algorithm) {
            return K::make(*static_cast<const Attrs*>(given), operands, algorithm);
          }};
}

}  // namespace plimsoll
