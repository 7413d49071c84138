#include "compiler/costs/pinned.h"

#include <algorithm>

namespace plimsoll {
namespace {

class PinnedCosts final : public Costs {
 public:
  PinnedCosts(std::unique_ptr<Costs> source, AlgorithmPins pins) : source_(std::move(source)), pins_(std::move(pins)) {}

  Status prepare(const TaskGraph& graph, int64_t samples) override { return source_->prepare(graph, samples); }
  Status expect(const TaskGraph& graph, std::span<const int64_t> samples) override {
    return source_->expect(graph, samples);
  }
  std::span<const AlgorithmCost> algorithms(const Task& task, int64_t samples) const override {
    const std::span<const AlgorithmCost> all = source_->algorithms(task, samples);
    const auto pin = pins_.find(task.name);
    if (pin == pins_.end()) return all;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const AlgorithmCost& cost) { return cost.name == pin->second; });
    return found == all.end() ? all : all.subspan(static_cast<size_t>(found - all.begin()), 1);
  }
  LinkRates links() const override { return source_->links(); }
  bool measures() const override { return source_->measures(); }
  bool admits_nondeterministic() const override { return source_->admits_nondeterministic(); }

 private:
  std::unique_ptr<Costs> source_;
  AlgorithmPins pins_;
};

}  // namespace

AlgorithmPins algorithms_of(const Plan& plan) {
  AlgorithmPins pins;
  for (const Step& step : plan.steps)
    if (step.kind == StepKind::compute && !step.recompute) pins.emplace(plan.tasks[step.task].name, step.algorithm);
  return pins;
}

std::unique_ptr<Costs> pinned(std::unique_ptr<Costs> source, AlgorithmPins pins) {
  return std::make_unique<PinnedCosts>(std::move(source), std::move(pins));
}

std::vector<std::string> pins_not_kept(const Plan& plan, const AlgorithmPins& pins) {
  std::vector<std::string> tasks;
  for (const auto& [task, algorithm] : algorithms_of(plan))
    if (const auto pin = pins.find(task); pin != pins.end() && pin->second != algorithm) tasks.push_back(task);
  return tasks;
}

}  // namespace plimsoll
