#include "compiler/ir/plan_json.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "compiler/ir/fields.h"

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

// ---------------------------------------------------------------------------------------------------- writing

template <class IdType>
Json ids(const std::vector<IdType>& list) {
  Json array = Json::array();
  for (IdType id : list) array.push_back(id.value);
  return array;
}

Json json_of(int64_t id, const PlanTensor& tensor) {
  return {{"id", id}, {"name", tensor.name}, {"bytes", tensor.bytes}, {"kind", to_string(tensor.kind)}};
}

Json json_of(int64_t id, const PlanTask& task) {
  Json in_place = Json::array();
  for (const Task::InPlace& pair : task.in_place) in_place.push_back({pair.read.value, pair.written.value});
  Json json = {{"id", id},
               {"name", task.name},
               {"op", task.op},
               {"kind", to_string(task.kind)},
               {"layer", task.layer},
               {"reads", ids(task.reads)},
               {"writes", ids(task.writes)},
               {"updates", ids(task.updates)},
               {"in_place", in_place},
               {"flops", task.flops},
               {"bytes_moved", task.bytes_moved}};
  const FastestAlgorithm& fastest = task.fastest;
  if (!fastest.algorithm.empty())
    json["fastest"] = {{"algorithm", fastest.algorithm}, {"workspace_bytes", fastest.workspace_bytes}, {"seconds", fastest.seconds}};
  return json;
}

Json json_of(int64_t id, const Step& step) {
  Json json = {{"id", id}, {"stream", to_string(step.stream)}, {"kind", to_string(step.kind)}};
  if (step.kind == StepKind::compute) {
    json["task"] = step.task.value;
    json["recompute"] = step.recompute;
    json["algorithm"] = step.algorithm;
    json["workspace"] = {{"offset", step.workspace.offset}, {"bytes", step.workspace.bytes}};
  } else {
    json["tensor"] = step.tensor.value;
    if (step.kind != StepKind::load) json["host_offset"] = step.host_offset;
  }
  json["waits"] = ids(step.waits);
  json["start"] = step.start;
  json["end"] = step.end;
  return json;
}

Json json_of(const Residency& residency) {
  return {{"tensor", residency.tensor.value},
          {"offset", residency.offset},
          {"bytes", residency.bytes},
          {"first_step", residency.first_step},
          {"last_step", residency.last_step}};
}

// Names may hold any bytes: what is not UTF-8 is replaced rather than refused.
std::string dump(const Json& json, int indent = -1) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

// ---------------------------------------------------------------------------------------------------- reading

// The nesting of brackets outside of strings. The parser itself needs no stack for it, but nothing we write is deeper
// than four.
constexpr int kMaxDepth = 64;

bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      else if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

// A place in the document. Its path is spelled out only when there is something to complain of.
struct Place {
  const Json* json = nullptr;  // nullptr: not there
  const Place* parent = nullptr;
  const char* key = nullptr;  // of an object's field; else `index` in an array
  size_t index = 0;

  std::string path() const {
    if (!parent) return "";
    const std::string before = parent->path();
    if (!key) return fmt::format("{}[{}]", before, index);
    return before.empty() ? key : fmt::format("{}.{}", before, key);
  }
};

// Reads fields and remembers the first complaint; beyond it every answer is a harmless default.
class Reader {
 public:
  const std::optional<Error>& error() const { return error_; }

  void complain(const Place& place, const std::string& what) {
    if (error_) return;
    const std::string path = place.path();
    error_ = Error{ExitCode::invalid_model, fmt::format("plan.json: {}{}{}", path, path.empty() ? "" : " ", what)};
  }

  // A field that is not there reads as its zero, so that older writers stay readable; `need` is for what has none.
  static Place field(const Place& object, const char* key) {
    Place place{nullptr, &object, key, 0};
    if (!object.json || !object.json->is_object()) return place;
    const auto found = object.json->find(key);
    if (found != object.json->end()) place.json = &*found;
    return place;
  }

