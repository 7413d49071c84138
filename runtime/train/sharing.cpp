#include "runtime/train/sharing.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace plimsoll::train {
namespace {

void take_over(const ProgramParameter& parameter, ParameterPort& port, Team& team) {
  port.update(parameter, [&](int64_t, std::span<std::byte> values) {
    team.broadcast(values.data(), static_cast<int64_t>(values.size()));
  });
}

}  // namespace

void share_progress(Progress& progress, Team& team) {
  int64_t told[] = {progress.iteration,
                    static_cast<int64_t>(progress.seed),
                    progress.seen,
                    progress.best.iteration,
                    progress.best.since,
                    progress.scaling.good,
                    progress.scaling.skipped,
                    progress.best.samples,
                    progress.best.by_accuracy,
                    progress.evaluation_is_due};
  double sums[] = {progress.loss_sum, progress.correct_sum, progress.best.loss, progress.scaling.scale,
                   progress.best.accuracy};
  team.broadcast(told, sizeof told);
  team.broadcast(sums, sizeof sums);
  progress.iteration = told[0];
  progress.seed = static_cast<uint64_t>(told[1]);
  progress.seen = told[2];
  progress.loss_sum = sums[0];
  progress.correct_sum = sums[1];
  progress.best = {.iteration = told[3],
                   .samples = told[7],
                   .loss = sums[2],
                   .accuracy = sums[4],
                   .by_accuracy = told[8] != 0,
                   .since = told[4]};
  progress.evaluation_is_due = told[9] != 0;
  progress.scaling = {.scale = sums[3], .good = told[5], .skipped = told[6]};
}

void share_parameters(const Program& program, ParameterPort& port, Team& team) {
  if (team.size() == 1) return;
  for (const ProgramParameter& parameter : program.parameters) take_over(parameter, port, team);
}

void share_statistics(const Program& program, ParameterPort& port, Team& team) {
  if (team.size() == 1) return;
  for (const ProgramParameter& parameter : program.parameters)
    if (parameter.role == ParameterRole::statistic) take_over(parameter, port, team);
}

}  // namespace plimsoll::train
