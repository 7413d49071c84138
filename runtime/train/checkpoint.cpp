#include "runtime/train/checkpoint.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "runtime/train/checkpoint_files.h"
#include "runtime/train/counted.h"
#include "runtime/train/error.h"
#include "runtime/train/safetensors.h"

namespace plimsoll::train {
namespace {

constexpr const char* kPrefix = "ckpt-";
constexpr const char* kTemporary = ".tmp-";
constexpr const char* kWeights = "weights.safetensors";
constexpr const char* kState = "state.safetensors";
constexpr const char* kAverage = "average.safetensors";
constexpr const char* kManifest = "manifest.sha256";
constexpr const char* kFormat = "1";

// `average`: its sum; "" where the checkpoint has none.
std::string manifest_text(const std::string& weights, const std::string& state, const std::string& average) {
  const std::string text = weights + "  " + kWeights + "\n" + state + "  " + kState + "\n";
  return average.empty() ? text : text + average + "  " + kAverage + "\n";
}

// Throws TrainerError (unreadable_input) unless every byte is as it was written.
void check_whole(const std::string& path) {
  const std::string manifest = path + "/" + kManifest;
  if (::access(manifest.c_str(), F_OK) != 0)
    throw TrainerError(Exit::unreadable_input, "it has no " + std::string(kManifest) + ": its save was cut off");
  const InputFile file(manifest);
  std::string said(static_cast<size_t>(std::min<int64_t>(file.bytes(), 4096)), '\0');
  file.read(0, reinterpret_cast<std::byte*>(said.data()), static_cast<int64_t>(said.size()));
  const std::string average = path + "/" + kAverage;
  const bool averaged = ::access(average.c_str(), F_OK) == 0;
  const std::string is =
      manifest_text(sum_of(path + "/" + kWeights), sum_of(path + "/" + kState), averaged ? sum_of(average) : "");
  if (said != is)
    throw TrainerError(Exit::unreadable_input, "its files differ from those listed in its " + std::string(kManifest));
}

// A double as text that parses to the same bits.
std::string exact(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

}  // namespace

Checkpoints::Checkpoints(std::string directory, int64_t keep, const Program& program, ParameterPort& port,
                         dist::Pulse* pulse)
    : directory_(std::move(directory)), keep_(keep), program_(program), port_(port), pulse_(pulse) {
  while (directory_.size() > 1 && directory_.back() == '/') directory_.pop_back();
  if (::mkdir(directory_.c_str(), 0777) != 0 && errno != EEXIST) cannot_write(directory_, errno);
  take();
  for (const std::string& name : names_in(directory_))
    if (name.rfind(kTemporary, 0) == 0) remove(directory_ + "/" + name);
}

Checkpoints::~Checkpoints() {
  if (lock_ >= 0) ::close(lock_);
}

// The operating system releases the lock when the process ends, however it ends.
void Checkpoints::take() {
  lock_ = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) cannot_write(directory_, errno);
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0) return;
  const int error = errno;
  ::close(std::exchange(lock_, -1));
  if (error == EWOULDBLOCK)
    throw TrainerError(Exit::unwritable_output,
                       "'" + directory_ + "' is in use: another trainer keeps its checkpoints there");
  cannot_write(directory_, error);
}

std::string Checkpoints::path_of(int64_t iteration) const {
  std::string digits = std::to_string(iteration);
  digits.insert(0, digits.size() < 9 ? 9 - digits.size() : 0, '0');
  return directory_ + "/" + kPrefix + digits;
}

std::vector<int64_t> Checkpoints::found() const {
  std::vector<int64_t> iterations;
  for (const std::string& name : names_in(directory_)) {
    if (name.rfind(kPrefix, 0) != 0) continue;
    int64_t iteration = 0;
    const char *const begin = name.data() + std::strlen(kPrefix), *const end = name.data() + name.size();
    const auto [stopped, error] = std::from_chars(begin, end, iteration);
    if (error == std::errc() && stopped == end && path_of(iteration) == directory_ + "/" + name)
      iterations.push_back(iteration);
  }
  std::sort(iterations.rbegin(), iterations.rend());
  return iterations;
}