  int64_t integer(const Place& object, const char* key, int64_t least, int64_t most, bool need = true) {
    return integer(field(object, key), least, most, need);
  }
  int64_t integer(const Place& place, int64_t least, int64_t most, bool need) {
    if (!place.json) {
      if (need) complain(place, "is missing");
      return least;
    }
    // Unsigned numbers above 2^63 would turn negative in get<int64_t>().
    const bool too_large = place.json->is_number_unsigned() &&
                           place.json->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (!place.json->is_number_integer() || too_large) {
      complain(place, fmt::format("is {} when it should be a whole number", shown(place)));
      return least;
    }
    const int64_t value = place.json->get<int64_t>();
    if (value < least || value > most) {
      complain(place, most == std::numeric_limits<int64_t>::max()
                          ? fmt::format("is {} when it should be at least {}", value, least)
                          : fmt::format("is {} when it should be from {} to {}", value, least, most));
      return least;
    }
    return value;
  }
  int64_t bytes(const Place& object, const char* key, bool need = true) {
    return integer(object, key, 0, std::numeric_limits<int64_t>::max(), need);
  }

  double seconds(const Place& object, const char* key) {
    const Place place = field(object, key);
    if (!place.json) return 0;
    if (!place.json->is_number()) {
      complain(place, fmt::format("is {} when it should be a number of seconds", shown(place)));
      return 0;
    }
    return place.json->get<double>();
  }

  bool flag(const Place& object, const char* key) {
    const Place place = field(object, key);
    if (!place.json) return false;
    if (!place.json->is_boolean()) {
      complain(place, fmt::format("is {} when it should be true or false", shown(place)));
      return false;
    }
    return place.json->get<bool>();
  }

  std::string text(const Place& object, const char* key, bool need = false) {
    const Place place = field(object, key);
    if (!place.json) {
      if (need) complain(place, "is missing");
      return "";
    }
    if (!place.json->is_string()) {
      complain(place, fmt::format("is {} when it should be a string", shown(place)));
      return "";
    }
    return place.json->get<std::string>();
  }

  template <class Enum>
  Enum word(const Place& object, const char* key) {
    const std::string given = text(object, key, true);
    if (const std::optional<Enum> known = from_word<Enum>(given)) return *known;
    complain(field(object, key), fmt::format("is '{}' when it should be one of {}", given, known_words<Enum>()));
    return {};
  }

  // Calls `each` for the elements of an array.
  template <class Each>
  void array(const Place& place, bool need, Each each) {
    if (!place.json) {
      if (need) complain(place, "is missing");
      return;
    }
    if (!place.json->is_array()) {
      complain(place, fmt::format("is {} when it should be an array", shown(place)));
      return;
    }
    size_t i = 0;
    for (const Json& item : *place.json) {
      if (error_) return;
      each(Place{&item, &place, nullptr, i++});
    }
  }
  template <class Each>
  void array(const Place& object, const char* key, bool need, Each each) {
    const Place place = field(object, key);
    array(place, need, each);
  }

  template <class IdType>
  std::vector<IdType> ids(const Place& object, const char* key, int64_t count) {
    std::vector<IdType> list;
    array(object, key, false, [&](const Place& item) { list.push_back(IdType(integer(item, 0, count - 1, true))); });
    return list;
  }

  void object(const Place& place) {
    if (!place.json) complain(place, "is missing");
    else if (!place.json->is_object()) complain(place, fmt::format("is {} when it should be an object", shown(place)));
  }

 private:
  static std::string shown(const Place& place) {
    if (place.json->is_structured()) return place.json->is_array() ? "an array" : "an object";
    std::string text = dump(*place.json);
    return text.size() <= 40 ? text : text.substr(0, 40) + "…";
  }

  std::optional<Error> error_;
};

constexpr int64_t kMaxItems = std::numeric_limits<int32_t>::max() - 1;

// The elements of an array carry their own index: an edited file in which they went out of step is refused.
void expect_id(Reader& read, const Place& item) {
  read.object(item);
  const int64_t index = static_cast<int64_t>(item.index);
  read.integer(item, "id", index, index);
}

