#include "compiler/report/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "compiler/ir/names.h"
#include "compiler/report/figures.h"
#include "compiler/report/modules.h"
#include "compiler/report/table.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

constexpr size_t kReaders = 4;

class Explanation {
 public:
  Explanation(const Plan& plan, const PlanFacts& facts, bool color) : plan_(plan), facts_(facts), color_(color) {}

  std::string tensor(TensorId id) const {
    const PlanTensor& tensor = plan_.tensors[id];
    const TensorFacts& facts = facts_.tensors[id];
    Table table({{}, {.most = 86}});
    table.row({"made by", facts.maker.valid() ? task_and_layer(facts.maker) : "none: an input"});
    const std::vector<std::string> readers = readers_of(id);
    for (size_t i = 0; i < readers.size(); ++i) table.row({i == 0 ? "read by" : "", readers[i]});
    for (const size_t i : facts.residencies) table.row({"address", placed(plan_.residencies[i])});
    if (facts.fate == Fate::home) table.row({"decision", fate(id)});
    else if (facts.fate != Fate::none) {
      table.row({"gap", fmt::format("{} from {} to {}", format_seconds(gap_seconds(facts)),
                                    facts_.step_names[facts.gap_from], facts_.step_names[facts.gap_to])});
      table.row({"decision", fate(id)});
    }
    std::string text = heading(fmt::format("{}: {}, {}", shortened(spelled_tensor(tensor.name), 60),
                                           to_string(tensor.kind), format_bytes(tensor.bytes)),
                               color_);
    text += table.print(color_);
    for (const std::string& line : why(id)) text += "  " + line + "\n";
    return text;
  }

  std::string layer(const LayerFacts& layer) const {
    Table table(
        {{"task", false, 38}, {"step", true}, {"time", true}, {"algorithm", false, 14}, {"workspace", true}, {}});
    for (const TaskId task : layer.tasks)
      for (const StepId id : ids_of(plan_.steps)) {
        const Step& step = plan_.steps[id];
        if (step.kind == StepKind::compute && step.task == task)
          table.row({plan_.tasks[task].name, std::to_string(id.value), format_seconds(step.end - step.start),
                     step.algorithm.empty() ? "-" : step.algorithm, format_bytes_or_dash(step.workspace.bytes),
                     step.recompute ? "recomputed" : ""});
      }
    std::string text =
        heading(fmt::format("layer {}, {}", shortened(layer.name, 60), layer.op), color_) + table.print(color_);
    for (const TaskId task : layer.tasks) {
      const FastestAlgorithm& fastest = plan_.fastest_of(task);
      if (fastest.algorithm.empty()) continue;
      text += fmt::format("  {}: {} would take {} with {} of workspace\n", shortened(plan_.tasks[task].name, 40),
                          shortened(fastest.algorithm, 14), format_seconds(fastest.seconds),
                          format_bytes(fastest.workspace_bytes));
    }
    const std::pair<const char*, double> losses[] = {
        {"recomputed", layer.again}, {"slower algorithms", layer.slower}, {"waiting for copies", layer.waiting}};
    std::string lost;
    for (const auto& [what, seconds] : losses)
      if (seconds > 0) lost += fmt::format("{}{} {}", lost.empty() ? "" : ", ", what, format_seconds(seconds));
    text += lost.empty() ? "  the budget costs it no time\n"
                         : fmt::format("  the budget costs it {}: {}\n", format_seconds(layer.lost()), lost);
    return text;
  }

 private:
  std::string task_and_layer(TaskId id) const {
    const PlanTask& task = plan_.tasks[id];
    std::string steps;
    for (const StepId at : ids_of(plan_.steps))
      if (plan_.steps[at].kind == StepKind::compute && plan_.steps[at].task == id)
        steps += fmt::format("{}step {}{}", steps.empty() ? "" : ", ", at.value,
                             plan_.steps[at].recompute ? " (recomputed)" : "");
    return fmt::format("{} ({})", shortened(task.name, 44), shortened(steps, 36));
  }