std::optional<Progress> Checkpoints::resume(std::vector<std::string>& passed_over, bool strict) {
  const std::vector<int64_t> iterations = found();
  for (const int64_t iteration : iterations) {
    try {
      check_whole(path_of(iteration));
    } catch (const TrainerError& error) {
      if (strict)
        throw TrainerError(Exit::invalid_model,
                           path_of(iteration) + " is damaged: " + error.what() +
                               "; --resume without =strict continues from an earlier one that is complete");
      passed_over.push_back(path_of(iteration) + ": " + error.what());
      continue;
    }
    return load(iteration);
  }
  if (iterations.empty()) return std::nullopt;
  std::string list;
  for (const std::string& line : passed_over) list += "\n  " + line;
  throw TrainerError(Exit::unreadable_input, "none of " +
                                                 counted(static_cast<int64_t>(iterations.size()), "checkpoint") +
                                                 " in '" + directory_ + "' is whole:" + list);
}

Progress Checkpoints::load(int64_t iteration) {
  const std::string path = path_of(iteration);
  const Progress progress = load_state(path + "/" + kState);
  if (progress.iteration != iteration)
    throw TrainerError(Exit::unreadable_input, "'" + path + "' holds iteration " + std::to_string(progress.iteration));
  load_weights(path + "/" + kWeights);
  saved_ = iteration;
  return progress;
}

