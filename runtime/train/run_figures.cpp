#include "runtime/train/run_figures.h"

#include <cmath>
#include <cstdio>

namespace plimsoll::train {
namespace {

class Object {
 public:
  Object& text(const char* name, const std::string& value) {
    std::string quoted = "\"";
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      char escaped[8];
      if (c == '"' || c == '\\') (quoted += '\\') += c;
      else if (byte < 0x20) std::snprintf(escaped, sizeof escaped, "\\u%04x", byte), quoted += escaped;
      else quoted += c;
    }
    return add(name, quoted + "\"");
  }
  // null if empty
  Object& path(const char* name, const std::string& value) {
    return value.empty() ? add(name, "null") : text(name, value);
  }
  Object& whole(const char* name, int64_t value) { return add(name, std::to_string(value)); }
  Object& truth(const char* name, bool value) { return add(name, value ? "true" : "false"); }
  Object& number(const char* name, double value, bool known = true) {
    if (!known || !std::isfinite(value)) return add(name, "null");  // JSON has no NaN
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.9g", value);
    return add(name, digits);
  }
  std::string done() const { return "{" + members_ + "}"; }

 private:
  Object& add(const char* name, const std::string& value) {
    members_ += (members_.empty() ? "\"" : ",\"") + std::string(name) + "\":" + value;
    return *this;
  }
  std::string members_;
};

}  // namespace

std::string as_json(const Program& program, const RunFigures& run) {
  const Evaluation& test = run.evaluation;
  const bool has_best = run.best_by != Metric::none && run.best.iteration > 0;
  return Object()
      .text("model", program.model)
      .whole("batch", program.batch)
      .whole("rounds", program.rounds)
      .whole("ranks", program.ranks)
      .whole("iterations", run.iterations)
      .whole("epoch", run.epoch)
      .number("loss", run.loss)
      .number("accuracy", run.accuracy, run.accuracy >= 0)
      .number("eval_loss", test.loss, test.samples > 0)
      .number("eval_accuracy", test.accuracy, test.samples > 0 && test.accuracy >= 0)
      .whole("eval_samples", test.samples)
      .number("best_iteration", static_cast<double>(run.best.iteration), has_best)
      .number("best_loss", run.best.loss, has_best && run.best_by == Metric::loss)
      .number("best_accuracy", run.best.accuracy, has_best && run.best_by == Metric::accuracy)
      .truth("stopped_early", run.stopped_early)
      .truth("interrupted", run.interrupted)
      .number("iteration_seconds", run.median_seconds, run.median_seconds > 0)
      .number("predicted_seconds", program.predicted_seconds, program.predicted_seconds > 0)
      .whole("budget_bytes", program.budget_bytes)
      .whole("arena_planned_bytes", program.arena_bytes)
      .whole("arena_allocated_bytes", run.allocated_bytes)
      .whole("host_pool_bytes", program.host_pool_bytes)
      .whole("resident_peak_bytes", peak_resident_bytes())
      .path("saved", run.saved)
      .path("checkpoint", run.checkpoint)
      .done();
}

std::string prediction_as_json(const Program& program, int64_t samples, const std::string& file) {
  return Object()
      .text("model", program.model)
      .text("output", program.output.name)
      .whole("samples", samples)
      .text("file", file)
      .done();
}

}  // namespace plimsoll::train
