#include "compiler/ir/plan_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "compiler/ir/fields.h"
#include "compiler/ir/json_reader.h"

namespace plimsoll {
namespace {

// ---------------------------------------------------------------------------------------------------- writing

template <class IdType>
void write_ids(JsonText& json, std::string_view key, const std::vector<IdType>& list) {
  json.key(key).begin_array();
  for (const IdType id : list) json.value(id.value);
  json.end_array();
}

void write(JsonText& json, int64_t id, const PlanTensor& tensor) {
  json.begin_object().field("id", id).field("name", tensor.name).field("bytes", tensor.bytes);
  json.field("kind", to_string(tensor.kind));
  if (is_stated_type(tensor.reduced)) json.field("type", name_of(tensor.reduced));
  if (tensor.at_home_on_host()) json.field("home_offset", tensor.home_offset);
  if (tensor.slice_of.valid()) json.field("slice_of", tensor.slice_of.value).field("slice_begin", tensor.slice_begin);
  json.end_object();
}

void write(JsonText& json, int64_t id, const Plan& plan, const PlanTask& task) {
  json.begin_object().field("id", id).field("name", task.name).field("op", task.op);
  json.field("kind", to_string(task.kind)).field("layer", task.layer);
  write_ids(json, "reads", task.reads);
  write_ids(json, "writes", task.writes);
  write_ids(json, "updates", task.updates);
  json.key("in_place").begin_array();
  for (const Task::InPlace& pair : task.in_place)
    json.begin_array().value(pair.read.value).value(pair.written.value).end_array();
  json.end_array().field("flops", task.flops).field("bytes_moved", task.bytes_moved);
  if (!task.remembers.empty()) write_ids(json, "remembers", task.remembers);
  if (const FastestAlgorithm& fastest = plan.fastest_of(TaskId(id)); !fastest.algorithm.empty())
    json.key("fastest")
        .begin_object()
        .field("algorithm", fastest.algorithm)
        .field("workspace_bytes", fastest.workspace_bytes)
        .field("seconds", fastest.seconds)
        .end_object();
  if (const auto needs = plan.needs_of(TaskId(id)); !needs.empty()) {
    json.key("needs").begin_array();
    for (const WorkspaceNeed& need : needs) {
      json.begin_object().field("algorithm", need.algorithm).field("workspace_bytes", need.workspace_bytes);
      if (need.recompute) json.field("recompute", true);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
}

// A copy between the arena and a host residence, which some rounds leave out.
bool is_of_residence(const Plan& plan, const Step& step) {
  return (step.kind == StepKind::offload || step.kind == StepKind::prefetch) &&
         plan.tensors[step.tensor].at_home_on_host();
}

void write_workspace(JsonText& json, const Block& workspace) {
  json.key("workspace").begin_object().field("offset", workspace.offset).field("bytes", workspace.bytes).end_object();
}

void write(JsonText& json, int64_t id, const Plan& plan, const Step& step) {
  json.begin_object().field("id", id).field("stream", to_string(step.stream)).field("kind", to_string(step.kind));
  if (step.kind == StepKind::compute) {
    json.field("task", step.task.value).field("recompute", step.recompute).field("algorithm", step.algorithm);
    write_workspace(json, step.workspace);
  } else if (step.kind == StepKind::reduce) {
    write_ids(json, "tensors", step.bucket);
    write_workspace(json, step.workspace);
  } else {
    json.field("tensor", step.tensor.value);
    if (step.kind != StepKind::load) json.field("host_offset", step.host_offset);
    if (is_of_residence(plan, step)) json.field("rounds", to_string(step.rounds));
  }
  write_ids(json, "waits", step.waits);
  json.field("start", step.start).field("end", step.end).end_object();
}

void write(JsonText& json, const Residency& residency) {
  json.begin_object().field("tensor", residency.tensor.value).field("offset", residency.offset);
  json.field("bytes", residency.bytes).field("first_step", residency.first_step);
  json.field("last_step", residency.last_step).end_object();
}

// Everything before the lists.
std::string json_of_header(const Plan& plan) {
  Json libraries = Json::object();
  for (const auto& [name, version] : plan.libraries) libraries[name] = version;
  Json summary = Json::object();
  const auto figure = [&](const char* key, const auto& value) { summary[key] = value; };
  visit_summary(plan.summary, figure);
  if (plan.ranks > 1) visit_summary_of_ranks(plan.summary, figure);

  std::string text = "{\n";
  const auto field = [&](const char* key, const Json& value) {
    text += fmt::format("  \"{}\": {},\n", key, dump(value));
  };
  field("schema", kPlanSchema);
  field("generator", plan.generator);
  field("model", {{"name", plan.model_name}, {"sha256", plan.model_sha256}, {"batch", plan.batch}});
  Json target = {{"kind", plan.target_kind}, {"device", plan.device}, {"costs", plan.costs}, {"libraries", libraries}};
  if (!plan.precision.empty()) target["precision"] = plan.precision;
  if (!plan.optimizer_state.empty()) target["optimizer_state"] = plan.optimizer_state;
  for (const auto& [part, form] : plan.forms) target[part] = form;
  if (!plan.layout.empty()) target["layout"] = plan.layout;
  field("target", target);
  field("policy", plan.policy);
  field("rules", plan.rules);
  field("budget_bytes", plan.budget_bytes);
  if (plan.host_budget_bytes >= 0) field("host_budget_bytes", plan.host_budget_bytes);
  field("sub_batch", plan.sub_batch);
  field("rounds", plan.rounds);
  field("last_sub_batch", plan.last_sub_batch);
  if (plan.ranks > 1) field("ranks", plan.ranks);
  if (plan.reduction_needs_bytes > 0) field("reduction_needs_bytes", plan.reduction_needs_bytes);
  if (plan.slice_bytes > 0) field("slice_bytes", plan.slice_bytes);
  if (plan.whole_weights) field("whole_weights", true);
  if (plan.inputs_ahead.bytes > 0)
    field("inputs_ahead", Json{{"offset", plan.inputs_ahead.offset}, {"bytes", plan.inputs_ahead.bytes}});
  text += "  \"summary\": {";
  bool first = true;
  for (const auto& [key, value] : summary.items()) {
    text += fmt::format("{}\n    \"{}\": {}", first ? "" : ",", key, dump(value));
    first = false;
  }
  text += "\n  },\n";
  return text;
}

// Adds what makes the parts of a list, of some items each. `after`: what follows the list.
template <class Items, class WriteItem>
void add_list(std::vector<std::function<std::string()>>& parts, const char* key, const Items& items,
              WriteItem write_item, const char* after) {
  constexpr size_t kItems = 10'000;  // about 2 MB
  const size_t count = items.size();
  size_t first = 0;
  do {
    parts.push_back([=, &items] {
      const size_t end = std::min(count, first + kItems);
      std::string text = first == 0 ? fmt::format("  \"{}\": [", key) : "";
      for (size_t i = first; i < end; ++i) {
        text += i == 0 ? "\n    " : ",\n    ";
        JsonText json(text);
        write_item(json, static_cast<int64_t>(i), items.begin()[static_cast<ptrdiff_t>(i)]);
      }
      if (end == count) text += fmt::format("{}]{}\n", count > 0 ? "\n  " : "", after);
      return text;
    });
    first += kItems;
  } while (first < count);
}

// ---------------------------------------------------------------------------------------------------- reading

using Place = JsonReader::Place;

constexpr int64_t kMaxItems = std::numeric_limits<int32_t>::max() - 1;

// Array elements carry their own index, so that an edited file with shifted elements is refused.
void expect_id(JsonReader& read, const Place& item) {
  read.object(item);
  const int64_t index = static_cast<int64_t>(item.index);
  read.integer(item, "id", index, index);
}

Block read_workspace(JsonReader& read, const Place& item) {
  const Place place = JsonReader::field(item, "workspace");
  if (!place.json) return {};
  read.object(place);
  const Block block{read.bytes(place, "offset"), read.bytes(place, "bytes")};
  if (block.offset > std::numeric_limits<int64_t>::max() - block.bytes) read.complain(place, "ends above 2^63");
  return block;
}

Step read_step(JsonReader& read, const Place& item, const Plan& plan, int64_t tensors) {
  const int64_t index = static_cast<int64_t>(item.index), tasks = static_cast<int64_t>(plan.tasks.size());
  Step step;
  step.stream = read.word<StreamKind>(item, "stream");
  step.kind = read.word<StepKind>(item, "kind");
  if (step.kind == StepKind::compute) {
    step.task = TaskId(read.integer(item, "task", 0, tasks - 1));
    step.recompute = read.flag(item, "recompute");
    step.algorithm = read.text(item, "algorithm");
    step.workspace = read_workspace(read, item);
  } else if (step.kind == StepKind::reduce) {
    step.bucket = read.ids<TensorId>(item, "tensors", tensors);
    if (step.bucket.empty()) read.complain(JsonReader::field(item, "tensors"), "must name what is reduced");
    else step.tensor = step.bucket.front();
    step.workspace = read_workspace(read, item);
  } else {
    step.tensor = TensorId(read.integer(item, "tensor", 0, tensors - 1));
    if (step.kind != StepKind::load) {
      step.host_offset = read.bytes(item, "host_offset");
      if (!read.error() && step.host_offset > std::numeric_limits<int64_t>::max() - plan.tensors[step.tensor].bytes)
        read.complain(JsonReader::field(item, "host_offset"), "ends above 2^63");
    }
    // Plans from before the format had this field do not say it, and it cannot be left out.
    if (!read.error() && is_of_residence(plan, step)) step.rounds = read.word<CopyRounds>(item, "rounds");
  }
  step.waits = read.ids<StepId>(item, "waits", index);
  step.start = read.seconds(item, "start");
  step.end = read.seconds(item, "end");
  return step;
}

void read_header(JsonReader& read, const Place& root, Plan& plan) {
  plan.generator = read.text(root, "generator");
  const Place model = JsonReader::field(root, "model");
  read.object(model);
  plan.model_name = read.text(model, "name");
  plan.model_sha256 = read.text(model, "sha256");
  plan.batch = read.integer(model, "batch", 1, kMaxItems);
  const Place target = JsonReader::field(root, "target");
  read.object(target);
  plan.target_kind = read.text(target, "kind");
  plan.device = read.text(target, "device");
  plan.costs = read.text(target, "costs");
  const Place libraries = JsonReader::field(target, "libraries");
  if (libraries.json) plan.libraries = read.texts(libraries);
  if (JsonReader::field(target, "precision").json) plan.precision = read.text(target, "precision");
  if (JsonReader::field(target, "optimizer_state").json)
    plan.optimizer_state = read.text(target, "optimizer_state");
  for (const std::string_view name : kPartsWithForms)
    if (const std::string part(name); JsonReader::field(target, part.c_str()).json)
      plan.forms[part] = read.text(target, part.c_str());
  if (JsonReader::field(target, "layout").json) plan.layout = read.text(target, "layout");
  plan.policy = read.text(root, "policy");
  if (JsonReader::field(root, "rules").json) plan.rules = read.text(root, "rules");
  plan.budget_bytes = read.bytes(root, "budget_bytes");
  if (JsonReader::field(root, "host_budget_bytes").json) plan.host_budget_bytes = read.bytes(root, "host_budget_bytes");
  plan.sub_batch = read.integer(root, "sub_batch", 1, kMaxItems);
  plan.rounds = read.integer(root, "rounds", 1, kMaxItems);
  plan.last_sub_batch = read.integer(root, "last_sub_batch", 1, kMaxItems);
  plan.ranks = read.integer(root, "ranks", 1, kMaxItems, false);
  plan.reduction_needs_bytes = read.bytes(root, "reduction_needs_bytes", false);
  plan.slice_bytes = read.bytes(root, "slice_bytes", false);
  plan.whole_weights = read.flag(root, "whole_weights");
  if (const Place ahead = JsonReader::field(root, "inputs_ahead"); ahead.json) {
    read.object(ahead);
    plan.inputs_ahead = {read.bytes(ahead, "offset"), read.bytes(ahead, "bytes")};
  }

  const Place summary = JsonReader::field(root, "summary");
  read.object(summary);
  const auto figure = [&](const char* key, auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, double>) field = read.seconds(summary, key);
    else field = read.bytes(summary, key, false);
  };
  visit_summary(plan.summary, figure);
  visit_summary_of_ranks(plan.summary, figure);
}

void read_lists(JsonReader& read, const Place& root, Plan& plan) {
  read.array(root, "tensors", true, [&](const Place& item) {
    expect_id(read, item);
    PlanTensor tensor{.name = read.text(item, "name", true),
                      .bytes = read.bytes(item, "bytes"),
                      .kind = read.word<TensorKind>(item, "kind")};
    if (const Place type = JsonReader::field(item, "type"); type.json) {
      const std::string name = read.text(item, "type");
      for (const DataType reduced : kStatedTypes)
        if (name == name_of(reduced)) tensor.reduced = reduced;
      if (!read.error() && !is_stated_type(tensor.reduced))
        read.complain(type, "is not bf16, f16, i16, q8 or uq8");
    }
    const Place home = JsonReader::field(item, "home_offset");
    if (home.json) {
      tensor.home_offset = read.bytes(item, "home_offset");
      if (!read.error() && tensor.home_offset > std::numeric_limits<int64_t>::max() - tensor.bytes)
        read.complain(home, "ends above 2^63");
    }
    if (JsonReader::field(item, "slice_of").json) {
      tensor.slice_of = TensorId(read.integer(item, "slice_of", 0, static_cast<int64_t>(item.index) - 1));
      tensor.slice_begin = read.bytes(item, "slice_begin");
    }
    plan.tensors.push_back(std::move(tensor));
  });
  const int64_t tensors = static_cast<int64_t>(plan.tensors.size());
  read.array(root, "tasks", true, [&](const Place& item) {
    expect_id(read, item);
    PlanTask task{.name = read.text(item, "name", true),
                  .op = read.text(item, "op"),
                  .kind = read.word<TaskKind>(item, "kind"),
                  .layer = read.text(item, "layer"),
                  .reads = read.ids<TensorId>(item, "reads", tensors),
                  .writes = read.ids<TensorId>(item, "writes", tensors),
                  .updates = read.ids<TensorId>(item, "updates", tensors),
                  .flops = read.bytes(item, "flops", false),
                  .bytes_moved = read.bytes(item, "bytes_moved", false)};
    if (JsonReader::field(item, "remembers").json) task.remembers = read.ids<TensorId>(item, "remembers", tensors);
    read.array(item, "in_place", false, [&](const Place& pair) {
      std::vector<TensorId> both;
      read.array(pair, true,
                 [&](const Place& id) { both.push_back(TensorId(read.integer(id, 0, tensors - 1, true))); });
      if (both.size() != 2) read.complain(pair, "is not a pair [read, written]");
      else task.in_place.push_back({both[0], both[1]});
    });
    const Place fastest = JsonReader::field(item, "fastest");
    if (fastest.json) {
      read.object(fastest);
      plan.fastest.resize(plan.tasks.size());
      plan.fastest.push_back({.algorithm = read.text(fastest, "algorithm", true),
                              .workspace_bytes = read.bytes(fastest, "workspace_bytes", false),
                              .seconds = read.seconds(fastest, "seconds")});
    }
    std::vector<WorkspaceNeed>& needs = plan.needs[plan.needs.push_back({})];
    read.array(item, "needs", false, [&](const Place& need) {
      read.object(need);
      needs.push_back({.algorithm = read.text(need, "algorithm", true),
                       .workspace_bytes = read.bytes(need, "workspace_bytes"),
                       .recompute = read.flag(need, "recompute")});
    });
    plan.tasks.push_back(std::move(task));
  });
  read.array(root, "steps", true, [&](const Place& item) {
    expect_id(read, item);
    plan.steps.push_back(read_step(read, item, plan, tensors));
  });
  const int64_t steps = static_cast<int64_t>(plan.steps.size());
  read.array(root, "residencies", true, [&](const Place& item) {
    read.object(item);
    Residency residency{.tensor = TensorId(read.integer(item, "tensor", 0, tensors - 1)),
                        .offset = read.bytes(item, "offset"),
                        .bytes = read.bytes(item, "bytes"),
                        .first_step = static_cast<int32_t>(read.integer(item, "first_step", -1, steps)),
                        .last_step = static_cast<int32_t>(read.integer(item, "last_step", -1, steps))};
    if (residency.offset > std::numeric_limits<int64_t>::max() - residency.bytes)
      read.complain(item, "ends above 2^63");
    if (read.error()) return;
    if (residency.first_step == -1) plan.tensors.edit(residency.tensor).persistent = true;
    plan.residencies.push_back(residency);
  });
}

}  // namespace

PlanText::PlanText(const Plan& plan) {
  parts_.push_back([&plan] { return json_of_header(plan); });
  const auto write_numbered = [](JsonText& json, int64_t id, const auto& item) { write(json, id, item); };
  const auto write_of_plan = [&plan](JsonText& json, int64_t id, const auto& item) { write(json, id, plan, item); };
  add_list(parts_, "tensors", plan.tensors, write_numbered, ",");
  add_list(parts_, "tasks", plan.tasks, write_of_plan, ",");
  add_list(parts_, "steps", plan.steps, write_of_plan, ",");
  const auto write_residency = [](JsonText& json, int64_t, const Residency& each) { write(json, each); };
  add_list(parts_, "residencies", plan.residencies, write_residency, "");
  parts_.push_back([] { return "}\n"; });
}

void PlanText::begin_next() {
  if (begun_ < parts_.size()) next_ = std::async(std::launch::async, parts_[begun_++]);
}

std::string_view PlanText::next() {
  if (!next_.valid()) begin_next();
  part_ = next_.valid() ? next_.get() : "";
  begin_next();
  return part_;
}

std::string to_json(const Plan& plan) {
  std::string text;
  PlanText parts(plan);
  for (std::string_view part = parts.next(); !part.empty(); part = parts.next()) text += part;
  return text;
}

Result<Plan> plan_from_json(std::string_view text) {
  JsonReader read("plan.json", ExitCode::invalid_model, "run `plimsoll plan` again");
  const Json document = read.parse(text);
  const Place root = JsonReader::root(document);
  read.object(root);
  read.schema(root, kPlanSchema);
  if (read.error()) return *read.error();
  Plan plan;
  read_header(read, root, plan);
  read_lists(read, root, plan);
  if (read.error()) return *read.error();
  return plan;
}

}  // namespace plimsoll
