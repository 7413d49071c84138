// What --predict writes: --out FILE.npy has the scores as they are, FILE.csv and FILE.txt (and -, the terminal) have
// names and probabilities.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/program.h"

namespace plimsoll::train {

// How scores become what a file says.
enum class Scores {
  classes,  // of one class each: a softmax makes probabilities of them
  answers,  // of yes or no, each by itself: a sigmoid does
  plain,    // numbers that mean something by themselves
};

struct Names {
  std::function<std::string(int64_t)> of_sample = {};  // empty: its number
  std::vector<std::string> of_class = {};              // empty: numbers
};

class PredictionFile {
 public:
  virtual ~PredictionFile() = default;
  // The scores of the samples that follow those before.
  virtual void add(std::span<const float> scores) = 0;
  // Throws TrainerError (unwritable_output). Without it, there is no file.
  virtual void commit() = 0;
};

// Throws TrainerError: unwritable_output; usage, where the output has other dimensions than one score for each class.
std::unique_ptr<PredictionFile> open_predictions(const std::string& path, const Program& program, int64_t samples,
                                                 Names names);

Scores scores_of(const Program& program);
// The probabilities of one sample, in place.
void to_probabilities(Scores kind, std::span<double> scores);

}  // namespace plimsoll::train
