// What a generated trainer tells the training loop about itself: plain data and three functions. The generated
// program.cpp defines `program()`; runtime/train/ drives it. The generated steps speak to a Round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/kernel.h"

namespace plimsoll {

// The offset of an operand or a workspace that is not there.
inline constexpr int64_t none = -1;

// The kernels of the program for one number of samples, built once, before the first step. `add` throws a KernelError
// that names the layers, also where this machine's library needs more workspace than was planned: a kernel never runs
// beyond its bytes, whatever machine the program was brought to.
class KernelSet {
 public:
  explicit KernelSet(size_t count) : kernels_(count) {}

  template <class K>
  void add(size_t index, const typename K::Attrs& attrs, std::initializer_list<OperandDesc> operands,
           std::string_view algorithm, int64_t workspace_bytes, const char* layers) {
    try {
      const std::span<const OperandDesc> all(operands.begin(), operands.size());
      check_workspace(K::algorithms(attrs, all), algorithm, workspace_bytes);
      kernels_[index] = K::make(attrs, all, algorithm);
    } catch (const KernelError& error) {
      refuse(layers, error);
    }
  }
  Kernel& operator[](size_t index) const { return *kernels_[index]; }

 private:
  static void check_workspace(const std::vector<Algorithm>& offered, std::string_view algorithm, int64_t planned_bytes);
  [[noreturn]] static void refuse(const char* layers, const KernelError& error);
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

// One round of an iteration, as the generated steps see it: where the arena is and what to do with an offset of it.
// Everything runs in the order of the calls; the host backend computes and copies on the calling thread.
class Round {
 public:
  // `addresses` is scratch for the operands of one step, as many as the program's max_operands.
  Round(std::byte* arena, const KernelSet& kernels, std::span<const std::byte* const> staged,
        std::span<std::byte*> addresses, const RunContext& context, int64_t samples, bool last)
      : context(context), last(last), arena_(arena), kernels_(kernels), staged_(staged), addresses_(addresses),
        samples_(samples) {}

  // A task, on operands and a workspace at these offsets.
  void run(size_t kernel, std::initializer_list<int64_t> operands, int64_t workspace = none);
  // The same task once more in this round: its value is needed again, its side effects are left out.
  void again(size_t kernel, std::initializer_list<int64_t> operands, int64_t workspace = none);
  // An update: in the last round only, when the gradients are complete.
  void update(size_t kernel, std::initializer_list<int64_t> operands, int64_t workspace = none) {
    if (last) run(kernel, operands, workspace);
  }
  // Brings the samples of input number `input` to `offset`; `sample_bytes` is the size of one.
  void load(size_t input, int64_t offset, int64_t sample_bytes);
  // Notes the round's share of the loss, and of the correctly classified samples, before their bytes are used again.
  void read_loss(int64_t offset);
  void read_correct(int64_t offset);

  double loss() const { return loss_; }
  double correct() const { return correct_; }

  RunContext context;
  const bool last;  // of its iteration

 private:
  std::byte* at(int64_t offset) const { return offset == none ? nullptr : arena_ + offset; }

  std::byte* arena_;
  const KernelSet& kernels_;
  std::span<const std::byte* const> staged_;  // per input: this round's samples, contiguous
  std::span<std::byte*> addresses_;
  int64_t samples_;
  double loss_ = 0, correct_ = 0;
};

// A tensor that the trainer fills in each round: samples, labels.
struct ProgramInput {
  const char* name;  // ONNX name
  TensorDesc desc;   // of a full sub-batch; the first dimension counts samples
};

// A tensor that lives through the whole run.
struct ProgramParameter {
  const char* name;     // ONNX initializer, or a name of our own for optimizer state
  TensorDesc desc;      // as it lies in the arena
  int64_t offset;       // in the arena
  int64_t file_offset;  // of its first value in model.onnx (plain layout, same element type); -1: starts at zero
  bool trained;         // moved by an update
};

struct Program {
  const char* model;
  const char* generator;  // "plimsoll 0.1.0"
  int64_t batch = 0, sub_batch = 0, rounds = 0, last_sub_batch = 0;
  int64_t arena_bytes = 0, budget_bytes = 0, persistent_bytes = 0;  // budget 0: none was given
  int64_t threads = 0;             // host: fixed, for the bits depend on it
  int64_t model_bytes = 0;         // size of model.onnx; 0: there is none
  int64_t classes = 0;             // labels are in [0, classes); 0: targets are not classes
  bool counts_correct = false;     // read_correct is called
  double predicted_seconds = 0;    // of an iteration; 0: unknown
  const char* predicted_by = "";   // profiled | modelled
  size_t kernels = 0;              // size of a KernelSet
  size_t max_operands = 0;         // of any kernel
  std::span<const ProgramInput> inputs = {};
  std::span<const ProgramParameter> parameters = {};

  void (*build)(KernelSet& kernels, int64_t samples) = nullptr;
  // An iteration is, per round: forward, backward. Evaluation runs forward alone, with context.training false.
  void (*forward)(Round& round) = nullptr;
  void (*backward)(Round& round) = nullptr;
};

const Program& program();

}  // namespace plimsoll
