#include "compiler/report/plan_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "compiler/ir/fields.h"
#include "compiler/report/json_text.h"
#include "compiler/report/modules.h"
#include "compiler/report/page.h"
#include "compiler/report/robustness.h"
#include "compiler/report/verdict.h"
#include "compiler/support/bytes.h"
#include "compiler/support/json.h"

namespace plimsoll {
namespace {

// Repeated texts, by number; the empty text is 0.
class Dictionary {
 public:
  Dictionary() { number(""); }
  int64_t number(const std::string& text) {
    const auto [at, fresh] = known_.emplace(text, static_cast<int64_t>(texts_.size()));
    if (fresh) texts_.push_back(json_text(text));
    return at->second;
  }
  std::string json() const { return fmt::format("[{}]", fmt::join(texts_, ",")); }

 private:
  std::unordered_map<std::string, int64_t> known_;
  std::vector<std::string> texts_;
};

// A table of columns under construction. Differences compress well if values grow or repeat.
class Columns {
 public:
  void raw(const std::string& key, const std::string& json) {
    text_ += fmt::format("{}\"{}\":{}", text_.empty() ? "" : ",", key, json);
  }
  void plain(const std::string& key, const std::vector<int64_t>& values) {
    raw(key, fmt::format("[{}]", fmt::join(values, ",")));
  }
  void differences(const std::string& key, std::vector<int64_t> values) {
    int64_t before = 0;
    for (int64_t& value : values) before = std::exchange(value, value - before);
    plain(key + "+", values);
  }
  std::string json() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

int64_t nanoseconds(double seconds) { return std::llround(std::clamp(seconds, -1e-9, 1e8) * 1e9); }

template <class Items, class Number>
std::vector<int64_t> numbers(const Items& items, Number number) {
  std::vector<int64_t> values;
  values.reserve(items.size());
  for (const auto& item : items) values.push_back(static_cast<int64_t>(number(item)));
  return values;
}

class PageData {
 public:
  PageData(const Plan& plan, const PlanFacts& facts, const MeasuredSteps* measured)
      : plan_(plan), facts_(facts), measured_(measured) {}

  std::string run() {
    const std::string layers = this->layers(), tasks = this->tasks(), steps = this->steps();
    std::string text = fmt::format(
        "{{\"head\":{},\n\"tensors\":{},\n\"layers\":{},\n\"tasks\":{},\n\"steps\":{},\n\"blocks\":{},\n\"memory\":{}",
        head(), tensors(), layers, tasks, steps, blocks(), memory());
    if (measured_) text += fmt::format(",\n\"measured\":{}", measured());
    return text + "}";
  }

 private:
  std::string head() const {
    Json summary = Json::object();
    const auto add = [&](const char* key, const auto& value) { summary[key] = value; };
    visit_summary(plan_.summary, add);
    if (!plan_.steps.empty()) summary["robust"] = worst_of(robustness_of(plan_));
    std::string ranks;
    if (plan_.ranks > 1) {
      visit_summary_of_ranks(plan_.summary, add);
      for (const StepId id : ids_of(plan_.steps)) {
        std::vector<int32_t> bucket;
        for (const TensorId tensor : plan_.steps[id].bucket) bucket.push_back(tensor.value);
        if (!bucket.empty())
          ranks += fmt::format("{}\"{}\":[{}]", ranks.empty() ? "" : ",", id.value, fmt::join(bucket, ","));
      }
      ranks = fmt::format("\"ranks\":{},\"buckets\":{{{}}},", plan_.ranks, ranks);
    }
    std::string kinds;
    for (int kind = 0; kind <= static_cast<int>(TensorKind::stash); ++kind)
      kinds += fmt::format("{}\"{}\"", kind ? "," : "", to_string(static_cast<TensorKind>(kind)));
    return fmt::format(
        "{{{}\"generator\":{},\"verdict\":{},\"model\":{},\"batch\":{},\"sub_batch\":{},\"rounds\":{},\"last_sub_"
        "batch\":{},\"policy\":{},\"target\":{},"
        "\"device\":{},\"costs\":{},\"budget\":{},\"peak\":{},\"summary\":{},\"kinds\":[{}],\"operators\":{},"
        "\"algorithms\":{},\"suffixes\":{},\"modules\":{}}}",
        ranks, json_text(plan_.generator), json_text(verdict_of(plan_, facts_)), json_text(plan_.model_name),
        plan_.batch, plan_.sub_batch, plan_.rounds, plan_.last_sub_batch, json_text(plan_.policy),
        json_text(plan_.target_kind), json_text(plan_.device), json_text(plan_.costs),
        std::max<int64_t>(1, plan_.budget_bytes), peak_of(plan_).value, dump(summary), kinds, operators_.json(),
        algorithms_.json(), suffixes_.json(), modules_.json());
  }

