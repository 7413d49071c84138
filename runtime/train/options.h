// The trainer's command line.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::train {

struct Options {
  std::string data = "synthetic";
  std::string test = {};
  int64_t epochs = 0;       // 0: one, or as many as `steps` takes
  int64_t steps = 0;        // 0: no limit; iterations over all epochs
  double learning_rate = 0.01;
  uint64_t seed = 0;
  bool shuffle = true;
  std::string init = "file";  // file | he:SEED
  std::string model = {};     // "": model.onnx of the trainer's directory
  std::string save = {};
  std::string metrics = {};
  std::string spill = {};     // directory of the host pool's file; "": the host pool lies in memory
  bool stop_on_nan = true;
  bool graph = true;          // cuda: a round is recorded and played as one
  bool quiet = false;
  bool help = false;
};

// Throws TrainerError (usage), naming the argument.
Options parse_options(int argc, char** argv);

extern const char* const kHelp;

}  // namespace plimsoll::train
