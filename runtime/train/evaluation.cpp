#include "runtime/train/evaluation.h"

#include <algorithm>

namespace plimsoll::train {

Evaluation evaluate_all(const Program& program, Machine& machine, Feeder& feeder, const Dataset& dataset,
                        const std::function<bool()>& stops) {
  const bool padded = program.classes > 0;
  const int64_t iterations = (dataset.samples + (padded ? program.batch - 1 : 0)) / program.batch;
  const auto samples_of = [&](int64_t i) {
    const int64_t first = i * program.batch;
    return i < iterations ? Samples{first, std::min(program.batch, dataset.samples - first)} : Samples{};
  };
  Evaluation result;
  double loss = 0, weight = 0, correct = 0, labels = 0;
  for (int64_t i = 0; i < iterations; ++i) {
    if (stops()) return {};
    const Samples samples = samples_of(i);
    const Machine::Totals totals = machine.play(feeder, {.samples = samples,
                                                         .padded = padded,
                                                         .next = samples_of(i + 1),
                                                         .context = {.training = false, .iteration = i}});
    loss += totals.loss * totals.weight;
    weight += totals.weight;
    labels += static_cast<double>(totals.labels);
    correct += totals.correct;
    result.samples += samples.count;
  }
  result.loss = weight > 0 ? loss / weight : 0;
  if (program.counts_correct) result.accuracy = correct / std::max(1.0, labels);
  return result;
}

}  // namespace plimsoll::train
