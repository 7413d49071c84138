// The rules that a trace viewer relies on, checked on the written text: it is JSON; slices of one track never overlap;
// every begin event has an end event; a flow starts in a slice and ends in a later one.
#include "compiler/report/trace.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "compiler/ir/plan_text.h"
#include "tests/text_case.h"

using namespace plimsoll;
using nlohmann::json;

namespace {

Plan plan_of(const char* name) {
  const auto plan =
      plan_from_text(read_text_case(std::filesystem::path(PLIMSOLL_TEST_DIR) / "cases" / name).input("plan"));
  if (!plan.ok()) FAIL(plan.error().message);
  return *plan;
}

// Microseconds with three decimals, as integer nanoseconds.
int64_t nanoseconds(const json& number) { return std::llround(number.get<double>() * 1e3); }

struct Slice {
  int64_t from = 0, to = 0;
  int64_t step = 0;
};

std::map<int, std::vector<Slice>> slices_by_track(const json& events) {
  std::map<int, std::vector<Slice>> tracks;
  for (const json& event : events)
    if (event["ph"] == "X")
      tracks[event["tid"]].push_back(
          {nanoseconds(event["ts"]), nanoseconds(event["ts"]) + nanoseconds(event["dur"]), event["args"]["step"]});
  for (auto& [track, slices] : tracks)
    std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) { return a.from < b.from; });
  return tracks;
}

}  // namespace

TEST_CASE("a trace keeps the rules of its viewers") {
  const char* const name = GENERATE("offload.test", "recompute.test", "rounds.test");
  const Plan plan = plan_of(name);
  const json document = json::parse(report_trace(plan, facts_of(plan)));
  const json& events = document["traceEvents"];
  const auto tracks = slices_by_track(events);
  size_t slices = 0;
  for (const auto& [track, list] : tracks) {
    slices += list.size();
    for (size_t i = 1; i < list.size(); ++i) CHECK(list[i - 1].to <= list[i].from);
  }
  CHECK(slices == plan.steps.size());

  std::map<std::string, int64_t> open;
  int64_t tensors = 0;
  std::map<int64_t, const json*> flows;
  int64_t prefetches = 0, last_counter = -1;
  for (const json& event : events) {
    const std::string phase = event["ph"];
    if (phase == "b") CHECK(open.emplace(event["id"].get<std::string>(), nanoseconds(event["ts"])).second);
    if (phase == "e") {
      const auto found = open.find(event["id"].get<std::string>());
      REQUIRE(found != open.end());
      CHECK(found->second <= nanoseconds(event["ts"]));
      open.erase(found);
      ++tensors;
    }
    if (phase == "s") flows[event["id"]] = &event;
    if (phase == "f") {
      REQUIRE(flows.contains(event["id"]));
      const json& from = *flows[event["id"]];
      CHECK(nanoseconds(from["ts"]) < nanoseconds(event["ts"]));
      // Each end is in a slice of its track.
      for (const json* end : {&from, &event})
        CHECK(std::any_of(tracks.at((*end)["tid"]).begin(), tracks.at((*end)["tid"]).end(), [&](const Slice& slice) {
          return slice.from <= nanoseconds((*end)["ts"]) && nanoseconds((*end)["ts"]) <= slice.to;
        }));
      ++prefetches;
    }
    if (phase == "C") {
      CHECK(nanoseconds(event["ts"]) > last_counter);
      last_counter = nanoseconds(event["ts"]);
      CHECK(event["args"]["live"].get<int64_t>() >= 0);
    }
  }
  CHECK(open.empty());
  CHECK(tensors == static_cast<int64_t>(plan.residencies.size()));
  CHECK(prefetches == std::count_if(plan.steps.begin(), plan.steps.end(),
                                    [](const Step& step) { return step.kind == StepKind::prefetch; }));
}

TEST_CASE("names of any bytes and times of any size make a trace that parses") {
  Plan plan = plan_of("offload.test");
  plan.tensors.edit(TensorId(5)).name = "a \"quoted\\\" name\n\xff";
  plan.steps[StepId(0)].start = -3;
  plan.steps[StepId(1)].end = 1e300;
  CHECK_NOTHROW([&] { return json::parse(report_trace(plan, facts_of(plan))); }());
}

TEST_CASE("a trace is read back as what was measured, and the last round counts") {
  const Plan plan = plan_of("offload.test");
  const auto measured = measured_from_trace(report_trace(plan, facts_of(plan)), plan);
  REQUIRE(measured.ok());
  for (const StepId id : ids_of(plan.steps)) {
    CHECK(measured->start[id] == Approx(plan.steps[id].start));
    CHECK(measured->end[id] == Approx(plan.steps[id].end));
  }
  const auto two = measured_from_trace(R"({"traceEvents":[
    {"ph":"X","ts":10,"dur":5,"args":{"step":0}},{"ph":"X","ts":15,"dur":5,"args":{"step":1}},
    {"ph":"X","ts":110,"dur":6,"args":{"step":0}},{"ph":"X","ts":116,"dur":7,"args":{"step":1}},)"
    R"({"ph":"X","ts":1,"dur":2}]})",
                                       plan);
  REQUIRE(two.ok());
  CHECK(two->start[StepId(0)] == 0);
  CHECK(two->end[StepId(1)] == Approx(13e-6));
  CHECK(two->seconds == Approx(13e-6));
  CHECK(two->start[StepId(2)] < 0);
}

TEST_CASE("what is no trace of this plan is refused with the reason") {
  const Plan plan = plan_of("offload.test");
  const auto complaint = [&](const char* text) {
    const auto measured = measured_from_trace(text, plan);
    REQUIRE_FALSE(measured.ok());
    CHECK(measured.error().code == ExitCode::invalid_model);
    return measured.error().message;
  };
  CHECK(complaint("{") == "trace: is not JSON: line 1, column 2: it ends there; is it truncated?");
  CHECK(complaint("{}") == "trace: it has no traceEvents");
  CHECK(complaint("{\"traceEvents\":3}") == "trace: traceEvents is not a list");
  CHECK(complaint("[{\"ph\":\"X\"}, 7]").find("no slice has args.step") != std::string::npos);
  CHECK(complaint("[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"step\":999}}]").find("the plan has 17 steps") !=
        std::string::npos);
  CHECK(complaint("[{\"ph\":\"X\",\"dur\":1,\"args\":{\"step\":1}}]").find("step 1") != std::string::npos);
  // Another budget may give the same number of steps.
  Plan other = plan;
  ++other.summary.arena_bytes;
  CHECK(complaint(report_trace(other, facts_of(other)).c_str())
            .find("arena of 36725953 bytes, but this plan has 36725952") != std::string::npos);
}
