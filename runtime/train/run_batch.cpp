#include "runtime/train/run_batch.h"

#include <algorithm>
#include <string>

#include "runtime/backend.h"
#include "runtime/train/counted.h"
#include "runtime/train/error.h"

namespace plimsoll::train {
namespace {

std::string compile_again(const std::string& flag, int64_t number) {
  return "; `plimsoll compile … " + flag + " " + std::to_string(number) + "` plans for it";
}

}  // namespace

Program with_batch(const Program& compiled, const BatchOptions& options) {
  Program program = compiled;
  if (!options.batch && !options.sub_batch) return program;
  const int64_t ranks = std::max<int64_t>(1, compiled.ranks), batch = options.batch.value_or(compiled.batch);
  const std::string flag = options.batch ? "--batch" : "--sub-batch";
  const int64_t asked = options.batch ? batch : *options.sub_batch;
  const auto refuse = [&](const std::string& why) {
    throw TrainerError(Exit::usage, flag + " " + std::to_string(asked) + ": " + why);
  };
  if (batch % ranks != 0) refuse("not divisible by " + counted(ranks, "rank"));
  const int64_t of_rank = batch / ranks, wanted = options.sub_batch.value_or(compiled.sub_batch * ranks);
  if (wanted % ranks != 0)
    throw TrainerError(
        Exit::usage, "--sub-batch " + std::to_string(wanted) + ": not divisible by " + counted(ranks, "rank"));
  const int64_t sub_batch = std::min(wanted / ranks, of_rank), rounds = (of_rank + sub_batch - 1) / sub_batch;
  if (batch == compiled.batch && sub_batch == compiled.sub_batch) return program;
  if (compiled.whole_batches_only)
    refuse("the model combines the samples of a batch, and is compiled for " + std::to_string(compiled.batch) +
           " of them" + compile_again(flag, asked));
  if (!backend::heeds().loss_scale)
    refuse("not supported on this device: the loss would not be the mean over the samples");
  if (wanted > compiled.sub_batch * ranks)
    throw TrainerError(Exit::usage, "--sub-batch " + std::to_string(wanted) + ": the planned one is " +
                                        std::to_string(compiled.sub_batch * ranks) +
                                        ", and more samples in a round need more memory" +
                                        compile_again("--sub-batch", wanted));
  if (rounds > 1 && compiled.rounds == 1)
    refuse("it takes " + counted(rounds, "round") + " of " + std::to_string(sub_batch * ranks) +
           ", and this plan has no gradient accumulation: it allows batches of up to " +
           std::to_string(compiled.sub_batch * ranks) + " in one round" + compile_again(flag, asked));
  const double growth = static_cast<double>(batch) / static_cast<double>(compiled.batch);
  program.batch = batch;
  program.sub_batch = sub_batch;
  program.rounds = rounds;
  program.last_sub_batch = of_rank - (rounds - 1) * sub_batch;
  program.predicted_seconds *= growth;
  return program;
}

}  // namespace plimsoll::train
