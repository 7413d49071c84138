#include "runtime/train/preparation.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/backend.h"
#include "runtime/machine/host_memory.h"
#include "runtime/train/counted.h"
#include "runtime/train/error.h"
#include "runtime/train/mixing.h"
#include "runtime/train/model_files.h"
#include "runtime/train/parameters.h"
#include "runtime/train/reporter.h"
#include "runtime/train/trace.h"

namespace plimsoll::train {
namespace {

void need_a_batch(const Program& program, const Dataset& dataset) {
  if (dataset.samples >= program.batch) return;
  if (dataset.samples == 0) throw TrainerError(Exit::invalid_model, "'" + dataset.name + "' has no samples");
  throw TrainerError(Exit::invalid_model, "'" + dataset.name + "' has " + counted(dataset.samples, "sample") +
                                              ", but an iteration takes " + std::to_string(program.batch) +
                                              "; compile the model with a smaller --batch");
}

// Checks that the file can be written at the end of the run.
void check_save(const Program& program, const std::string& save) {
  if (save.empty()) return;
  if (program.model_bytes == 0) throw TrainerError(Exit::usage, "--save: this trainer was made without a model file");
  std::error_code unknown;
  const std::filesystem::path folder = std::filesystem::path(save).parent_path();
  if (std::filesystem::exists(save, unknown) && !std::filesystem::is_regular_file(save, unknown))
    throw TrainerError(Exit::unwritable_output, "cannot write '" + save + "': it is not a file");
  if (!folder.empty() && !std::filesystem::is_directory(folder, unknown))
    throw TrainerError(Exit::unwritable_output, "cannot write '" + save + "': there is no such directory");
}

// Opens a new file in each place and discards it. Existing files stay as they are.
void check_outputs(const Options& options) {
  for (const std::string* path : {&options.save, &options.html, &options.trace})
    if (!path->empty()) const OutputFile begun(*path);
  std::error_code unknown;
  if (!options.checkpoint.empty() && std::filesystem::is_directory(options.checkpoint, unknown))
    const OutputFile begun(options.checkpoint + "/probe");
}

// Only a warning, because the free space may change until the end of the run.
void warn_of_full_disk(const Program& program, const std::string& save, std::vector<std::string>& warnings) {
  if (save.empty()) return;
  const std::filesystem::path folder = std::filesystem::absolute(save).parent_path();
  std::error_code unknown;
  const std::filesystem::space_info space = std::filesystem::space(folder, unknown);
  const auto needed = static_cast<uintmax_t>(program.model_bytes + program.weights_bytes);
  if (!unknown && space.available < needed)
    warnings.push_back("--save: the disk of '" + save + "' has " + std::to_string(space.available) +
                       " bytes left, but the model has " + std::to_string(needed));
}

// The class weights of each input. They are needed before the arena exists, because their sum divides the loss.
ClassWeights class_weights_of(const Program& program, const std::string& model_file) {
  ClassWeights all(program.inputs.size());
  for (size_t i = 0; i < all.size(); ++i) {
    if (!program.inputs[i].class_weights) continue;
    const auto named = [&](const ProgramParameter& parameter) {
      return std::string_view(parameter.name) == program.inputs[i].class_weights;
    };
    const auto found = std::find_if(program.parameters.begin(), program.parameters.end(), named);
    if (found == program.parameters.end() || found->file_offset < 0)
      throw TrainerError(Exit::internal,
                         "the class weights of '" + std::string(program.inputs[i].name) + "' are in no file");
    all[i].resize(static_cast<size_t>(found->desc.elements()));
    read_from_file(open_weights(program, model_file), *found, 0, std::as_writable_bytes(std::span(all[i])));
  }
  return all;
}

Data open_data(const Program& program, const Options& options, const ClassWeights& class_weights) {
  if (options.data.empty())
    throw TrainerError(Exit::usage, "--data says what to train on, and is missing: --data " + sources_for(program));
  Data data{.training = open_dataset(options.data, Part::training, program, options.images), .evaluation = {}};
  if (options.last_batch == LastBatch::drop || data.training.samples == 0) need_a_batch(program, data.training);
  if (options.last_batch == LastBatch::pad && program.classes == 0)
    throw TrainerError(Exit::usage,
                       "--last pad is for labels that are classes, of which the loss can leave some out; use keep");
  if (options.last_batch == LastBatch::keep && program.whole_batches_only)
    throw TrainerError(Exit::usage, "--last keep: the model combines the samples of a batch, and is compiled for " +
                                        std::to_string(program.batch) + " of them; use drop");
  check_integers(data.training, program, class_weights);
  check_targets(data.training, program);
  if (options.eval_data.empty()) return data;
  if (options.best == Metric::accuracy && !program.counts_correct)
    throw TrainerError(Exit::usage, "--keep-best accuracy: the labels of this model are not classes; use loss");
  data.evaluation = open_dataset(options.eval_data, Part::test, program, options.images);
  if (program.classes == 0 || data.evaluation->samples == 0) need_a_batch(program, *data.evaluation);
  check_integers(*data.evaluation, program, class_weights);
  check_targets(*data.evaluation, program);
  return data;
}

// All ranks need the same number of samples in each round.
void check_left_over(const Options& options, const Program& program, int64_t samples) {
  const int64_t left_over = samples % program.batch;
  if (options.last_batch == LastBatch::keep && left_over % program.ranks != 0)
    throw TrainerError(Exit::usage, "--last keep leaves " + counted(left_over, "sample") + " for " +
                                        std::to_string(program.ranks) +
                                        " ranks, which cannot have equal parts; use pad or drop");
}

}  // namespace

void check_backend(const Options& options) {
  const backend::Heeds heeds = backend::heeds();
  if (options.last_batch != LastBatch::drop && !heeds.loss_scale)
    throw TrainerError(
        Exit::usage,
        "--last pad and keep are not supported on this device: the loss would not be the mean over the samples");
  if (!options.trace.empty() && !heeds.times)
    throw TrainerError(Exit::usage, "--trace is not supported on this device: it does not report when its steps run");
  if (options.on_nan == OnNan::skip && !heeds.discard)
    throw TrainerError(Exit::usage, "--on-nan skip is not supported on this device: the weights would have moved");
}

Data prepare(const Program& program, const Options& options, const std::string& model_file) {
  const ProgramOfData of_data(program);
  Data data = open_data(*of_data, options, class_weights_of(program, model_file));
  if (!data.training.counted_labels.empty() && !backend::heeds().loss_scale)
    throw TrainerError(
        Exit::usage,
        "ignored labels are not supported on this device: the loss would not be the mean over the others");
  check_left_over(options, program, data.training.samples);
  check_mixing(program, options.feeding.mixing);
  scaling_at_start(program, options.scaling);  // throws
  check_save(program, options.save);
  check_trace(options.trace);
  check_outputs(options);
  warn_of_full_disk(program, options.save, data.training.warnings);
  return data;
}

// Without this, the system ends the process in the middle of an epoch.
void check_host_memory(const Program& program, const std::string& spill, int64_t average) {
  const bool on_device = backend::device_memory().has_value();
  const int64_t arena = on_device ? 0 : program.arena_bytes, pool = spill.empty() ? program.host_pool_bytes : 0;
  const std::optional<HostMemory> memory = host_memory();
  if (!memory || arena + pool + average <= memory->available) return;
  const auto figure = [](int64_t bytes) {
    char text[64];
    std::snprintf(text, sizeof text, "%.1f MiB (%lld bytes)", mebibytes(bytes), static_cast<long long>(bytes));
    return std::string(text);
  };
  std::vector<std::string> parts;
  if (arena > 0) parts.push_back("the arena of " + figure(arena));
  if (pool > 0) parts.push_back((on_device ? "the pinned host pool of " : "the host pool of ") + figure(pool));
  if (average > 0) parts.push_back("the averaged weights of " + figure(average));
  std::string text = parts.front();
  for (size_t i = 1; i < parts.size(); ++i) text += " and " + parts[i];
  text += std::string(parts.size() > 1 ? " are" : " is") + " more than the " + figure(memory->available) + " that " +
          (memory->limited_by_group ? "the control group of this process may still take" : "this machine has left") +
          ": free memory";
  if (pool > 0 && !on_device) text += ", put the pool on a disk with --spill DIR";
  if (average > 0) text += ", leave --ema out";
  const int64_t left = memory->available - average;
  if (left > 0)
    text += ", or compile the model with " + (pool > 0 && left > arena ? "--host-budget " + std::to_string(left - arena)
                                                                       : "--budget " + std::to_string(left));
  throw TrainerError(Exit::budget, text);
}

Length length_of(const Options& options, const Program& program, int64_t samples) {
  const int64_t short_one = options.last_batch != LastBatch::drop && samples % program.batch > 0 ? 1 : 0;
  Length length{.per_epoch = samples / program.batch + short_one, .epochs = options.epochs, .steps = options.steps};
  if (length.epochs == 0)
    length.epochs = length.steps == 0 ? 1 : (length.steps + length.per_epoch - 1) / length.per_epoch;
  if (__builtin_mul_overflow(length.epochs, length.per_epoch, &length.iterations))
    length.iterations = std::numeric_limits<int64_t>::max();
  if (length.steps == 0) length.steps = length.iterations;
  length.iterations = std::min(length.iterations, length.steps);
  return length;
}

}  // namespace plimsoll::train