  // A line for each of the first readers, and one that counts the others.
  std::vector<std::string> readers_of(TensorId id) const {
    std::vector<std::string> lines;
    size_t others = 0;
    for (const StepId at : facts_.tensors[id].touches) {
      const Step& step = plan_.steps[at];
      if (step.kind != StepKind::compute || !reads(plan_, step, id)) continue;
      if (lines.size() == kReaders) ++others;
      else lines.push_back(fmt::format("{} (step {})", shortened(facts_.step_names[at], 68), at.value));
    }
    if (others > 0) lines.push_back(fmt::format("and {} more", others));
    return lines;
  }

  std::string placed(const Residency& residency) const {
    if (residency.first_step < 0) return fmt::format("{:#x}, for the whole run", residency.offset);
    return fmt::format("{:#x}, {} to {}", residency.offset, moment(residency.first_step, true),
                       moment(residency.last_step, false));
  }

  // "step 13 (made)", "step 50 (offload)"
  std::string moment(int32_t at, bool begins) const {
    const StepId id(at);
    if (!plan_.steps.contains(id)) return "the end of the round";
    const Step& step = plan_.steps[id];
    const std::string_view what = step.kind != StepKind::compute ? to_string(step.kind)
                                  : !begins                      ? "last use"
                                  : step.recompute               ? "recomputed"
                                                                 : "made";
    return fmt::format("step {} ({})", at, what);
  }

  double gap_seconds(const TensorFacts& facts) const {
    return plan_.steps[facts.gap_to].start - plan_.steps[facts.gap_from].end;
  }

  std::string fate(TensorId id) const {
    const TensorFacts& facts = facts_.tensors[id];
    double copying = 0, exposed = 0, again = 0;
    for (const StepId at : facts.touches) {
      const Step& step = plan_.steps[at];
      if (step.kind != StepKind::compute) {
        copying += step.end - step.start;
        exposed += facts_.exposed[at];
      } else if (step.recompute && writes(plan_, step, id)) {
        again += step.end - step.start;
      }
    }
    switch (facts.fate) {
      case Fate::offload:
        return fmt::format("offload: {} of copying, compute waits {} for it", format_seconds(copying),
                           format_seconds(exposed));
      case Fate::recompute: return fmt::format("recompute: its task runs again, {}", format_seconds(again));
      case Fate::reload:
        return fmt::format("reload: {} of copying, compute waits {} for it", format_seconds(copying),
                           format_seconds(exposed));
      case Fate::home:
        return fmt::format("kept on the host, at {:#x} of the host pool: {} of copying, compute waits {} for it",
                           plan_.tensors[id].home_offset, format_seconds(copying), format_seconds(exposed));
      case Fate::keep: return "keep";
      case Fate::none: break;
    }
    return "";
  }

  // The maximum of live bytes in the tensor's gap if the tensor stayed on the device, and its step; if it does stay,
  // the actual maximum.
  struct Worst {
    int64_t bytes = 0;
    StepId at = {};
  };
  Worst worst_if_kept(TensorId id) const {
    const TensorFacts& facts = facts_.tensors[id];
    Worst worst;
    for (int32_t i = facts.gap_from.value + 1; i < facts.gap_to.value; ++i) {
      const StepId at(i);
      const int64_t bytes = facts_.live[at] + (residency_at(plan_, facts, at) ? 0 : plan_.tensors[id].bytes);
      if (bytes > worst.bytes) worst = {bytes, at};
    }
    return worst;
  }

  std::vector<std::string> why_it_lives_on_the_host(TensorId id) const {
    const PlanTensor& tensor = plan_.tensors[id];
    const TensorFacts& facts = facts_.tensors[id];
    Worst worst;
    for (const StepId at : ids_of(plan_.steps))
      if (const int64_t bytes = facts_.live[at] + tensor.bytes; bytes > worst.bytes && !residency_at(plan_, facts, at))
        worst = {bytes, at};
    std::vector<std::string> lines = {
        tensor.kind == TensorKind::weight
            ? "prefetched before the tasks that read it, in every round; offloaded after its update, once per iteration"
            : "prefetched before its update and offloaded after it, once per iteration"};
    if (tensor.kind == TensorKind::weight && std::none_of(facts.touches.begin(), facts.touches.end(), [&](StepId at) {
          return plan_.steps[at].kind == StepKind::offload;
        }))
      lines.front() = "prefetched before the tasks that read it, in every round; it never changes";
    if (tensor.kind == TensorKind::weight_gradient)
      lines.front() =
          "prefetched before the tasks that add to it, in every round but the first; offloaded after them, for the "
          "next round";
    if (!worst.at.valid()) return lines;
    const int64_t over = worst.bytes - plan_.budget_bytes;
    lines.push_back(fmt::format("if it stayed in the arena, {} would be live at {} (step {}), {} {} the budget",
                                format_bytes(worst.bytes), shortened(facts_.step_names[worst.at], 34), worst.at.value,
                                format_bytes(std::abs(over)), over > 0 ? "above" : "below"));
    return lines;
  }

