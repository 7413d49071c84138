#include "runtime/train/predict.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/train/average.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/counted.h"
#include "runtime/train/feeder.h"
#include "runtime/train/machine.h"
#include "runtime/train/mixing.h"
#include "runtime/train/model_notes.h"
#include "runtime/train/parameters.h"
#include "runtime/train/prediction_file.h"
#include "runtime/train/preparation.h"
#include "runtime/train/run_figures.h"
#include "runtime/train/summary.h"

namespace plimsoll::train {
namespace {

void load_weights(const Program& program, const Options& options, const std::string& model_file, ParameterPort& port) {
  init_parameters(program, options.init, model_file, port);
  if (options.resume == Resume::no) return;
  const auto none = [&] {
    return TrainerError(Exit::unreadable_input, "there is no checkpoint in '" + options.checkpoint + "'");
  };
  std::error_code unknown;
  if (!std::filesystem::is_directory(options.checkpoint, unknown)) throw none();
  Checkpoints checkpoints(options.checkpoint, options.keep, program, port);
  std::vector<std::string> passed_over;
  const std::optional<Progress> stored = checkpoints.resume(passed_over, options.resume == Resume::newest);
  for (const std::string& line : passed_over) std::fprintf(stderr, "warning: passed over %s\n", line.c_str());
  if (!stored) throw none();
  if (stored->average_decay > 0) {
    WeightAverage average(program, port, stored->average_decay);
    checkpoints.load_average(stored->iteration, average);
    average.exchange();
  }
  if (!options.quiet)
    std::printf("%sweights of %s\n", stored->average_decay > 0 ? "averaged " : "",
                checkpoints.path_of(stored->iteration).c_str());
}

std::vector<float> numbers_in(std::string_view text) {
  std::vector<float> numbers;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    numbers.push_back(std::strtof(std::string(text.substr(begin, end - begin)).c_str(), nullptr));
    begin = end + 1;
  }
  return numbers;
}

// Prepares images as the model's notes say, unless options were given.
ImageOptions prepared_as(const ModelNotes& notes, const Options& options) {
  ImageOptions images = options.images;
  if (!options.predict.starts_with("images:") || options.images_are_given || note(notes, "crop").empty()) return images;
  images.resize = std::atoll(std::string(note(notes, "resize")).c_str());
  images.mean = numbers_in(note(notes, "mean"));
  images.deviation = numbers_in(note(notes, "std"));
  const bool usable = !images.mean.empty() && !images.deviation.empty() && images.resize >= 0 &&
                      std::ranges::all_of(images.deviation, [](float deviation) { return deviation > 0; });
  if (!usable)
    throw TrainerError(
        Exit::invalid_model,
        "the model's notes of how its images were prepared are damaged; --mean, --std and --resize replace them");
  if (!options.quiet && options.out != "-")
    std::printf("images as in the model's training: %smean %s, deviation %s\n",
                images.resize > 0 ? ("shorter side " + std::to_string(images.resize) + ", ").c_str() : "",
                list_text(images.mean).c_str(), list_text(images.deviation).c_str());
  return images;
}

}  // namespace

Exit predict(const Program& program, const Options& options, const std::string& model_file) {
  const ProgramOutput& output = program.output;
  if (output.step < 0)
    throw TrainerError(Exit::usage,
                       "--predict: no step of this program computes the input of its loss; if its plan has the fused "
                       "form of the loss, compile with --loss-form plain");
  const ModelNotes notes = program.model_bytes > 0 ? read_notes(program, model_file) : ModelNotes{};
  const ImageOptions images = prepared_as(notes, options);
  const ProgramOfData of_data(program);
  Dataset data = open_unlabelled(options.predict, *of_data, images);
  if (data.samples == 0) throw TrainerError(Exit::invalid_model, "'" + data.name + "' has no samples");
  check_indices(data, *of_data);
  for (const std::string& warning : data.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  const std::unique_ptr<PredictionFile> out =
      open_predictions(options.out, program, data.samples, {.of_sample = data.name_of, .of_class = class_names(notes)});
  backend::start(program.threads);
  check_host_memory(program, options.spill);
  Team alone;  // one process, also if the plan is for several ranks
  Machine machine(program, alone,
                  {.spill = options.spill,
                   .may_record = options.graph,
                   .overlap = options.overlap,
                   .revalidate = options.revalidate,
                   .only_output = true});
  if (options.revalidate && !options.quiet) std::printf("%s\n", revalidated(program, machine.as_planned()).c_str());
  if (const std::string replaced = replaced_kernels(machine.replaced_kernels()); !replaced.empty())
    std::fprintf(stderr, "%s\n", replaced.c_str());
  ParameterPort port(program, machine.arena(), machine.pool());
  load_weights(program, options, model_file, port);

  Feeder feeder(program, data, false, 0, nullptr, options.feeding);
  const auto samples_at = [&](int64_t first) {
    return Samples{first, std::max<int64_t>(0, std::min(program.sub_batch, data.samples - first))};
  };
  for (int64_t first = 0; first < data.samples; first += program.sub_batch)
    out->add(machine.output_of(feeder, samples_at(first), samples_at(first + program.sub_batch)));
  out->commit();
  if (!options.quiet && options.out != "-")
    std::printf("%s %s of %s: %s\n", output.name, shape_text(output.desc).c_str(),
                counted(data.samples, "sample").c_str(), options.out.c_str());
  if (options.json) std::printf("%s\n", prediction_as_json(program, data.samples, options.out).c_str());
  return Exit::ok;
}

}  // namespace plimsoll::train
