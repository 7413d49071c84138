#include "runtime/train/best_weights.h"

#include <cmath>
#include <string>

#include "runtime/train/summary.h"

namespace plimsoll::train {

bool BestWeights::improves(const Evaluation& result, int64_t iteration) {
  const bool by_accuracy = options_.best == Metric::accuracy;
  const double value = by_accuracy ? result.accuracy : result.loss;
  ++best_.since;
  if (!std::isfinite(value)) return false;
  if (best_.iteration > 0 && (by_accuracy ? value <= best_.value() : value >= best_.value())) return false;
  best_ = {.iteration = iteration,
           .samples = result.samples,
           .loss = result.loss,
           .accuracy = result.accuracy,
           .by_accuracy = by_accuracy};
  return true;
}

void BestWeights::save_while_training(const std::function<void()>& save) {
  error_.reset();
  try {
    save();
  } catch (const TrainerError& error) {
    if (error.code != Exit::unwritable_output) throw;
    error_ = error;
    reporter_.warn("warning: cannot save the best weights so far: " + std::string(error.what()) +
                   "; saving is tried again for the next best");
  }
}

void BestWeights::save_at_end(const std::function<void()>& save) {
  try {
    save();
  } catch (const TrainerError& error) {
    error_ = error;
  }
}

void BestWeights::tell(const std::string& checkpoint) const {
  reporter_.say(best_in_words(best_, options_.best) + (checkpoint.empty() ? "" : ", checkpoint " + checkpoint) +
                (options_.save.empty() || error_ ? "" : ", saved as " + options_.save));
}

}  // namespace plimsoll::train