  std::string tensors() const {
    Columns columns;
    std::vector<std::string> names;
    for (const PlanTensor& tensor : plan_.tensors) names.push_back(json_text(tensor.name));
    columns.raw("name", fmt::format("[{}]", fmt::join(names, ",")));
    columns.plain("bytes", numbers(plan_.tensors, [](const PlanTensor& tensor) { return tensor.bytes; }));
    columns.plain("kind", numbers(plan_.tensors, [](const PlanTensor& tensor) { return tensor.kind; }));
    columns.plain("fate", numbers(facts_.tensors, [](const TensorFacts& tensor) { return tensor.fate; }));
    return columns.json();
  }

  std::string layers() {
    Columns columns;
    std::vector<std::string> names;
    for (const LayerFacts& layer : facts_.layers) names.push_back(json_text(layer.name));
    columns.raw("name", fmt::format("[{}]", fmt::join(names, ",")));
    columns.plain("op", numbers(facts_.layers, [&](const LayerFacts& layer) { return operators_.number(layer.op); }));
    columns.plain("algorithm",
                  numbers(facts_.layers, [&](const LayerFacts& layer) { return algorithms_.number(layer.algorithm); }));
    columns.plain("module", numbers(modules_of(plan_, facts_),
                                    [&](const std::string& module) { return modules_.number(module); }));
    const auto add = [&](const char* key, auto field) { columns.plain(key, numbers(facts_.layers, field)); };
    add("forward", [](const LayerFacts& layer) { return nanoseconds(layer.forward); });
    add("backward", [](const LayerFacts& layer) { return nanoseconds(layer.backward); });
    add("again", [](const LayerFacts& layer) { return nanoseconds(layer.again); });
    add("lost", [](const LayerFacts& layer) { return nanoseconds(layer.lost()); });
    add("outputs", [](const LayerFacts& layer) { return layer.outputs; });
    add("kept", [](const LayerFacts& layer) { return layer.kept; });
    add("offloaded", [](const LayerFacts& layer) { return layer.offloaded; });
    add("recomputed", [](const LayerFacts& layer) { return layer.recomputed; });
    add("workspace", [](const LayerFacts& layer) { return layer.workspace; });
    return columns.json();
  }

  // Most tasks are named after their layer with a suffix: "conv1.forward".
  std::string tasks() {
    Columns columns;
    std::vector<std::string> names;
    std::vector<int64_t> suffix, base;
    for (const TaskId id : ids_of(plan_.tasks)) {
      const PlanTask& task = plan_.tasks[id];
      const std::string prefix = facts_.layers[facts_.layer_of[id]].name + ".";
      const bool usual = task.name.starts_with(prefix);
      names.push_back(usual ? "\"\"" : json_text(task.name));
      suffix.push_back(usual ? suffixes_.number(task.name.substr(prefix.size())) : 0);
      base.push_back(!task.writes.empty()  ? task.writes.front().value
                     : !task.reads.empty() ? task.reads.front().value
                                           : 0);
    }
    columns.raw("name", fmt::format("[{}]", fmt::join(names, ",")));
    columns.plain("suffix", suffix);
    columns.differences("layer", numbers(facts_.layer_of, [](size_t layer) { return layer; }));
    columns.plain("kind", numbers(plan_.tasks, [](const PlanTask& task) { return task.kind; }));
    columns.differences("base", base);
    columns.raw("reads", lists(base, &PlanTask::reads));
    columns.raw("writes", lists(base, &PlanTask::writes));
    columns.raw("updates", lists(base, &PlanTask::updates));
    return columns.json();
  }

