#include "compiler/report/run_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "compiler/report/figures.h"
#include "compiler/report/json_text.h"
#include "compiler/report/page.h"
#include "compiler/report/policy_pages.h"
#include "compiler/report/table.h"
#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

constexpr size_t kRunPoints = 3000;  // per run in the page

std::string json_number(double value) { return std::isfinite(value) ? fmt::format("{:.6g}", value) : "null"; }

// The mean of each group of adjacent values, ignoring NaN.
std::string averaged(size_t count, size_t group, const std::function<double(size_t)>& value) {
  std::string text;
  for (size_t from = 0; from < count; from += group) {
    double sum = 0;
    int64_t numbers = 0;
    for (size_t i = from; i < std::min(count, from + group); ++i)
      if (const double one = value(i); std::isfinite(one)) sum += one, ++numbers;
    text += (text.empty() ? "" : ",") + (numbers > 0 ? json_number(sum / static_cast<double>(numbers)) : "null");
  }
  return "[" + text + "]";
}

std::string json_of(const TrainingRun& run) {
  const std::vector<MetricsLine>& lines = run.lines;
  const size_t count = lines.size(), group = (count + kRunPoints - 1) / kRunPoints;
  std::vector<double> elapsed;
  double sum = 0;
  for (const MetricsLine& line : lines) elapsed.push_back(sum += std::isfinite(line.seconds) ? line.seconds : 0);
  std::string text = fmt::format("{{\"name\":{},\"iterations\":{},\"averaged\":{},\"planned\":{},\"allocated\":{}",
                                 json_text(run.name), count, group, run.arena_planned_bytes, run.arena_allocated_bytes);
  const auto column = [&](const char* name, const std::function<double(size_t)>& value) {
    text += fmt::format(",\"{}\":{}", name, averaged(count, group, value));
  };
  column("iteration", [&](size_t i) { return static_cast<double>(lines[i].iteration); });
  column("elapsed", [&](size_t i) { return elapsed[i]; });
  column("loss", [&](size_t i) { return lines[i].loss; });
  column("accuracy", [&](size_t i) { return lines[i].accuracy; });
  column("rate", [&](size_t i) { return lines[i].learning_rate; });
  column("speed", [&](size_t i) {
    return lines[i].seconds > 0 ? static_cast<double>(lines[i].samples) / lines[i].seconds : NAN;
  });
  column("resident",
         [&](size_t i) { return run.resident_bytes[i] > 0 ? static_cast<double>(run.resident_bytes[i]) : NAN; });
  std::string iterations, times, losses, accuracies;
  for (const MetricsEvaluation& evaluation : run.evaluations) {
    const char* const comma = iterations.empty() ? "" : ",";
    // An evaluation takes the time of the iteration before it.
    const auto after = std::upper_bound(lines.begin(), lines.end(), evaluation.iteration,
                                        [](int64_t at, const MetricsLine& line) { return at < line.iteration; });
    iterations += fmt::format("{}{}", comma, evaluation.iteration);
    times += comma + json_number(after == lines.begin() ? 0 : elapsed[static_cast<size_t>(after - lines.begin()) - 1]);
    losses += comma + json_number(evaluation.loss);
    accuracies += comma + json_number(evaluation.accuracy);
  }
  return text +
         fmt::format(",\"evaluations\":{{\"iteration\":[{}],\"elapsed\":[{}],\"loss\":[{}],\"accuracy\":[{}]}}}}",
                     iterations, times, losses, accuracies);
}

std::string accuracy_text(double share) { return fmt::format("{:.2f}%", 100 * share); }

// "digits: test accuracy 97.50%, loss 0.0823 after 132 iterations, 412 samples/s."
std::string verdict_of_run(const TrainingRun& run) {
  const RunFigures figures = run_figures(run);
  std::string text = run.name + ": ";
  if (std::isfinite(figures.best_accuracy))
    text += fmt::format("best test accuracy {}, ", accuracy_text(figures.best_accuracy));
  else if (std::isfinite(figures.best_loss)) text += fmt::format("best test loss {:.4g}, ", figures.best_loss);
  text += std::isfinite(figures.loss) ? fmt::format("loss {:.4g}", figures.loss) : "the loss is not a number";
  text += fmt::format(" after {}", counted(static_cast<int64_t>(run.lines.size()), "iteration"));
  if (std::isfinite(figures.samples_per_second)) text += fmt::format(", {:.0f} samples/s", figures.samples_per_second);
  return text + ".";
}

