// What a generated trainer tells the training loop about itself: plain data and two functions. The generated
// program.cpp defines `program()`; runtime/train/main.cpp drives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/kernel.h"

namespace plimsoll {

// A tensor that the trainer fills before each round: samples, labels.
struct ProgramInput {
  const char* name;     // ONNX name
  TensorDesc desc;      // for a full sub-batch, as it lies in the arena
  int64_t offset;       // where the load step puts it
};

// A tensor that is saved and restored: weights, statistics, optimizer state.
struct ProgramParameter {
  const char* name;         // ONNX initializer, or a name of our own for optimizer state
  TensorDesc desc;          // in the arena
  int64_t offset;           // in the arena, for the whole run
  int64_t file_offset;      // of its first value in model.onnx (plain layout, f32); -1: starts at zero
  bool trained;             // false: statistic or frozen
};

class Kernels;  // the kernels for one number of samples, built once

struct Program {
  const char* model;             // name
  const char* generator;         // "plimsoll 0.1.0"
  int64_t batch, sub_batch, rounds, last_sub_batch;
  int64_t arena_bytes, budget_bytes, persistent_bytes;
  int64_t threads;               // host: fixed, for the bits depend on it
  std::span<const ProgramInput> inputs;
  std::span<const ProgramParameter> parameters;
  int64_t loss_offset;           // f32: this round's share of the iteration's mean loss
  int64_t correct_offset;        // f32: correctly classified samples of this round; -1: none
  double predicted_seconds;      // of an iteration; 0: unknown
};

}  // namespace plimsoll