  std::vector<std::string> why(TensorId id) const {
    const PlanTensor& tensor = plan_.tensors[id];
    const TensorFacts& facts = facts_.tensors[id];
    if (tensor.persistent) return {"persistent: it keeps its value from round to round, so it cannot leave the device"};
    if (facts.fate == Fate::home) return why_it_lives_on_the_host(id);
    if (facts.fate == Fate::none)
      return {
          "short-lived: its uses are close together, in the forward pass or in the backward pass, so there is no gap "
          "to free its memory in"};
    const Worst worst = worst_if_kept(id);
    if (!worst.at.valid()) return {"its gap is empty: the backward pass begins with it"};
    const std::string where = fmt::format("{} (step {})", shortened(facts_.step_names[worst.at], 34), worst.at.value);
    if (facts.fate != Fate::keep) return {why_it_leaves(worst, where)};
    std::vector<std::string> lines = {
        fmt::format("with it, {} are live at {}, {} below the budget", format_bytes(worst.bytes), where,
                    format_bytes(std::max<int64_t>(0, plan_.budget_bytes - worst.bytes)))};
    if (facts_.offload_rate > 0 && facts_.prefetch_rate > 0) {
      const double bytes = static_cast<double>(tensor.bytes);
      const double way = bytes / facts_.offload_rate + bytes / facts_.prefetch_rate;
      lines.push_back(fmt::format("to offload and prefetch it would take {} of its gap of {}", format_seconds(way),
                                  format_seconds(gap_seconds(facts))));
    }
    if (facts.maker.valid()) lines.push_back(to_make_again(facts.maker));
    return lines;
  }

  std::string why_it_leaves(const Worst& worst, const std::string& where) const {
    const int64_t over = worst.bytes - plan_.budget_bytes;
    if (over > 0)
      return fmt::format("if it were kept, {} would be live at {}: {} above the budget", format_bytes(worst.bytes),
                         where, format_bytes(over));
    const int64_t beyond = worst.bytes - plan_.summary.live_bytes;
    if (beyond > 0)
      return fmt::format(
          "if it were kept, {} would be live at {}: within the budget, but {} more than now, which leaves less room "
          "for fragmentation",
          format_bytes(worst.bytes), where, format_bytes(beyond));
    return fmt::format(
        "if it were kept, at most {} would be live, at {}: policy {} frees its memory although there is room",
        format_bytes(worst.bytes), where, plan_.policy);
  }

  std::string to_make_again(TaskId maker) const {
    for (const Step& step : plan_.steps)
      if (step.kind == StepKind::compute && step.task == maker && !step.recompute)
        return fmt::format("to recompute it would take {} and the inputs of {}", format_seconds(step.end - step.start),
                           shortened(plan_.tasks[maker].name, 40));
    return "";
  }

  const Plan& plan_;
  const PlanFacts& facts_;
  const bool color_;
};

// Levenshtein distance by dynamic programming on two rows.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t corner = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, corner + (a[i] != b[j])});
      corner = above;
    }
  }
  return row.back();
}

// Exporters name a layer by its module and operator, "/layer1/layer1.0/conv1/Conv" or "/features/conv0/Conv"; users by
// the module, "layer1.0.conv1", "features.conv0".
bool below_module(std::string layer, const std::string& module) {
  std::replace(layer.begin(), layer.end(), '/', '.');
  const size_t at = layer.find("." + module + ".");
  return !module.empty() && at != std::string::npos && layer.find('.', at + module.size() + 2) == std::string::npos;
}

