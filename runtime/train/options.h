// The trainer's command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/train/dataset.h"
#include "runtime/train/feeder.h"
#include "runtime/train/groups.h"
#include "runtime/train/loss_scaling.h"
#include "runtime/train/machine.h"
#include "runtime/train/run_batch.h"
#include "runtime/train/schedule.h"

namespace plimsoll::train {

enum class OnNan { stop, skip, ignore };
enum class Metric { none, loss, accuracy };
enum class Resume { no, newest_whole, newest };

struct Options {
  // Data and duration.
  std::string data = {};
  ImageOptions images = {};
  bool images_are_given = false;  // --resize, --mean, --std or --normalize
  Feeder::Setup feeding = {};
  BatchOptions batch = {};
  LastBatch last_batch = LastBatch::drop;
  std::string eval_data = {};
  int64_t eval_every = 0;  // iterations; 0: after each epoch
  Metric best = Metric::none;  // decides which evaluation is the best
  int64_t early_stop = 0;      // evaluations without improvement that end the run; 0: never
  bool range_test = false;
  int64_t epochs = 0;  // 0: one, or as many as `steps` needs
  int64_t steps = 0;   // 0: no limit; iterations over all epochs
  bool shuffle = true;
  std::optional<uint64_t> seed = {};  // none: 0, or that of the checkpoint
  // Optimization.
  Schedule schedule = {};  // without the length of the run
  GroupOptions optimizer = {};
  ScalingOptions scaling = {};
  std::optional<double> average_decay = {};  // of --ema
  OnNan on_nan = OnNan::stop;
  // Weights and checkpoints.
  std::string init = "file";  // file | he:SEED
  std::string model = {};     // "": model.onnx of the trainer's directory
  std::string save = {};
  std::string checkpoint = {};  // directory; "": no checkpoints
  int64_t checkpoint_every = 0;  // iterations; 0: after each epoch
  int64_t keep = 3;
  bool checkpoint_optional = false;  // a failed checkpoint does not end the run
  Resume resume = Resume::no;
  // Prediction.
  std::string predict = {};  // source of samples; "": train
  std::string out = {};      // file of the predictions
  // Output and environment.
  std::vector<std::string> metrics = {};  // files: CSV if the name ends in .csv, else JSON lines
  std::string html = {};         // file of the page of curves
  std::string tensorboard = {};  // directory of the event file
  std::string trace = {};  // file of the step times of the last round
  std::string spill = {};  // directory of the host pool's file; "": the host pool is in memory
  bool revalidate = false;  // fail if a kernel is not as planned
  int64_t slack = 512;      // MiB of device memory that libraries may use without a warning
  bool graph = true;       // cuda: record a round as one CUDA graph
  bool overlap = true;     // false: each step runs on the calling thread when its line of the program is called
  int64_t patience = 20;   // of several ranks: seconds without progress after which a rank is lost; 0: no limit
  std::string measure_ranks = {};  // file of measured reduction speeds; "": train
  bool quiet = false;
  bool json = false;      // print the figures of the run as JSON, and nothing else to stdout
  std::string told = {};   // the command line
  bool help = false;
};

// Throws TrainerError (usage) that names the argument.
Options parse_options(int argc, char** argv);

// The options of this rank: only the rank that `speaks` prints and writes files.
Options of_this_rank(const Options& given, bool speaks);

std::string help_text();

}  // namespace plimsoll::train
