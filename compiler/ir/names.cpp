#include "compiler/ir/names.h"

#include <fmt/format.h>

#include <array>
#include <unordered_map>

#include "compiler/support/text_cursor.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 5> kPrefixes = {"recompute:", "offload:", "prefetch:", "load:", "reduce:"};

bool needs_quotes(std::string_view name) {
  if (name.empty() || name == "->") return true;
  for (char c : name)
    if (!is_bare(c)) return true;
  for (std::string_view prefix : kPrefixes)
    if (name.substr(0, prefix.size()) == prefix) return true;
  return false;
}

}  // namespace

std::string spelled(std::string_view name) {
  if (!needs_quotes(name)) return std::string(name);
  std::string text = "\"";
  for (char c : name) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') (text += '\\') += c;
    else if (byte < 0x20 || byte == 0x7f) text += fmt::format("\\x{:02x}", byte);
    else text += c;
  }
  return text + "\"";
}

std::string spelled_tensor(std::string_view name) { return "%" + spelled(name); }

IdVector<StepId, std::string> step_names(const Plan& plan) {
  IdVector<StepId, std::string> names;
  names.reserve(plan.steps.size());
  std::unordered_map<std::string, int> taken;
  for (const Step& step : plan.steps) {
    std::string name;
    if (step.kind == StepKind::compute)
      name = (step.recompute ? "recompute:" : "") +
             (plan.tasks.contains(step.task) ? spelled(plan.tasks[step.task].name) : std::string("?"));
    else
      name =
          fmt::format("{}:{}", to_string(step.kind),
                      plan.tensors.contains(step.tensor) ? spelled(plan.tensors[step.tensor].name) : std::string("?"));
    const int times = ++taken[name];
    if (times > 1) name += fmt::format("~{}", times);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace plimsoll
