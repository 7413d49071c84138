#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/train/error.h"
#include "runtime/train/reporter.h"

namespace plimsoll::train {
namespace {

constexpr const char* kHead =
    "iteration,epoch,loss,correct,accuracy,samples,lr,seconds,samples_per_second,stall_seconds,moved_bytes,"
    "arena_planned_bytes,arena_allocated_bytes,resident_peak_bytes,eval_loss,eval_accuracy,eval_samples";
constexpr const char* kHeadOfScaling = ",loss_scale,skipped_steps";  // of a trainer in fp16

// The iteration of a line, which is its first number; -1: none.
int64_t iteration_of(const char* line) {
  const char* const digit = std::strpbrk(line, "0123456789");
  return digit ? std::strtoll(digit, nullptr, 10) : -1;
}

}  // namespace

Metrics::Metrics(std::string path, const Program& program)
    : path_(std::move(path)),
      file_(std::fopen(path_.c_str(), "a+")),
      csv_(path_.ends_with(".csv")),
      scales_(program.scales_loss),
      planned_bytes_(program.arena_bytes) {
  if (!file_)
    throw TrainerError(Exit::unwritable_output, "cannot write '" + path_ + "': " + std::strerror(errno));
}

Metrics::Metrics(Metrics&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, nullptr)),
      csv_(other.csv_),
      scales_(other.scales_),
      planned_bytes_(other.planned_bytes_),
      allocated_bytes_(other.allocated_bytes_) {}

Metrics::~Metrics() {
  if (file_) std::fclose(file_);
}

void Metrics::start_at(int64_t iteration) {
  long kept = 0;
  if (iteration > 0) {
    char* line = nullptr;
    size_t room = 0;
    std::rewind(file_);
    for (ssize_t length; (length = ::getline(&line, &room, file_)) > 0 && line[length - 1] == '\n';) {
      if (iteration_of(line) >= iteration) break;
      kept = std::ftell(file_);
    }
    std::free(line);
  }
  std::fflush(file_);
  // A pipe cannot be cut.
  if (::ftruncate(::fileno(file_), kept) != 0) kept = 0;
  std::fseek(file_, 0, SEEK_END);
  if (csv_ && kept == 0) std::fprintf(file_, "%s%s\n", kHead, scales_ ? kHeadOfScaling : "");
  std::fflush(file_);
}

void Metrics::field(const char* name) {
  if (!first_field_) std::fputc(',', file_);
  else if (!csv_) std::fputc('{', file_);
  first_field_ = false;
  if (!csv_) std::fprintf(file_, "\"%s\":", name);
}

void Metrics::nothing(const char* name) {
  if (csv_) field(name);
}

void Metrics::number(const char* name, double value) {
  field(name);
  if (std::isfinite(value)) std::fprintf(file_, "%.9g", value);
  else if (!csv_) std::fputs("null", file_);  // JSON has no NaN
  else std::fprintf(file_, "%g", value);
}

void Metrics::whole(const char* name, int64_t value) {
  field(name);
  std::fprintf(file_, "%lld", static_cast<long long>(value));
}

void Metrics::end_line() {
  std::fputs(csv_ ? "\n" : "}\n", file_);
  std::fflush(file_);
  first_field_ = true;
}

void Metrics::iteration(const IterationResult& result) {
  const auto samples = static_cast<double>(result.samples);
  whole("iteration", result.iteration);
  whole("epoch", result.epoch);
  number("loss", result.loss);
  if (result.correct >= 0) {
    number("correct", result.correct);  // of mixed labels, shares are correct
    number("accuracy", result.correct / static_cast<double>(std::max<int64_t>(1, result.labels)));
  } else {
    nothing("correct");
    nothing("accuracy");
  }
  whole("samples", result.samples);
  number("lr", result.learning_rate);
  number("seconds", result.seconds);
  number("samples_per_second", samples / std::fmax(result.seconds, 1e-9));
  number("stall_seconds", result.stall_seconds);
  whole("moved_bytes", result.moved_bytes);
  whole("arena_planned_bytes", planned_bytes_);
  whole("arena_allocated_bytes", allocated_bytes_);
  whole("resident_peak_bytes", peak_resident_bytes());
  for (const char* name : {"eval_loss", "eval_accuracy", "eval_samples"}) nothing(name);
  if (scales_) {
    number("loss_scale", result.loss_scale);
    whole("skipped_steps", result.skipped_steps);
  }
  end_line();
}

void Metrics::evaluation(int64_t iteration, int64_t epoch, const Evaluation& result) {
  whole("iteration", iteration);
  whole("epoch", epoch);
  for (const char* name :
       {"loss", "correct", "accuracy", "samples", "lr", "seconds", "samples_per_second", "stall_seconds", "moved_bytes",
        "arena_planned_bytes", "arena_allocated_bytes", "resident_peak_bytes"})
    nothing(name);
  number("eval_loss", result.loss);
  if (result.accuracy >= 0) number("eval_accuracy", result.accuracy);
  else nothing("eval_accuracy");
  whole("eval_samples", result.samples);
  if (scales_)
    for (const char* name : {"loss_scale", "skipped_steps"}) nothing(name);
  end_line();
}

void Metrics::close() {
  if (!file_) return;
  const bool good = std::fflush(file_) == 0 && !std::ferror(file_);
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  if (!good || !closed)
    throw TrainerError(Exit::unwritable_output, "cannot write '" + path_ + "': the disk may be full");
}

}  // namespace plimsoll::train
