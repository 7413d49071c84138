// The interface between a generated trainer and the training loop: plain data and three functions. The generated
// program.cpp defines `program()`; runtime/train/ drives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "runtime/attrs/file_type.h"
#include "runtime/kernel_set.h"
#include "runtime/round.h"

namespace plimsoll {

// No model's label: the ignored label of a loss that ignores none, and what stands for a label that does not fit 32
// bits. It is not -1, because models do ignore that one.
inline constexpr int64_t kNoLabel = std::numeric_limits<int32_t>::min();

// A tensor that the trainer fills in each round: samples, labels.
struct ProgramInput {
  const char* name;  // ONNX name
  TensorDesc desc;   // of a full sub-batch; the first dimension counts samples, if per_sample
  int64_t bound = 0;  // its integers select rows of a table, [0, bound); 0: no restriction
  // for labels: the one that the loss ignores, if the model has one
  int64_t ignored = kNoLabel;
  bool per_sample = true;  // false: one value for all samples, the same in every round
  // For labels: the part of each sample that a loss reads, [first, end). end 0: all if they are the last input, else
  // none.
  int64_t first_label = 0, end_label = 0;
  const char* class_weights = nullptr;  // the parameter with the class weights; null: all are 1
  bool mixed_labels = false;  // labels are MixedLabel: files hold a class, the feeder makes these of two samples
};

enum class ParameterRole : uint8_t {
  trained,    // a weight that an update changes
  frozen,     // a weight that no update changes
  statistic,  // updated by the forward pass: running mean and variance
  state,      // of the optimizer; initially zero
};

// A tensor that exists for the whole run.
struct ProgramParameter {
  const char* name;     // ONNX initializer, or Plimsoll's own name for optimizer state
  TensorDesc desc;      // as stored in the arena
  int64_t offset;       // in the arena, or in the host pool
  int64_t file_offset;  // of its first value in the weights file (plain layout); -1: initially zero
  ParameterRole role;
  bool in_host_pool = false;  // where it resides when no task uses it
  FileType file_type = FileType::same;  // its element type in the file; f32 in memory unless `same`
  // Of a weight in bf16: its lower half (runtime/split_weight.h), in the arena or in the host pool; -1: none
  int64_t low_offset = -1;
  bool low_in_host_pool = false;

  // In plain order, and in f32 whatever it is stored as in memory.
  TensorDesc in_files() const {
    return {is_reduced(desc.type) ? DataType::f32 : desc.type, desc.dims, Layout::plain};
  }
  // True of a frozen weight that is stored in fewer bits than the file has: what is saved of it is the file's.
  bool is_rounded() const { return file_offset >= 0 && is_reduced(desc.type) && low_offset < 0; }
  int64_t bytes_in_file() const { return plimsoll::bytes_in_file(file_type, in_files().bytes()); }
};

// The loss's input: the model's scores.
struct ProgramOutput {
  const char* name = "";
  TensorDesc desc = {};   // of a full sub-batch, as stored in the arena
  int64_t offset = -1;
  int32_t step = -1;      // the step after which it is complete; -1: no step of this program computes it
};

// The location of a tensor between two steps; -1 and the number of steps: before and after all steps. For builds that
// check every access (PLIMSOLL_SANITIZE), and to name a tensor that contains bad values.
struct ProgramLife {
  int64_t offset, bytes;
  int32_t first_step, last_step;
  const char* name = "";
  const char* layer = "";  // of the step that writes it
};

namespace dist {
class Ranks;
}

struct Program {
  const char* model;
  const char* generator;  // "plimsoll 0.1.0"
  int64_t batch = 0;               // over all ranks
  int64_t sub_batch = 0, rounds = 0, last_sub_batch = 0;  // of one rank
  int64_t arena_bytes = 0, budget_bytes = 0, persistent_bytes = 0;  // budget 0: unlimited
  int64_t host_pool_bytes = 0;     // 0: nothing is offloaded
  // Of the part of the arena where the next round's inputs wait, one after the other (ahead_of_round): its offset. -1:
  // there is none.
  int64_t inputs_ahead = -1;
  int64_t threads = 0;             // host: fixed, because the bits depend on it
  int64_t model_bytes = 0;         // size of model.onnx; 0: there is none
  int64_t weights_bytes = 0;       // of the separate weights file; 0: the weights are in model.onnx
  const char* model_identity = "";  // SHA-256 of the whole model without its parameters' values; "": not checked
  int64_t classes = 0;             // labels are in [0, classes); 0: targets are not classes
  bool counts_correct = false;     // read_correct is called
  bool scales_loss = false;        // in fp16: read_factor is called
  bool whole_batches_only = false; // its steps require exactly this number of samples
  double predicted_seconds = 0;    // of an iteration; 0: unknown
  const char* predicted_by = "";   // profiled | modelled
  const char* update_kernel = "";    // of all trained weights: "AdamUpdate"; "": nothing is trained
  const char* libraries = "";      // for which the plan was made: "cuda 13.0, cudnn 9.19.0"
  const char* runtime = nullptr;   // a symbol of the library that this program was generated for
  size_t kernels = 0;              // size of a KernelSet
  // With several ranks: what all of them must agree on, and how a process becomes one of them (runtime/dist/ranks.h).
  int64_t ranks = 1;
  uint64_t plan_hash = 0;
  double predicted_reduce_seconds = 0;  // of an iteration
  std::unique_ptr<dist::Ranks> (*join)(int64_t ranks, int64_t patience) = nullptr;
  std::span<const ProgramInput> inputs = {};
  ProgramOutput output = {};
  std::span<const ProgramParameter> parameters = {};
  std::span<const ProgramLife> lives = {};
  std::span<const char* const> step_names = {};  // by step: "conv1.forward", for tools that show a timeline

  void (*build)(KernelSet& kernels, int64_t samples) = nullptr;
  // The steps of a round: forward, backward. Evaluation runs only forward, with context.training false.
  void (*forward)(Round& round) = nullptr;
  void (*backward)(Round& round) = nullptr;
};

const Program& program();

// Where an input waits for its round. Before: program.inputs_ahead >= 0.
inline int64_t ahead_of_round(const Program& program, size_t input) {
  constexpr int64_t kAligned = 256;
  int64_t offset = program.inputs_ahead;
  for (size_t i = 0; i < input; ++i) offset += (program.inputs[i].desc.bytes() + kAligned - 1) / kAligned * kAligned;
  return offset;
}

}  // namespace plimsoll
