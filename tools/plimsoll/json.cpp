#include "tools/plimsoll/json.h"

#include <charconv>

namespace plimsoll {
namespace {

// RFC 4180: quotes in quoted fields are doubled, and line breaks in quoted fields do not end the line.
std::vector<std::vector<std::string>> rows_of_csv(std::string_view csv) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row(1);
  bool in_quotes = false;
  for (size_t i = 0; i < csv.size(); ++i) {
    const char c = csv[i];
    if (c == '"' && in_quotes && i + 1 < csv.size() && csv[i + 1] == '"') row.back() += csv[++i];
    else if (c == '"') in_quotes = !in_quotes;
    else if (in_quotes || (c != ',' && c != '\n')) row.back() += c;
    else if (c == ',') row.emplace_back();
    else {
      rows.push_back(std::move(row));
      row = std::vector<std::string>(1);
    }
  }
  return rows;
}

// Valid JSON numbers: no plus sign, no leading zero, finite.
bool is_json_number(std::string_view text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  return failure == std::errc{} && end == text.data() + text.size() && !digits.empty() && digits[0] >= '0' &&
         digits[0] <= '9' && (digits.size() == 1 || digits[0] != '0' || digits[1] == '.' || digits[1] == 'e') &&
         text.back() != '.';
}

}  // namespace

JsonObject& JsonObject::add_text(std::string_view key, std::string_view json) {
  members_ += fmt::format("{}{}:{}", members_.empty() ? "" : ",", json_text(key), json);
  return *this;
}

std::string json_list(const std::vector<std::string>& values) {
  std::string text = "[";
  for (const std::string& value : values) text += (text.size() > 1 ? ",\n " : "") + value;
  return text + "]";
}

std::string json_of_csv(std::string_view csv) {
  const std::vector<std::vector<std::string>> rows = rows_of_csv(csv);
  std::vector<std::string> objects;
  for (size_t i = 1; i < rows.size(); ++i) {
    JsonObject object;
    for (size_t k = 0; k < rows[i].size() && k < rows[0].size(); ++k) {
      const std::string& field = rows[i][k];
      if (field.empty()) object.add_text(rows[0][k], "null");
      else if (is_json_number(field)) object.add_text(rows[0][k], field);
      else object.add(rows[0][k], field);
    }
    objects.push_back(object.text());
  }
  return json_list(objects);
}

JsonObject json_of(const Plan& plan) {
  const PlanSummary& summary = plan.summary;
  JsonObject object;
  object.add("model", plan.model_name)
      .add("batch", plan.batch)
      .add("sub_batch", plan.sub_batch)
      .add("rounds", plan.rounds);
  object.add("ranks", plan.ranks).add("target", plan.target_kind).add("device", plan.device).add("costs", plan.costs);
  object.add("policy", plan.policy).add("steps", plan.steps.size()).add("budget_bytes", plan.budget_bytes);
  object.add("arena_bytes", summary.arena_bytes)
      .add("persistent_bytes", summary.persistent_bytes)
      .add("live_bytes", summary.live_bytes);
  object.add("minimum_bytes", summary.minimum_bytes).add("unconstrained_bytes", summary.unconstrained_bytes);
  object.add("host_pool_bytes", summary.host_pool_bytes).add("offloaded_bytes", summary.offloaded_bytes);
  object.add("prefetched_bytes", summary.prefetched_bytes).add("recomputed_tasks", summary.recomputed_tasks);
  object.add("iteration_seconds", summary.iteration_seconds).add("recompute_seconds", summary.recompute_seconds);
  object.add("stall_seconds", summary.stall_seconds).add("bound_seconds", summary.bound_seconds);
  return object.add("planning_seconds", summary.planning_seconds);
}

}  // namespace plimsoll
