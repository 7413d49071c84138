// The trainer's command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/train/dataset.h"
#include "runtime/train/groups.h"
#include "runtime/train/machine.h"
#include "runtime/train/schedule.h"

namespace plimsoll::train {

enum class OnNan { stop, skip, ignore };
enum class Metric { none, loss, accuracy };
enum class Resume { no, newest_whole, newest };

struct Options {
  // What to train on, for how long.
  std::string data = {};
  ImageOptions images = {};
  LastBatch last_batch = LastBatch::drop;
  std::string eval_data = {};
  int64_t eval_every = 0;  // iterations; 0: after each epoch
  Metric best = Metric::none;  // whose best evaluation is kept
  int64_t early_stop = 0;      // evaluations that are no better than the best; 0: the run goes on
  bool range_test = false;
  int64_t epochs = 0;  // 0: one, or as many as `steps` takes
  int64_t steps = 0;   // 0: no limit; iterations over all epochs
  bool shuffle = true;
  std::optional<uint64_t> seed = {};  // nothing: 0, or what a checkpoint says
  // How.
  Schedule schedule = {};  // all but how long the run is
  GroupOptions optimizer = {};
  OnNan on_nan = OnNan::stop;
  // Where weights come from and go to.
  std::string init = "file";  // file | he:SEED
  std::string model = {};     // "": model.onnx of the trainer's directory
  std::string save = {};
  std::string checkpoint = {};  // directory; "": none are made
  int64_t checkpoint_every = 0;  // iterations; 0: after each epoch
  int64_t keep = 3;
  bool checkpoint_optional = false;  // one that cannot be written does not end the run
  Resume resume = Resume::no;
  // Instead of training.
  std::string predict = {};  // samples; "": train
  std::string out = {};      // file of what the model makes of them
  // What is said, and where else it works.
  std::vector<std::string> metrics = {};  // files; those that end in .csv are of that kind
  std::string html = {};         // file: a page of curves
  std::string tensorboard = {};  // directory of event files
  std::string trace = {};  // file: when each step of the last round ran
  std::string spill = {};  // directory of the host pool's file; "": the host pool lies in memory
  bool revalidate = false;  // every kernel as planned, or none
  int64_t slack = 512;      // MiB that libraries may take of a device beside the arena before somebody is told
  bool graph = true;       // cuda: a round is recorded and played as one
  bool overlap = true;     // false: each step is done when its line of the program is called, on the calling thread
  int64_t patience = 20;   // of several ranks: seconds of silence, or of doing nothing, behind which one counts as lost; 0: for ever
  std::string measure_ranks = {};  // file: how fast they add up, instead of training
  bool quiet = false;
  std::string told = {};   // the command line, as it came
  bool help = false;
};

// Throws TrainerError (usage), naming the argument.
Options parse_options(int argc, char** argv);

// Without what one rank does for all, for the ranks that leave it to that one: they do not speak.
Options of_this_rank(const Options& given, bool speaks);

std::string help_text();

}  // namespace plimsoll::train