Step read_step(Reader& read, const Place& item, const Plan& plan, int64_t tensors) {
  const int64_t index = static_cast<int64_t>(item.index), tasks = static_cast<int64_t>(plan.tasks.size());
  Step step;
  step.stream = read.word<StreamKind>(item, "stream");
  step.kind = read.word<StepKind>(item, "kind");
  if (step.kind == StepKind::compute) {
    step.task = TaskId(read.integer(item, "task", 0, tasks - 1));
    step.recompute = read.flag(item, "recompute");
    step.algorithm = read.text(item, "algorithm");
    const Place workspace = Reader::field(item, "workspace");
    if (workspace.json) {
      read.object(workspace);
      step.workspace = {read.bytes(workspace, "offset"), read.bytes(workspace, "bytes")};
      if (step.workspace.offset > std::numeric_limits<int64_t>::max() - step.workspace.bytes)
        read.complain(workspace, "ends beyond 63 bits");
    }
  } else {
    step.tensor = TensorId(read.integer(item, "tensor", 0, tensors - 1));
    if (step.kind != StepKind::load) {
      step.host_offset = read.bytes(item, "host_offset");
      if (!read.error() && step.host_offset > std::numeric_limits<int64_t>::max() - plan.tensors[step.tensor].bytes)
        read.complain(Reader::field(item, "host_offset"), "ends beyond 63 bits");
    }
  }
  step.waits = read.ids<StepId>(item, "waits", index);
  step.start = read.seconds(item, "start");
  step.end = read.seconds(item, "end");
  return step;
}

void read_header(Reader& read, const Place& root, Plan& plan) {
  plan.generator = read.text(root, "generator");
  const Place model = Reader::field(root, "model");
  read.object(model);
  plan.model_name = read.text(model, "name");
  plan.model_sha256 = read.text(model, "sha256");
  plan.batch = read.integer(model, "batch", 1, kMaxItems);
  const Place target = Reader::field(root, "target");
  read.object(target);
  plan.target_kind = read.text(target, "kind");
  plan.device = read.text(target, "device");
  plan.costs = read.text(target, "costs");
  const Place libraries = Reader::field(target, "libraries");
  if (libraries.json) {
    read.object(libraries);
    if (!read.error())
      for (const auto& [name, version] : libraries.json->items())
        plan.libraries[name] = read.text(libraries, name.c_str());
  }
  plan.policy = read.text(root, "policy");
  if (Reader::field(root, "rules").json) plan.rules = read.text(root, "rules");
  plan.budget_bytes = read.bytes(root, "budget_bytes");
  plan.sub_batch = read.integer(root, "sub_batch", 1, kMaxItems);
  plan.rounds = read.integer(root, "rounds", 1, kMaxItems);
  plan.last_sub_batch = read.integer(root, "last_sub_batch", 1, kMaxItems);

  const Place summary = Reader::field(root, "summary");
  read.object(summary);
  visit_summary(plan.summary, [&](const char* key, auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, double>) field = read.seconds(summary, key);
    else field = read.bytes(summary, key, false);
  });
}

void read_lists(Reader& read, const Place& root, Plan& plan) {
  read.array(root, "tensors", true, [&](const Place& item) {
    expect_id(read, item);
    plan.tensors.push_back({.name = read.text(item, "name", true),
                            .bytes = read.bytes(item, "bytes"),
                            .kind = read.word<TensorKind>(item, "kind")});
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
    read.array(item, "in_place", false, [&](const Place& pair) {
      std::vector<TensorId> both;
      read.array(pair, true, [&](const Place& id) { both.push_back(TensorId(read.integer(id, 0, tensors - 1, true))); });
      if (both.size() != 2) read.complain(pair, "should be a pair [read, written]");
      else task.in_place.push_back({both[0], both[1]});
    });
    const Place fastest = Reader::field(item, "fastest");
    if (fastest.json) {
      read.object(fastest);
      task.fastest = {.algorithm = read.text(fastest, "algorithm", true),
                      .workspace_bytes = read.bytes(fastest, "workspace_bytes", false),
                      .seconds = read.seconds(fastest, "seconds")};
    }
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
    if (residency.offset > std::numeric_limits<int64_t>::max() - residency.bytes) read.complain(item, "ends beyond 63 bits");
    if (read.error()) return;
    if (residency.first_step == -1) plan.tensors[residency.tensor].persistent = true;
    plan.residencies.push_back(residency);
  });
}

}  // namespace