namespace {

bool is_state(const ProgramParameter& parameter) { return parameter.role == ParameterRole::state; }

// Loads all parameters of one kind. Throws unless the file holds exactly those, with the same shapes.
void load_parameters(const InputFile& file, const Safetensors& stored, bool states, const Program& program,
                     ParameterPort& port) {
  const auto refuse = [&](const std::string& what) {
    throw TrainerError(Exit::invalid_model, "'" + file.path() + "' is of another model or optimizer: " + what);
  };
  size_t wanted = 0;
  for (const ProgramParameter& parameter : program.parameters) {
    if (is_state(parameter) != states) continue;
    ++wanted;
    const std::string name = utf8_name(parameter.name);
    const auto found = std::find_if(stored.tensors.begin(), stored.tensors.end(),
                                    [&](const StoredTensor& tensor) { return tensor.name == name; });
    if (found == stored.tensors.end()) refuse("it has no " + name);
    if (found->desc != parameter.in_files()) refuse(name + " has another shape there");
    port.write(parameter, [&](int64_t at, std::span<std::byte> values) {
      file.read(found->offset + at, values.data(), static_cast<int64_t>(values.size()));
    });
  }
  if (wanted != stored.tensors.size())
    refuse("it has " + counted(static_cast<int64_t>(stored.tensors.size()), "tensor") + ", but " +
           std::to_string(wanted) + " are wanted");
}

void write_parameters(const std::string& path, std::map<std::string, std::string> metadata, bool states,
                            const Program& program, ParameterPort& port, dist::Pulse* pulse) {
  Safetensors file{.metadata = std::move(metadata)};
  for (const ProgramParameter& parameter : program.parameters)
    if (is_state(parameter) == states) file.tensors.push_back({.name = parameter.name, .desc = parameter.in_files()});
  CheckpointFile out(path, pulse);
  out.write(safetensors_header(file));
  for (const ProgramParameter& parameter : program.parameters)
    if (is_state(parameter) == states)
      port.read(parameter, [&](int64_t, std::span<const std::byte> values) { out.write(values); });
  out.close();
}

void write_average(const std::string& path, WeightAverage& average, const Program& program, dist::Pulse* pulse) {
  Safetensors file{.metadata = {{"format", kFormat}, {"model", program.model}, {"decay", exact(average.decay())}}};
  for (const ProgramParameter& parameter : program.parameters)
    if (WeightAverage::covers(parameter))
      file.tensors.push_back({.name = parameter.name, .desc = parameter.in_files()});
  CheckpointFile out(path, pulse);
  out.write(safetensors_header(file));
  for (const ProgramParameter& parameter : program.parameters)
    if (WeightAverage::covers(parameter)) out.write(average.values(parameter));
  out.close();
}

std::map<std::string, std::string> to_metadata(const Progress& progress, const Program& program) {
  std::map<std::string, std::string> all = {{"format", kFormat},
                                            {"generator", program.generator},
                                            {"model", program.model},
                                            {"batch", std::to_string(program.batch)},
                                            {"iteration", std::to_string(progress.iteration)},
                                            {"seed", std::to_string(progress.seed)},
                                            {"shuffle", progress.shuffle ? "1" : "0"},
                                            {"data", progress.data},
                                            {"samples", std::to_string(progress.samples)},
                                            {"iterations_per_epoch", std::to_string(progress.per_epoch)},
                                            {"last_batch", progress.last_batch},
                                            {"schedule", progress.schedule},
                                            {"samples_seen", std::to_string(progress.seen)},
                                            {"loss_sum", exact(progress.loss_sum)},
                                            {"correct_sum", exact(progress.correct_sum)},
                                            {"best_iteration", std::to_string(progress.best.iteration)},
                                            {"best_by", progress.best.by_accuracy ? "accuracy" : "loss"},
                                            {"best_samples", std::to_string(progress.best.samples)},
                                            {"best_loss", exact(progress.best.loss)},
                                            {"best_accuracy", exact(progress.best.accuracy)},
                                            {"evaluations_since_best", std::to_string(progress.best.since)},
                                            {"evaluation_is_due", progress.evaluation_is_due ? "1" : "0"},
                                            {"average_decay", exact(progress.average_decay)}};
  if (const LossScaling& scaling = progress.scaling; scaling.scale > 0 || scaling.skipped > 0) {
    all["loss_scale"] = exact(scaling.scale);
    all["steps_since_scaled"] = std::to_string(scaling.good);
    all["skipped_steps"] = std::to_string(scaling.skipped);
  }
  return all;
}

Progress from_metadata(const std::map<std::string, std::string>& metadata, const std::string& path,
                       const Program& program) {
  const auto text = [&](const char* key) -> const std::string& {
    const auto found = metadata.find(key);
    if (found != metadata.end()) return found->second;
    throw TrainerError(Exit::unreadable_input, "'" + path + "' does not say its " + key);
  };
  const auto number = [&]<class T>(const char* key, T value) {
    const std::string& digits = text(key);
    const auto [stopped, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || stopped != digits.data() + digits.size() || value < T{})
      throw TrainerError(Exit::unreadable_input, "'" + path + "' says '" + digits + "' as its " + key);
    return value;
  };
  if (text("format") != kFormat)
    throw TrainerError(Exit::unreadable_input,
                       "'" + path + "' is of format " + text("format") + ", this trainer reads " + kFormat);
  if (const int64_t batch = number("batch", int64_t{}); batch != program.batch)
    throw TrainerError(Exit::invalid_model, "'" + path + "' is of a run with batch " + std::to_string(batch) +
                                                ", this trainer's is " + std::to_string(program.batch) +
                                                ": the order of the samples would be another");
  return {.iteration = number("iteration", int64_t{}),
          .seed = number("seed", uint64_t{}),
          .shuffle = text("shuffle") == "1",
          .data = text("data"),
          .samples = number("samples", int64_t{}),
          .per_epoch = number("iterations_per_epoch", int64_t{}),
          .last_batch = text("last_batch"),
          .schedule = text("schedule"),
          .seen = number("samples_seen", int64_t{}),
          .loss_sum = std::strtod(text("loss_sum").c_str(), nullptr),
          .correct_sum = std::strtod(text("correct_sum").c_str(), nullptr),
          .best = metadata.contains("best_by")  // absent in older checkpoints
                      ? Best{.iteration = number("best_iteration", int64_t{}),
                             .samples = number("best_samples", int64_t{}),
                             .loss = std::strtod(text("best_loss").c_str(), nullptr),
                             .accuracy = std::strtod(text("best_accuracy").c_str(), nullptr),
                             .by_accuracy = text("best_by") == "accuracy",
                             .since = number("evaluations_since_best", int64_t{})}
                      : Best{},
          .evaluation_is_due = metadata.contains("evaluation_is_due") && text("evaluation_is_due") == "1",
          .average_decay = metadata.contains("average_decay") ? std::strtod(text("average_decay").c_str(), nullptr) : 0,
          .scaling = metadata.contains("loss_scale")  // absent unless the run scaled its loss
                         ? LossScaling{.scale = std::strtod(text("loss_scale").c_str(), nullptr),
                                       .good = number("steps_since_scaled", int64_t{}),
                                       .skipped = number("skipped_steps", int64_t{})}
                         : LossScaling{}};
}

}  // namespace

Progress Checkpoints::load_state(const std::string& path) {
  const InputFile file(path);
  const Safetensors stored = read_safetensors(file);
  const Progress progress = from_metadata(stored.metadata, path, program_);
  load_parameters(file, stored, true, program_, port_);
  return progress;
}

void Checkpoints::load_weights(const std::string& path) {
  const InputFile file(path);
  load_parameters(file, read_safetensors(file), false, program_, port_);
}

void Checkpoints::load_average(int64_t iteration, WeightAverage& average) const {
  const InputFile file(path_of(iteration) + "/" + kAverage);
  const Safetensors stored = read_safetensors(file);
  for (const ProgramParameter& parameter : program_.parameters) {
    if (!WeightAverage::covers(parameter)) continue;
    const std::string name = utf8_name(parameter.name);
    const auto found = std::find_if(stored.tensors.begin(), stored.tensors.end(),
                                    [&](const StoredTensor& tensor) { return tensor.name == name; });
    if (found == stored.tensors.end() || found->desc != parameter.in_files())
      throw TrainerError(Exit::invalid_model, "'" + file.path() + "' is of another model: it has no " + name +
                                                  " of the same shape");
    const std::span<std::byte> values = average.values(parameter);
    file.read(found->offset, values.data(), static_cast<int64_t>(values.size()));
  }
}