  std::string lists(const std::vector<int64_t>& base, std::vector<TensorId> PlanTask::*list) const {
    Columns columns;
    std::vector<int64_t> items;
    for (const TaskId id : ids_of(plan_.tasks))
      for (const TensorId tensor : plan_.tasks[id].*list)
        items.push_back(base[static_cast<size_t>(id.value)] - tensor.value);
    columns.plain("counts", numbers(plan_.tasks, [&](const PlanTask& task) { return (task.*list).size(); }));
    columns.plain("items", items);
    return columns.json();
  }

  std::string steps() {
    Columns columns;
    columns.plain("kind", numbers(plan_.steps, [](const Step& step) { return step.kind; }));
    columns.plain("stream", numbers(plan_.steps, [](const Step& step) { return step.stream; }));
    columns.differences("of", numbers(plan_.steps, [](const Step& step) {
                          return step.kind == StepKind::compute ? step.task.value : step.tensor.value;
                        }));
    columns.plain("again", numbers(plan_.steps, [](const Step& step) { return step.recompute; }));
    columns.plain("algorithm",
                  numbers(plan_.steps, [&](const Step& step) { return algorithms_.number(step.algorithm); }));
    columns.plain("workspace", numbers(plan_.steps, [](const Step& step) { return step.workspace.bytes; }));
    columns.plain("workspaceOffset", numbers(plan_.steps, [](const Step& step) {
                    return step.workspace.bytes > 0 ? step.workspace.offset : 0;
                  }));
    columns.differences("start", numbers(plan_.steps, [](const Step& step) { return nanoseconds(step.start); }));
    columns.plain("length", numbers(plan_.steps, [](const Step& step) {
                    return std::max<int64_t>(0, nanoseconds(step.end) - nanoseconds(step.start));
                  }));
    columns.plain("exposed", numbers(facts_.exposed, [](double seconds) { return nanoseconds(seconds); }));
    return columns.json();
  }

  std::string blocks() const {
    Columns columns;
    columns.differences("tensor",
                        numbers(plan_.residencies, [](const Residency& residency) { return residency.tensor.value; }));
    columns.plain("offset", numbers(plan_.residencies, [](const Residency& residency) { return residency.offset; }));
    columns.differences("first",
                        numbers(plan_.residencies, [](const Residency& residency) { return residency.first_step; }));
    columns.plain("span", numbers(plan_.residencies, [](const Residency& residency) {
                    return residency.last_step - residency.first_step;
                  }));
    return columns.json();
  }

  std::string memory() const {
    Columns columns;
    const auto itself = [](int64_t bytes) { return bytes; };
    columns.differences("live", numbers(facts_.live, itself));
    columns.differences("floor", numbers(facts_.floor, itself));
    columns.differences("keepAll", numbers(facts_.keep_all, itself));
    return columns.json();
  }

  std::string measured() const {
    Columns columns;
    columns.differences(
        "start", numbers(measured_->start, [](double seconds) { return seconds < 0 ? -1 : nanoseconds(seconds); }));
    columns.differences(
        "end", numbers(measured_->end, [](double seconds) { return seconds < 0 ? -1 : nanoseconds(seconds); }));
    std::vector<double> layer(facts_.layers.size(), 0);
    for (const StepId id : ids_of(plan_.steps)) {
      const Step& step = plan_.steps[id];
      if (step.kind == StepKind::compute && measured_->start[id] >= 0)
        layer[facts_.layer_of[step.task]] += measured_->end[id] - measured_->start[id];
    }
    columns.plain("layer", numbers(layer, [](double seconds) { return nanoseconds(seconds); }));
    return columns.json();
  }

  const Plan& plan_;
  const PlanFacts& facts_;
  const MeasuredSteps* const measured_;
  Dictionary operators_, algorithms_, suffixes_, modules_;
};

}  // namespace

std::string plan_page_data(const Plan& plan, const PlanFacts& facts, const MeasuredSteps* measured) {
  return PageData(plan, facts, measured).run();
}

std::string plan_page(const Plan& plan, const PlanFacts& facts, const MeasuredSteps* measured) {
  return assemble_page(
      {.title = fmt::format("Memory plan of {} in {}", plan.model_name, format_bytes(plan.budget_bytes)),
       .body = std::string(page_source("plan.html")),
       .styles = {"page.css", "plan.css"},
       .scripts = {"units.js", "data.js", "page.js", "figure.js", "marks.js", "layers.js", "head.js", "view.js",
                   "plan.js"},
       .data = pack(plan_page_data(plan, facts, measured))});
}

}  // namespace plimsoll
