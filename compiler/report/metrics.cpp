#include "compiler/report/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "compiler/support/json.h"

namespace plimsoll {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// The numbers of one line by name. A value that is not a number, such as the loss of a diverged run, is NaN.
using MetricsNumbers = std::map<std::string, double, std::less<>>;

double number_of(const MetricsNumbers& numbers, std::string_view name) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? kNothing : found->second;
}
int64_t whole_of(const MetricsNumbers& numbers, std::string_view name) {
  const double number = number_of(numbers, name);
  return number >= 0 && number < 9e18 ? static_cast<int64_t>(number) : 0;
}

bool numbers_of_json(std::string_view line, MetricsNumbers& numbers) {
  const Json json = json_or_null(line);
  if (!json.is_object()) return false;
  for (const auto& [key, value] : json.items()) numbers[key] = value.is_number() ? value.get<double>() : kNothing;
  return true;
}

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  for (size_t from = 0; from <= line.size();) {
    const size_t to = std::min(line.find(',', from), line.size());
    fields.emplace_back(line.substr(from, to - from));
    from = to + 1;
  }
  return fields;
}

bool numbers_of_csv(std::string_view line, const std::vector<std::string>& head, MetricsNumbers& numbers) {
  const std::vector<std::string> fields = fields_of(line);
  if (fields.size() != head.size()) return false;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].empty()) continue;
    char* end = nullptr;
    const double number = std::strtod(fields[i].c_str(), &end);
    if (*end != '\0') return false;
    numbers[head[i]] = number;
  }
  return true;
}

void add_numbers(TrainingRun& run, const MetricsNumbers& numbers) {
  const int64_t iteration = whole_of(numbers, "iteration");
  if (numbers.contains("eval_loss") || numbers.contains("eval_accuracy")) {
    run.evaluations.push_back({iteration, whole_of(numbers, "eval_samples"), number_of(numbers, "eval_loss"),
                               number_of(numbers, "eval_accuracy")});
    return;
  }
  run.lines.push_back({.iteration = iteration,
                       .epoch = whole_of(numbers, "epoch"),
                       .samples = whole_of(numbers, "samples"),
                       .loss = number_of(numbers, "loss"),
                       .accuracy = number_of(numbers, "accuracy"),
                       .learning_rate = number_of(numbers, "lr"),
                       .seconds = number_of(numbers, "seconds"),
                       .stall_seconds = number_of(numbers, "stall_seconds")});
  run.resident_bytes.push_back(whole_of(numbers, "resident_peak_bytes"));
  run.arena_planned_bytes = whole_of(numbers, "arena_planned_bytes");
  run.arena_allocated_bytes = whole_of(numbers, "arena_allocated_bytes");
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t from = 0; from <= path.size();) {
    const size_t to = std::min(path.find('/', from), path.size());
    if (to > from && path.substr(from, to - from) != ".") parts.push_back(path.substr(from, to - from));
    from = to + 1;
  }
  for (const char* ending : {".jsonl", ".csv", ".json"})
    if (!parts.empty() && parts.back().ends_with(ending)) {
      parts.back() = parts.back().substr(0, parts.back().rfind('.'));
      break;
    }
  if (parts.size() > 1 && parts.back() == "metrics") parts.pop_back();
  return parts;
}

}  // namespace

Result<TrainingRun> read_metrics(std::string_view text, std::string name) {
  TrainingRun run{.name = std::move(name)};
  std::vector<std::string> head;
  int64_t place = 0;
  for (size_t from = 0; from < text.size();) {
    const size_t newline = text.find('\n', from), to = std::min(newline, text.size());
    std::string_view line = text.substr(from, to - from);
    if (line.ends_with('\r')) line.remove_suffix(1);
    from = to + 1;
    ++place;
    if (line.empty()) continue;
    if (place == 1 && line.starts_with("iteration,")) {
      head = fields_of(line);
      continue;
    }
    MetricsNumbers numbers;
    const bool read = head.empty() ? numbers_of_json(line, numbers) : numbers_of_csv(line, head, numbers);
    if (read && numbers.contains("iteration")) add_numbers(run, numbers);
    else if (newline != std::string_view::npos)
      return Error{ExitCode::unreadable_input,
                   fmt::format("{}: line {} contains no metrics", run.name, place),
                   {"a trainer writes them: train --metrics FILE.jsonl"}};
  }
  if (run.lines.empty())
    return Error{ExitCode::unreadable_input,
                 fmt::format("{} contains no iterations", run.name),
                 {"a trainer writes them: train --metrics FILE.jsonl"}};
  return run;
}

std::vector<std::string> run_names(const std::vector<std::string>& paths) {
  std::vector<std::vector<std::string>> parts;
  size_t most = 1;
  for (const std::string& path : paths) {
    parts.push_back(parts_of(path));
    most = std::max(most, parts.back().size());
  }
  // As many trailing directories as are needed to distinguish the runs.
  for (size_t count = 1; count <= most; ++count) {
    std::vector<std::string> names;
    for (const std::vector<std::string>& of : parts) {
      std::string name;
      for (size_t i = of.size() - std::min(count, of.size()); i < of.size(); ++i)
        name += (name.empty() ? "" : "/") + of[i];
      names.push_back(name);
    }
    std::vector<std::string> apart = names;
    std::sort(apart.begin(), apart.end());
    if (std::adjacent_find(apart.begin(), apart.end()) == apart.end()) return names;
  }
  return paths;
}

}  // namespace plimsoll