std::string verdict_of_runs(const std::vector<TrainingRun>& runs) {
  if (runs.size() == 1) return verdict_of_run(runs.front());
  const TrainingRun* best = nullptr;
  double most = NAN;
  for (const TrainingRun& run : runs)
    if (const double accuracy = run_figures(run).best_accuracy; std::isfinite(accuracy) && !(accuracy <= most))
      best = &run, most = accuracy;
  if (best != nullptr)
    return fmt::format("{}. {} has the best test accuracy: {}.", counted(static_cast<int64_t>(runs.size()), "run"),
                       best->name, accuracy_text(most));
  for (const TrainingRun& run : runs)
    if (const double loss = run_figures(run).loss; std::isfinite(loss) && !(loss >= most)) best = &run, most = loss;
  return best == nullptr ? "No run has a loss that is a number."
                         : fmt::format("{}. {} has the lowest loss: {:.4g}.",
                                       counted(static_cast<int64_t>(runs.size()), "run"), best->name, most);
}

}  // namespace

RunFigures run_figures(const TrainingRun& run) {
  RunFigures figures;
  double sum = 0, samples = 0;
  int64_t numbers = 0;
  for (size_t i = run.lines.size() - std::max<size_t>(1, run.lines.size() / 20); i < run.lines.size(); ++i)
    if (std::isfinite(run.lines[i].loss)) sum += run.lines[i].loss, ++numbers;
  if (numbers > 0) figures.loss = sum / static_cast<double>(numbers);
  for (const MetricsEvaluation& evaluation : run.evaluations) {
    figures.best_accuracy = std::fmax(figures.best_accuracy, evaluation.accuracy);
    figures.best_loss = std::fmin(figures.best_loss, evaluation.loss);
  }
  for (const MetricsLine& line : run.lines)
    if (std::isfinite(line.seconds)) figures.seconds += line.seconds, samples += static_cast<double>(line.samples);
  if (figures.seconds > 0) figures.samples_per_second = samples / figures.seconds;
  for (const int64_t bytes : run.resident_bytes) figures.resident_bytes = std::max(figures.resident_bytes, bytes);
  return figures;
}

std::string report_runs(const std::vector<TrainingRun>& runs, bool color) {
  Table table({{"run", false, 28},
               {"iterations", true},
               {"loss", true},
               {"test accuracy", true},
               {"time", true},
               {"samples/s", true},
               {"arena", true},
               {"process", true}});
  for (const TrainingRun& run : runs) {
    const RunFigures figures = run_figures(run);
    table.row({run.name, format_grouped(static_cast<int64_t>(run.lines.size())),
               std::isfinite(figures.loss) ? fmt::format("{:.4g}", figures.loss) : "not a number",
               std::isfinite(figures.best_accuracy) ? accuracy_text(figures.best_accuracy) : "-",
               format_seconds(figures.seconds),
               std::isfinite(figures.samples_per_second) ? fmt::format("{:.1f}", figures.samples_per_second) : "-",
               format_bytes_or_dash(run.arena_allocated_bytes), format_bytes_or_dash(figures.resident_bytes)});
  }
  return table.print(color) + "\nloss: mean of the last 5 %; test accuracy: best; process: largest resident size\n";
}

std::string run_page(const std::vector<TrainingRun>& runs) {
  std::string data;
  for (const TrainingRun& run : runs) data += (data.empty() ? "" : ",\n") + json_of(run);
  const std::string title = runs.size() == 1 ? fmt::format("Training of {}", runs.front().name) : "Training runs";
  return assemble_page(
      {.title = title,
       .body = page_header(title, html_escaped(verdict_of_runs(runs)), "") + std::string(page_source("runs.html")),
       .styles = {"page.css", "runs.css"},
       .scripts = {"units.js", "page.js", "runs.js"},
       .data = pack("{\"runs\":[" + data + "]}")});
}

}  // namespace plimsoll
