#include "runtime/train/predict.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "runtime/train/checkpoint.h"
#include "runtime/train/counted.h"
#include "runtime/train/feeder.h"
#include "runtime/train/machine.h"
#include "runtime/train/npy.h"
#include "runtime/train/parameters.h"
#include "runtime/train/preparation.h"
#include "runtime/train/summary.h"

namespace plimsoll::train {
namespace {

void load_weights(const Program& program, const Options& options, const std::string& model_file, ParameterPort& port) {
  init_parameters(program, options.init, model_file, port);
  if (options.resume == Resume::no) return;
  const auto none = [&] { return TrainerError(Exit::unreadable_input, "there is no checkpoint in '" + options.checkpoint + "'"); };
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
  if (!options.quiet) std::printf("%sweights of %s\n", stored->average_decay > 0 ? "averaged " : "", checkpoints.path_of(stored->iteration).c_str());
}

}  // namespace

Exit predict(const Program& program, const Options& options, const std::string& model_file) {
  const ProgramOutput& output = program.output;
  if (output.step < 0) throw TrainerError(Exit::usage, "--predict: no step of this program makes what its loss looks at");
  Dataset data = open_unlabelled(options.predict, program, options.images);
  if (data.samples == 0) throw TrainerError(Exit::invalid_model, "'" + data.name + "' has no samples");
  check_indices(data, program);
  for (const std::string& warning : data.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  OutputFile out(options.out);
  backend::start(program.threads);
  check_host_memory(program, options.spill);
  Team alone;  // one process is enough, whatever the plan is of
  Machine machine(program, alone, {.spill = options.spill, .may_record = options.graph, .overlap = options.overlap, .revalidate = options.revalidate, .only_output = true});
  if (options.revalidate && !options.quiet) std::printf("%s\n", revalidated(program, machine.as_planned()).c_str());
  if (const std::string replaced = replaced_kernels(machine.replaced_kernels()); !replaced.empty())
    std::fprintf(stderr, "%s\n", replaced.c_str());
  ParameterPort port(program, machine.arena(), machine.pool());
  load_weights(program, options, model_file, port);

  IntList dims = output.desc.dims;
  dims[0] = data.samples;
  const std::string header = npy_header(dims);
  out.write(0, reinterpret_cast<const std::byte*>(header.data()), static_cast<int64_t>(header.size()));
  Feeder feeder(program, data, false, 0, nullptr, options.feeding);
  const auto samples_at = [&](int64_t first) {
    return Samples{first, std::max<int64_t>(0, std::min(program.sub_batch, data.samples - first))};
  };
  auto at = static_cast<int64_t>(header.size());
  for (int64_t first = 0; first < data.samples; first += program.sub_batch) {
    const auto scores = std::as_bytes(machine.output_of(feeder, samples_at(first), samples_at(first + program.sub_batch)));
    out.write(at, scores.data(), static_cast<int64_t>(scores.size()));
    at += static_cast<int64_t>(scores.size());
  }
  out.commit();
  if (!options.quiet)
    std::printf("%s %s of %s: %s\n", output.name, shape_text(output.desc).c_str(), counted(data.samples, "sample").c_str(),
                options.out.c_str());
  return Exit::ok;
}

}  // namespace plimsoll::train
