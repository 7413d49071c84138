// Where a run stands, on the disk: a directory per checkpoint, that is there whole or not at all.
//
//   DIR/ckpt-000000500/weights.safetensors   weights and running statistics, by their ONNX names
//                      state.safetensors     the optimizer's state; the run's position as metadata
//                      average.safetensors   with --ema: the averaged weights
//                      manifest.sha256       of all of them, as `sha256sum -c` reads it; written last
//
// A save writes DIR/.tmp-PID-…, syncs each file, the manifest last, and the directory; then it renames. So a process that
// ends at any moment, a machine that loses power and a disk that is full leave the checkpoints before as they were.
// Values are in plain order: a trainer compiled for another budget goes on from the same checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/dist/ranks.h"
#include "runtime/train/average.h"
#include "runtime/train/parameters.h"

namespace plimsoll::train {

// The best evaluation of a run so far.
struct Best {
  int64_t iteration = 0;  // behind which it was; 0: there was none
  double value = 0;       // its loss, or its accuracy
  int64_t since = 0;      // evaluations behind it, none of them better
};

// Where a run stands. Order of samples, dropout and first weights are functions of seed and iteration: nothing else of the
// generators is to be kept.
struct Progress {
  int64_t iteration = 0;  // done
  uint64_t seed = 0;
  bool shuffle = true;
  std::string data = {};  // the source as it was named, its samples, and what an epoch makes of them
  int64_t samples = 0, per_epoch = 0;
  std::string last_batch = {};
  std::string schedule = {};  // of the learning rate, as text: a run that goes on with another is told so
  // Of the epoch at hand, for its line at the end.
  int64_t seen = 0;  // samples
  double loss_sum = 0, correct_sum = 0;
  Best best = {};
  double average_decay = 0;  // of --ema; 0: weights are not averaged
};

class Checkpoints {
 public:
  // Makes the directory where there is none, and takes it: no other trainer can. What saves that were cut off have left
  // is removed. `keep`: so many of the newest remain,
  // and the best. `pulse`: of several ranks, hears of each piece that is written, and on
  // the disk. Throws TrainerError (unwritable_output).
  Checkpoints(std::string directory, int64_t keep, const Program& program, ParameterPort& port, dist::Pulse* pulse = nullptr);
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  // Iterations of what is there, the newest first; whole or not is not looked at.
  std::vector<int64_t> found() const;

  // Brings the newest whole checkpoint to the arena. `passed_over` gets a sentence for each newer one that is not whole.
  // nullopt: there are none at all. Throws TrainerError: unreadable_input when none of those there is whole,
  // invalid_model when the newest whole one is of another model, or when it is not the newest of all and `strict` wants that.
  std::optional<Progress> resume(std::vector<std::string>& passed_over, bool strict = false);

  // Throws TrainerError (unwritable_output); then the checkpoints before are as they were. Does nothing where the newest
  // is of this iteration.
  void save(const Progress& progress, WeightAverage* average = nullptr);

  // Reads the average of a whole checkpoint. Before: its Progress has an average_decay. Throws TrainerError:
  // unreadable_input, invalid_model.
  void load_average(int64_t iteration, WeightAverage& average) const;

  // "DIR/ckpt-000000500"
  std::string path_of(int64_t iteration) const;

 private:
  void take();
  void remove(const std::string& path) const;
  Progress load(int64_t iteration);
  Progress load_state(const std::string& path);
  void load_weights(const std::string& path);
  void drop_old(int64_t newest, int64_t best) const;

  std::string directory_;
  int64_t keep_;
  const Program& program_;
  ParameterPort& port_;
  dist::Pulse* pulse_;
  int lock_ = -1;
  int64_t saved_ = -1;
};

}  // namespace plimsoll::train
