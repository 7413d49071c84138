#include "compiler/ir/plan_json.h"

#include <catch2/catch.hpp>

#include <string>
#include "compiler/ir/plan_text.h"

using namespace plimsoll;

namespace {

// x -> a.forward -> a.y -> b.forward -> loss; a.y is offloaded and fetched back.
Plan small_plan() {
  Plan plan{.generator = "plimsoll test",
            .model_name = "small \"quoted\"",
            .model_sha256 = "00",
            .batch = 7,
            .target_kind = "host",
            .device = "here",
            .costs = "modelled",
            .libraries = {{"onednn", "2.6.3"}},
            .policy = "auto",
            .budget_bytes = 4096,
            .host_budget_bytes = 1536,
            .sub_batch = 4,
            .rounds = 2,
            .last_sub_batch = 3};
  plan.summary.arena_bytes = 1280;
  plan.summary.iteration_seconds = 0.1;
  plan.tensors.push_back({.name = "x", .bytes = 256, .kind = TensorKind::input});
  plan.tensors.push_back({.name = "a.w", .bytes = 16, .kind = TensorKind::weight, .persistent = true});
  plan.tensors.push_back({.name = "a.y", .bytes = 512});
  plan.tasks.push_back({.name = "a.forward",
                        .op = "Conv",
                        .layer = "a",
                        .reads = {TensorId(0), TensorId(1)},
                        .writes = {TensorId(2)},
                        .remembers = {TensorId(2)},
                        .in_place = {{TensorId(0), TensorId(2)}},
                        .flops = 12});
  plan.needs.push_back({{.algorithm = "direct", .workspace_bytes = 200},
                        {.algorithm = "", .workspace_bytes = 0, .recompute = true}});
  plan.steps.push_back({.stream = StreamKind::h2d, .kind = StepKind::load, .tensor = TensorId(0)});
  plan.steps.push_back(
      {.task = TaskId(0), .algorithm = "direct", .workspace = {512, 256}, .waits = {StepId(0)}, .end = 0.25});
  plan.steps.push_back({.stream = StreamKind::d2h,
                        .kind = StepKind::offload,
                        .tensor = TensorId(2),
                        .host_offset = 0,
                        .waits = {StepId(1)}});
  plan.tensors.push_back({.name = "a.v", .bytes = 16, .kind = TensorKind::optimizer_state, .home_offset = 512});
  plan.residencies = {{TensorId(0), 0, 256, 0, 1}, {TensorId(1), 1024, 16, -1, 3}, {TensorId(2), 256, 512, 1, 2}};
  return plan;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string complaint(const std::string& text) {
  const auto plan = plan_from_json(text);
  REQUIRE_FALSE(plan.ok());
  CHECK(plan.error().code == ExitCode::invalid_model);
  return plan.error().message;
}

}  // namespace

TEST_CASE("a plan comes back from its JSON as it was") {
  const std::string text = to_json(small_plan());
  const auto plan = plan_from_json(text);
  REQUIRE(plan.ok());
  CHECK(to_json(*plan) == text);
  CHECK(plan->tensors[TensorId(1)].persistent);
  CHECK_FALSE(plan->tensors[TensorId(2)].persistent);
  CHECK(plan->tasks[TaskId(0)].remembers == small_plan().tasks[TaskId(0)].remembers);
  CHECK_FALSE(plan->tensors[TensorId(2)].at_home_on_host());
  CHECK(plan->tensors[TensorId(3)].home_offset == 512);
  CHECK(plan->tasks[TaskId(0)].in_place == small_plan().tasks[TaskId(0)].in_place);
  CHECK(plan->steps[StepId(2)].host_offset == 0);
  CHECK(plan->needs == small_plan().needs);
  CHECK(plan->summary.iteration_seconds == 0.1);
  CHECK(plan->libraries == small_plan().libraries);
  CHECK(plan->host_budget_bytes == 1536);
  Plan unlimited = small_plan();
  unlimited.host_budget_bytes = -1;
  CHECK(to_json(unlimited).find("host_budget") == std::string::npos);
  CHECK(plan_from_json(to_json(unlimited))->host_budget_bytes == -1);
}

TEST_CASE("every step and residency is a line of its own") {
  const std::string text = to_json(small_plan());
  CHECK(text.find("\n    {\"tensor\":0,\"offset\":0,\"bytes\":256,\"first_step\":0,\"last_step\":1},\n") !=
        std::string::npos);
  CHECK(
      text.find("\n    {\"id\":2,\"stream\":\"d2h\",\"kind\":\"offload\",\"tensor\":2,\"host_offset\":0,\"waits\":[1],"
                "\"start\":0.0,\"end\":0.0}\n") != std::string::npos);
}

TEST_CASE("a copy of a host-resident tensor states its rounds, other copies do not") {
  Plan plan = small_plan();
  plan.steps.push_back({.stream = StreamKind::h2d,
                        .kind = StepKind::prefetch,
                        .tensor = TensorId(3),
                        .host_offset = 512,
                        .rounds = CopyRounds::last});
  const std::string text = to_json(plan), copy = "\"host_offset\":512,\"rounds\":\"last\"";
  CHECK(text.find("\"host_offset\":0,\"waits\"") != std::string::npos);
  const auto read = plan_from_json(text);
  REQUIRE(read.ok());
  CHECK(read->steps[StepId(3)].rounds == CopyRounds::last);
  CHECK(to_json(*read) == text);
  CHECK(complaint(replaced(text, copy, "\"host_offset\":512")) == "plan.json: steps[3].rounds is missing");
  CHECK(complaint(replaced(text, copy, "\"host_offset\":512,\"rounds\":\"first\"")) ==
        "plan.json: steps[3].rounds is 'first'; expected one of all, last, all_but_first, all_but_last");
}

TEST_CASE("slices come back from plan.json, and are of a tensor before them") {
  Plan plan = small_plan();
  plan.slice_bytes = 256;
  plan.tensors.push_back({.name = "a.v.slice0",
                          .bytes = 8,
                          .kind = TensorKind::optimizer_state,
                          .home_offset = 520,
                          .slice_of = TensorId(3),
                          .slice_begin = 8});
  const std::string text = to_json(plan);
  const auto read = plan_from_json(text);
  REQUIRE(read.ok());
  CHECK(read->slice_bytes == 256);
  CHECK_FALSE(read->whole_weights);
  CHECK(read->tensors[TensorId(4)].slice_of == TensorId(3));
  CHECK(read->tensors[TensorId(4)].slice_begin == 8);
  CHECK_FALSE(read->tensors[TensorId(3)].slice_of.valid());
  CHECK(to_json(*read) == text);
  plan.whole_weights = true;
  const auto state = plan_from_json(to_json(plan));
  REQUIRE(state.ok());
  CHECK(state->whole_weights);
  CHECK(complaint(replaced(text, "\"slice_of\":3", "\"slice_of\":4")) ==
        "plan.json: tensors[4].slice_of is 4; expected 0 to 3");
  CHECK(complaint(replaced(text, "\"slice_begin\":8", "\"slice_begin\":-8")) ==
        "plan.json: tensors[4].slice_begin is -8; expected at least 0");
}

TEST_CASE("the place of the next round's inputs comes back from plan.json and from text") {
  Plan plan = small_plan();
  CHECK(to_json(plan).find("inputs_ahead") == std::string::npos);
  plan.inputs_ahead = {512, 256};
  const std::string text = to_json(plan);
  const auto read = plan_from_json(text);
  REQUIRE(read.ok());
  CHECK(read->inputs_ahead == Block{512, 256});
  CHECK(to_json(*read) == text);
  const auto from_text = plan_from_text(to_text(plan), "a plan");
  REQUIRE(from_text.ok());
  CHECK(from_text->inputs_ahead == Block{512, 256});
  CHECK(complaint(replaced(text, "\"offset\":512,", "")) == "plan.json: inputs_ahead.offset is missing");
}

TEST_CASE("what is wrong in plan.json is told with its place") {
  const std::string good = to_json(small_plan());
  const auto broken = [&](const char* from, const char* to) { return complaint(replaced(good, from, to)); };
  CHECK(broken("\"waits\":[1]", "\"waits\":[2]") == "plan.json: steps[2].waits[0] is 2; expected 0 to 1");
  CHECK(broken("\"waits\":[1]", "\"waits\":[1.5]") == "plan.json: steps[2].waits[0] is 1.5; expected an integer");
  CHECK(broken("\"schema\": 1", "\"schema\": 2") ==
        "plan.json: schema is 2, but only 1 is supported; use the version of plimsoll that wrote it");
  CHECK(broken("\"home_offset\":512", "\"home_offset\":-1") ==
        "plan.json: tensors[3].home_offset is -1; expected at least 0");
  CHECK(broken("\"home_offset\":512", "\"home_offset\":9223372036854775807") ==
        "plan.json: tensors[3].home_offset ends above 2^63");
  CHECK(broken("\"bytes\":512", "\"bytes\":-1") == "plan.json: tensors[2].bytes is -1; expected at least 0");
  CHECK(broken("\"bytes\":512", "\"bytes\":18446744073709551615") ==
        "plan.json: tensors[2].bytes is 18446744073709551615; expected an integer");
  CHECK(broken("\"offset\":256,\"bytes\":512", "\"offset\":9223372036854775807,\"bytes\":512") ==
        "plan.json: residencies[2] ends above 2^63");
  CHECK(broken("\"kind\":\"load\"", "\"kind\":\"leap\"") ==
        "plan.json: steps[0].kind is 'leap'; expected one of compute, offload, prefetch, load, reduce");
  CHECK(broken("[[0,2]]", "[[0]]") == "plan.json: tasks[0].in_place[0] is not a pair [read, written]");
  CHECK(broken("\"reads\":[0,1]", "\"reads\":[0,4]") == "plan.json: tasks[0].reads[1] is 4; expected 0 to 3");
  CHECK(broken("{\"id\":1,\"name\":\"a.w\"", "{\"id\":0,\"name\":\"a.w\"") ==
        "plan.json: tensors[1].id is 0; expected 1 to 1");
  CHECK(broken("\"workspace_bytes\":200", "\"workspace_bytes\":-200") ==
        "plan.json: tasks[0].needs[0].workspace_bytes is -200; expected at least 0");
  CHECK(complaint("{\"schema\": 1}") == "plan.json: model is missing");
  CHECK(complaint("[]") == "plan.json: is an array; expected an object");
  CHECK(complaint("{\"schema\"") == "plan.json: is not JSON: line 1, column 10: it ends there; is it truncated?");
  CHECK(complaint("{\n \"schema\": 1,\n model") == "plan.json: is not JSON: line 3, column 2: unexpected 'm'");
  CHECK(complaint("{\"schema\": \xff}") == "plan.json: is not JSON: line 1, column 12: unexpected byte 0xff");
  CHECK(complaint(" \n") == "plan.json: is not JSON: it is empty");
}

TEST_CASE("hostile JSON is an error and nothing worse") {
  CHECK(complaint(std::string(1000000, '[')) == "plan.json: nested deeper than 64 levels");
  CHECK(complaint("{\"schema\": 1e999}").find("plan.json: ") == 0);
  const std::string good = to_json(small_plan());
  for (size_t length = 0; length + 2 < good.size(); ++length) CHECK_FALSE(plan_from_json(good.substr(0, length)).ok());
  // Any single byte may be replaced: the text is either read or refused, without a crash, and a plan that was read can
  // be written again.
  for (size_t at = 0; at < good.size(); at += 3) {
    for (const char c : {'\0', '9', '"', '-', '{', '\xff', 'e'}) {
      std::string text = good;
      text[at] = c;
      const auto plan = plan_from_json(text);
      if (plan.ok()) CHECK(plan_from_json(to_json(*plan)).ok());
    }
  }
}