bool Checkpoints::has(int64_t iteration) const { return ::access(path_of(iteration).c_str(), F_OK) == 0; }

void Checkpoints::load_evaluated(int64_t iteration) {
  const std::string path = path_of(iteration);
  try {
    check_whole(path);
  } catch (const TrainerError& error) {
    throw TrainerError(Exit::unreadable_input, "'" + path + "' is damaged: " + error.what());
  }
  load_weights(path + "/" + kWeights);
  if (::access((path + "/" + kAverage).c_str(), F_OK) != 0) return;
  WeightAverage average(program_, port_, 0);
  load_average(iteration, average);
  average.exchange();
}

void Checkpoints::write(const Progress& progress, WeightAverage* average) {
  if (progress.iteration == saved_) return;
  Written begun{.iteration = progress.iteration,
                .best = progress.best.iteration,
                .averaged = average != nullptr,
                .folder = directory_ + "/" + kTemporary + std::to_string(::getpid()) + "-" +
                          std::to_string(progress.iteration)};
  if (::mkdir(begun.folder.c_str(), 0777) != 0) cannot_write(begun.folder, errno);
  try {
    write_parameters(begun.folder + "/" + kWeights, {{"format", kFormat}, {"model", program_.model}}, false, program_,
                     port_, pulse_);
    write_parameters(begun.folder + "/" + kState, to_metadata(progress, program_), true, program_, port_, pulse_);
    if (average) write_average(begun.folder + "/" + kAverage, *average, program_, pulse_);
  } catch (...) {
    remove(begun.folder);
    throw;
  }
  written_ = std::move(begun);
}

void Checkpoints::settle() {
  if (!written_) return;
  const Written begun = *std::exchange(written_, std::nullopt);
  const std::string path = path_of(begun.iteration);
  try {
    const auto synced = [&](const char* name) {
      sync_file(begun.folder + "/" + name, pulse_);
      return sum_of(begun.folder + "/" + name, pulse_);
    };
    const std::string weights = synced(kWeights), state = synced(kState),
                      averaged = begun.averaged ? synced(kAverage) : "";
    CheckpointFile manifest(begun.folder + "/" + kManifest, pulse_);
    manifest.write(manifest_text(weights, state, averaged));
    manifest.close();
    sync_file(begun.folder + "/" + kManifest, pulse_);
    sync_directory(begun.folder, pulse_);
    // A checkpoint of this name is damaged: otherwise the run would have resumed from it.
    if (::rename(path.c_str(), (begun.folder + "-old").c_str()) != 0 && errno != ENOENT) cannot_write(path, errno);
    if (::rename(begun.folder.c_str(), path.c_str()) != 0) cannot_write(path, errno);
    sync_directory(directory_, pulse_);
  } catch (const TrainerError& error) {
    remove(begun.folder);
    remove(begun.folder + "-old");
    if (error.code == Exit::unwritable_output) throw;
    throw TrainerError(Exit::unwritable_output,
                       "cannot write '" + path + "': its files cannot be read back: " + error.what());
  }
  saved_ = begun.iteration;
  remove(begun.folder + "-old");
  drop_old(begun.iteration, begun.best);
}

// Checkpoints after `newest` are damaged ones that resume() has passed over; they do not count. Errors of listing and
// removing are ignored, because the new checkpoint is complete.
void Checkpoints::drop_old(int64_t newest, int64_t best) const {
  std::vector<int64_t> there;
  try {
    there = found();
  } catch (const TrainerError&) {
    return;
  }
  int64_t kept = 0;
  for (const int64_t iteration : there) {
    if (iteration > newest || ++kept <= keep_ || iteration == best) continue;
    const std::string going = directory_ + "/" + kTemporary + "old-" + std::to_string(iteration);
    if (::rename(path_of(iteration).c_str(), going.c_str()) == 0) remove(going);
  }
}

// Removes a checkpoint directory and the files in it.
void Checkpoints::remove(const std::string& path) const {
  for (const char* name : {kManifest, kWeights, kState, kAverage}) ::unlink((path + "/" + name).c_str());
  ::rmdir(path.c_str());
}

}  // namespace plimsoll::train
