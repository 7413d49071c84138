// Checks combinations of options.
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "runtime/train/error.h"
#include "runtime/train/option_rows.h"

namespace plimsoll::train {
namespace {

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code unknown;
  const auto resolved = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, unknown), unknown);
  };
  return resolved(a) == resolved(b);
}

}  // namespace

void check_together(const Options& options, const std::vector<std::string_view>& names) {
  const auto given = [&](std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  for (const std::string_view option : {"--resume", "--checkpoint-every", "--checkpoint-optional", "--keep"})
    if (given(option) && options.checkpoint.empty())
      throw TrainerError(Exit::usage, std::string(option) + " needs --checkpoint DIR, where checkpoints are");
  const auto images = [](const std::string& source) { return source.starts_with("images:"); };
  for (const std::string_view option : {"--resize", "--random-crop", "--random-resized-crop", "--color-jitter",
                                        "--normalize", "--flip", "--mean", "--std", "--scaled-decode"})
    if (given(option) && !images(options.data) && !images(options.eval_data) && !images(options.predict))
      throw TrainerError(Exit::usage, std::string(option) + " needs images (images:DIR), and there are none");
  if (given("--random-crop") && given("--random-resized-crop"))
    throw TrainerError(Exit::usage, "--random-crop and --random-resized-crop exclude each other");
  for (const std::string_view option : {"--mean", "--std"})
    if (given(option) && given("--normalize"))
      throw TrainerError(Exit::usage, "--normalize sets " + std::string(option) + ": leave one of them out");
  if (options.eval_every > 0 && options.eval_data.empty())
    throw TrainerError(Exit::usage, "--eval-every needs --eval-data SOURCE");
  if (options.predict.empty() != options.out.empty())
    throw TrainerError(Exit::usage,
                       options.out.empty() ? "--predict needs --out FILE.npy" : "--out needs --predict SOURCE");
  if (!options.predict.empty() && !options.save.empty())
    throw TrainerError(Exit::usage, "--save applies to training; --predict changes no weight");
  for (const std::string_view option : {"--html", "--tensorboard"})
    if (given(option) && !(options.predict.empty() && options.measure_ranks.empty()))
      throw TrainerError(Exit::usage, std::string(option) + " shows training, and " +
                                          (options.predict.empty() ? "--measure-ranks" : "--predict") +
                                          " trains nothing");
  if (!options.predict.empty() && !options.checkpoint.empty() && options.resume == Resume::no)
    throw TrainerError(Exit::usage,
                       "--predict makes no checkpoints; --checkpoint DIR --resume predicts with the newest there");
  if (!options.measure_ranks.empty() &&
      !(options.save.empty() && options.checkpoint.empty() && options.predict.empty()))
    throw TrainerError(Exit::usage, "--measure-ranks trains nothing: leave out --save, --checkpoint and --predict");
  if (options.json && options.out == "-") throw TrainerError(Exit::usage, "--json and --out - both write to stdout");
  if (options.json && !options.measure_ranks.empty())
    throw TrainerError(Exit::usage, "--json prints figures of a run; --measure-ranks writes its own to a file");
  std::vector<std::pair<std::string, std::string>> outputs = {
      {"--save", options.save},
      {"--html", options.html},
      {"--trace", options.trace},
      {"--out", options.out == "-" ? "" : options.out}};
  for (const std::string& metrics : options.metrics) outputs.emplace_back("--metrics", metrics);
  for (size_t i = 0; i < outputs.size(); ++i)
    for (size_t j = i + 1; j < outputs.size(); ++j)
      if (!outputs[i].second.empty() && !outputs[j].second.empty() &&
          is_same_file(outputs[i].second, outputs[j].second))
        throw TrainerError(Exit::usage, outputs[i].first + " and " + outputs[j].first + " name the same file, '" +
                                            outputs[i].second + "'");
  for (const std::string_view option : {"--lr", "--lr-schedule", "--warmup", "--lr-min", "--on-nan", "--save",
                                        "--checkpoint", "--predict", "--keep-best", "--early-stop", "--ema"})
    if (options.range_test && given(option))
      throw TrainerError(
          Exit::usage,
          std::string(option) + " and --lr-range-test exclude each other: it sets the rate, and nothing is saved");
  for (const std::string_view option : {"--keep-best", "--early-stop"})
    if (given(option) && options.eval_data.empty())
      throw TrainerError(Exit::usage, std::string(option) + " needs --eval-data SOURCE, whose metric is compared");
  if (given("--keep-best") && options.save.empty() && options.checkpoint.empty())
    throw TrainerError(Exit::usage,
                       "--keep-best needs --save FILE or --checkpoint DIR, where the best weights are kept");
  for (const std::string_view option :
       {"--mixup", "--cutmix", "--batch", "--sub-batch", "--clip-norm", "--init-scale", "--growth-interval"})
    if (given(option) && !options.predict.empty())
      throw TrainerError(Exit::usage, std::string(option) + " applies to training");
  if (given("--ema") && !options.predict.empty())
    throw TrainerError(Exit::usage, "--ema applies to training; --predict uses the average that a checkpoint has");
  const ScheduleKind kind = options.schedule.kind;
  const bool steps = kind == ScheduleKind::step;
  if (steps && !given("--lr-step"))
    throw TrainerError(Exit::usage, "--lr-schedule step needs --lr-step N, the iterations between its steps");
  for (const std::string_view option : {"--lr-step", "--lr-gamma"})
    if (!steps && given(option)) throw TrainerError(Exit::usage, std::string(option) + " requires --lr-schedule step");
  if (given("--lr-min") && kind != ScheduleKind::cosine && kind != ScheduleKind::linear)
    throw TrainerError(Exit::usage, "--lr-min requires --lr-schedule cosine or linear");
}

}  // namespace plimsoll::train