std::string to_json(const Plan& plan) {
  Json libraries = Json::object();
  for (const auto& [name, version] : plan.libraries) libraries[name] = version;
  Json summary = Json::object();
  visit_summary(plan.summary, [&](const char* key, const auto& field) { summary[key] = field; });

  std::string text = "{\n";
  const auto field = [&](const char* key, const Json& value) { text += fmt::format("  \"{}\": {},\n", key, dump(value)); };
  field("schema", kPlanSchema);
  field("generator", plan.generator);
  field("model", {{"name", plan.model_name}, {"sha256", plan.model_sha256}, {"batch", plan.batch}});
  field("target", {{"kind", plan.target_kind}, {"device", plan.device}, {"costs", plan.costs}, {"libraries", libraries}});
  field("policy", plan.policy);
  field("rules", plan.rules);
  field("budget_bytes", plan.budget_bytes);
  field("sub_batch", plan.sub_batch);
  field("rounds", plan.rounds);
  field("last_sub_batch", plan.last_sub_batch);
  text += "  \"summary\": {";
  bool first = true;
  for (const auto& [key, value] : summary.items()) {
    text += fmt::format("{}\n    \"{}\": {}", first ? "" : ",", key, dump(value));
    first = false;
  }
  text += "\n  },\n";

  const auto list = [&](const char* key, size_t count, auto item, const char* after) {
    text += fmt::format("  \"{}\": [", key);
    for (size_t i = 0; i < count; ++i) text += fmt::format("{}\n    {}", i ? "," : "", dump(item(static_cast<int64_t>(i))));
    text += fmt::format("{}]{}\n", count ? "\n  " : "", after);
  };
  list("tensors", plan.tensors.size(), [&](int64_t i) { return json_of(i, plan.tensors[TensorId(i)]); }, ",");
  list("tasks", plan.tasks.size(), [&](int64_t i) { return json_of(i, plan.tasks[TaskId(i)]); }, ",");
  list("steps", plan.steps.size(), [&](int64_t i) { return json_of(i, plan.steps[StepId(i)]); }, ",");
  list("residencies", plan.residencies.size(), [&](int64_t i) { return json_of(plan.residencies[static_cast<size_t>(i)]); }, "");
  return text + "}\n";
}

Result<Plan> plan_from_json(std::string_view text) {
  if (too_deep(text))
    return Error{ExitCode::invalid_model, fmt::format("plan.json: nested deeper than {} levels", kMaxDepth)};
  Json document;
  try {
    document = Json::parse(text);
  } catch (const Json::parse_error& failure) {
    return Error{ExitCode::invalid_model, fmt::format("plan.json: not JSON, at byte {}", failure.byte)};
  } catch (const Json::exception&) {  // a number beyond every range
    return Error{ExitCode::invalid_model, "plan.json: holds a number that no type can"};
  }
  Reader read;
  const Place root{&document, nullptr, nullptr, 0};
  read.object(root);
  if (read.error()) return *read.error();
  const int64_t schema = read.integer(root, "schema", 0, kMaxItems);
  if (read.error()) return *read.error();
  if (schema != kPlanSchema)
    return Error{ExitCode::invalid_model,
                 fmt::format("plan.json: schema is {} when this reader knows {} only; use the plimsoll that wrote it",
                             schema, kPlanSchema)};
  Plan plan;
  read_header(read, root, plan);
  read_lists(read, root, plan);
  if (read.error()) return *read.error();
  return plan;
}

}  // namespace plimsoll
