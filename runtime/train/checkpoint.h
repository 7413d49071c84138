// Checkpoints on disk: one directory each, complete or absent.
//
//   DIR/ckpt-000000500/weights.safetensors   weights and running statistics, by their ONNX names
//                      state.safetensors     the optimizer's state; the run's position as metadata
//                      average.safetensors   with --ema: the averaged weights
//                      manifest.sha256       of all of them, as `sha256sum -c` reads it; written last
//
// A save has two halves. write() writes the tensors into files in DIR/.tmp-PID-…, that is, into the page cache:
// training waits for it. settle() syncs each file, sums it, writes the manifest, syncs the directory and renames it: a
// thread does it while training goes on. So earlier checkpoints stay intact if the process ends at any moment, the
// machine loses power, or the disk is full.
//
//   training   …, iteration 500, write(), iteration 501, iteration 502, …
//   thread                                settle(): fsync, SHA-256, rename
//
// Values are stored in plain order, so a trainer compiled for another budget can resume from the same checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/dist/ranks.h"
#include "runtime/train/average.h"
#include "runtime/train/loss_scaling.h"
#include "runtime/train/parameters.h"

namespace plimsoll::train {

// The best evaluation of a run so far.
struct Best {
  int64_t iteration = 0;  // iterations done at that evaluation; 0: there was none
  int64_t samples = 0;
  double loss = 0;
  double accuracy = -1;      // -1: not counted
  bool by_accuracy = false;  // what evaluations are compared by
  int64_t since = 0;         // later evaluations, none of them better
  double value() const { return by_accuracy ? accuracy : loss; }
};

// The position of a run. The order of samples, dropout and initial weights are functions of seed and iteration, so no
// other generator state is stored.
struct Progress {
  int64_t iteration = 0;  // done
  uint64_t seed = 0;
  bool shuffle = true;
  std::string data = {};  // the source as given to --data; its samples, and iterations per epoch
  int64_t samples = 0, per_epoch = 0;
  std::string last_batch = {};
  std::string schedule = {};  // describe(Schedule) and the like; resuming with another text gives a warning
  // Sums over the current epoch, for its line at the end.
  int64_t seen = 0;  // samples
  double loss_sum = 0, correct_sum = 0;
  Best best = {};
  bool evaluation_is_due = false;  // a signal cut off the evaluation after this iteration
  double average_decay = 0;  // of --ema; 0: weights are not averaged
  LossScaling scaling = {};
};

class Checkpoints {
 public:
  // Creates the directory if needed, and locks it against other trainers. Removes what interrupted saves have left.
  // `keep`: the number of newest checkpoints to keep, besides the best. `pulse`: of several ranks; is told of each
  // piece that is written and synced. Throws TrainerError (unwritable_output).
  Checkpoints(std::string directory, int64_t keep, const Program& program, ParameterPort& port,
              dist::Pulse* pulse = nullptr);
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  // Iterations of the checkpoints in the directory, the newest first. Does not check whether they are complete.
  std::vector<int64_t> found() const;

  // Loads the newest complete checkpoint into the arena. Appends a sentence to `passed_over` for each newer one that is
  // damaged. Returns nullopt if there are no checkpoints. Throws TrainerError: unreadable_input if all are damaged;
  // invalid_model if the newest complete one is of another model, or if `strict` and a newer one is damaged.
  std::optional<Progress> resume(std::vector<std::string>& passed_over, bool strict = false);

  // Whether there is a checkpoint of this iteration. Does not check whether it is complete.
  bool has(int64_t iteration) const;
  // Loads what evaluations after this iteration used into the arena, and nothing else: the averaged weights if the
  // checkpoint has them, else the weights. Throws TrainerError: unreadable_input, invalid_model.
  void load_evaluated(int64_t iteration);

  // Writes the files of a checkpoint. Does nothing if the newest checkpoint is of this iteration. Before: what was
  // written earlier is settled. Throws TrainerError (unwritable_output); earlier checkpoints then stay intact.
  void write(const Progress& progress, WeightAverage* average = nullptr);
  // Completes the checkpoint that write() has begun, if there is one. May run on another thread; no other function may
  // be called meanwhile. Throws TrainerError (unwritable_output); earlier checkpoints then stay intact.
  void settle();

  // Reads the averaged weights of a complete checkpoint. Before: its Progress has an average_decay. Throws
  // TrainerError: unreadable_input, invalid_model.
  void load_average(int64_t iteration, WeightAverage& average) const;

  // "DIR/ckpt-000000500"
  std::string path_of(int64_t iteration) const;

 private:
  // Files that write() has written, not yet a checkpoint.
  struct Written {
    int64_t iteration = 0, best = 0;
    bool averaged = false;
    std::string folder = {};
  };

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
  std::optional<Written> written_ = {};
};

}  // namespace plimsoll::train