bool stands_for(std::string_view shown, std::string_view name) {
  for (bool first = true;; first = false) {
    const size_t cut = shown.find(kLeftOut);
    const std::string_view piece = shown.substr(0, cut);
    if (cut == std::string_view::npos) return first ? name == piece : name.ends_with(piece);
    if (first && piece.empty() && !name.starts_with('/')) return false;  // only a path may lack its front
    const size_t at = name.find(piece);
    if (at == std::string_view::npos || (first && at > 0)) return false;
    name.remove_prefix(at + piece.size());
    shown.remove_prefix(cut + kLeftOut.size());
  }
}

// Everything that a name taken from a table may refer to.
std::vector<std::string> meant(const Plan& plan, const PlanFacts& facts, const std::string& shown) {
  std::set<std::string> names;
  for (const PlanTensor& tensor : plan.tensors)
    if (stands_for(shown, tensor.name)) names.insert(tensor.name);
  for (const LayerFacts& layer : facts.layers)
    if (stands_for(shown, layer.name)) names.insert(layer.name);
  return {names.begin(), names.end()};
}

}  // namespace

std::vector<std::string> nearest_names(const std::string& name, const std::vector<std::string>& names, size_t most) {
  std::vector<std::pair<size_t, const std::string*>> near;
  for (const std::string& other : names) {
    const size_t longer = other.size() > name.size() ? other.size() - name.size() : 0;
    near.emplace_back(
        !name.empty() && other.find(name) != std::string::npos ? longer : 1000 + edit_distance(name, other), &other);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> found;
  for (const auto& [distance, other] : near)
    if (found.size() < most && std::find(found.begin(), found.end(), *other) == found.end()) found.push_back(*other);
  return found;
}

Result<std::string> explain(const Plan& plan, const PlanFacts& facts, const std::string& name, bool color) {
  std::string bare = name.starts_with('%') ? name.substr(1) : name;
  if (bare.find(kLeftOut) != std::string::npos) {
    const std::vector<std::string> all = meant(plan, facts, bare);
    if (all.size() > 1) {
      std::string list;
      for (size_t i = 0; i < std::min<size_t>(5, all.size()); ++i) list += (i ? ", " : "") + spelled(all[i]);
      return Error{ExitCode::usage,
                   fmt::format("'{}' matches {} names", shortened(name, 60), all.size()),
                   {"candidates: " + list}};
    }
    if (all.size() == 1) bare = all.front();
  }
  const Explanation explanation(plan, facts, color);
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "\n") + part; };
  std::vector<std::string> names;
  for (const TensorId id : ids_of(plan.tensors)) {
    names.push_back(plan.tensors[id].name);
    if (plan.tensors[id].name == bare) add(explanation.tensor(id));
  }
  for (const LayerFacts& layer : facts.layers) {
    names.push_back(layer.name);
    if (layer.name == bare) {
      add(explanation.layer(layer));
      // A layer is mostly looked up for the tensors that it saves for backward.
      for (const TaskId task : layer.tasks)
        for (const TensorId tensor : plan.tasks[task].writes)
          if (facts.tensors[tensor].fate != Fate::none && plan.tensors[tensor].name != bare)
            add(explanation.tensor(tensor));
    }
  }
  if (text.empty()) {
    const std::vector<std::string> modules = modules_of(plan, facts);
    for (size_t layer = 0; layer < modules.size(); ++layer)
      if (below_module(facts.layers[layer].name, bare) || modules[layer] == bare ||
          facts.layers[layer].name.ends_with("/" + bare))
        add(explanation.layer(facts.layers[layer]));
  }
  if (text.empty())
    for (const TaskId id : ids_of(plan.tasks))
      if (plan.tasks[id].name == bare) add(explanation.layer(facts.layers[facts.layer_of[id]]));
  if (!text.empty()) return text;
  std::string near;
  for (const std::string& other : nearest_names(bare, names)) near += (near.empty() ? "" : ", ") + spelled(other);
  return Error{ExitCode::usage,
               fmt::format("no tensor or layer is named '{}'", shortened(name, 60)),
               {"similar names: " + near}};
}

}  // namespace plimsoll
