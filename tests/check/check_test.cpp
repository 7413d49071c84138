#include "compiler/check/check.h"
#include "passes/copy_rounds.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace plimsoll;

namespace {

constexpr TensorId x(0), w(1), y(2), loss(3), dy(4), dw(5);

// One layer and a loss. y is offloaded during the loss and returns to another address:
//
//   load x │ forward x w → y │ offload y │ loss y → loss dy │ prefetch y │ weights y dy → dw │ update w dw
Plan one_layer() {
  Plan plan{.batch = 1, .budget_bytes = 1536, .sub_batch = 1, .rounds = 1, .last_sub_batch = 1};
  plan.tensors.push_back({.name = "x", .bytes = 256, .kind = TensorKind::input});
  plan.tensors.push_back({.name = "w", .bytes = 256, .kind = TensorKind::weight, .persistent = true});
  plan.tensors.push_back({.name = "y", .bytes = 256});
  plan.tensors.push_back({.name = "loss", .bytes = 4});
  plan.tensors.push_back({.name = "dy", .bytes = 256, .kind = TensorKind::activation_gradient});
  plan.tensors.push_back({.name = "dw", .bytes = 256, .kind = TensorKind::weight_gradient});
  plan.needs = IdVector<TaskId, std::vector<WorkspaceNeed>>(4, {{"direct", 0}});
  plan.needs[TaskId(0)] = {{"direct", 512}};
  plan.tasks.push_back({.name = "forward", .reads = {x, w}, .writes = {y}});
  plan.tasks.push_back({.name = "loss", .kind = TaskKind::loss, .reads = {y}, .writes = {loss, dy}});
  plan.tasks.push_back(
      {.name = "weights", .kind = TaskKind::backward_weights, .reads = {y, dy}, .writes = {dw}});
  plan.tasks.push_back({.name = "update", .kind = TaskKind::update, .reads = {dw}, .updates = {w}});
  const auto copy = [&](StreamKind stream, StepKind kind, TensorId tensor, int64_t host, int wait) {
    plan.steps.push_back({.stream = stream, .kind = kind, .tensor = tensor, .host_offset = host});
    if (wait >= 0) plan.steps.back().waits = {StepId(wait)};
  };
  copy(StreamKind::h2d, StepKind::load, x, -1, -1);
  plan.steps.push_back({.task = TaskId(0), .algorithm = "direct", .workspace = {1024, 512}, .waits = {StepId(0)}});
  copy(StreamKind::d2h, StepKind::offload, y, 0, 1);
  plan.steps.push_back({.task = TaskId(1), .algorithm = "direct"});
  copy(StreamKind::h2d, StepKind::prefetch, y, 0, 2);
  plan.steps.push_back({.task = TaskId(2), .algorithm = "direct", .waits = {StepId(4)}});
  plan.steps.push_back({.task = TaskId(3), .algorithm = "direct"});
  plan.residencies = {{w, 0, 256, -1, 7},      {x, 256, 256, 0, 1},  {y, 512, 256, 1, 3}, {loss, 768, 4, 3, 7},
                      {dy, 1024, 256, 3, 5},   {y, 256, 256, 4, 5},  {dw, 512, 256, 5, 6}};
  plan.summary = {.arena_bytes = 1536,
                  .persistent_bytes = 256,
                  .live_bytes = 1280,
                  .peak_step = 1,
                  .peak_live_tensors = 3,
                  .host_pool_bytes = 256,
                  .offloaded_bytes = 256,
                  .prefetched_bytes = 256};
  return plan;
}

template <class Damage>
std::string verdict_after(Damage damage) {
  Plan plan = one_layer();
  damage(plan);
  return to_string(check_plan(plan));
}

}  // namespace

TEST_CASE("a plan with an offload and a prefetch is accepted") { CHECK(to_string(check_plan(one_layer())) == ""); }

TEST_CASE("what a task remembers it writes, and forward") {
  CHECK(verdict_after([](Plan& plan) { plan.tasks.edit(TaskId(0)).remembers = {x}; }) ==
        "form: task forward saves %x, which it does not write\n");
  CHECK(verdict_after([](Plan& plan) { plan.tasks.edit(TaskId(1)).remembers = {loss}; }) ==
        "form: task loss saves %loss, which only forward tasks may\n");
}

TEST_CASE("what is refused is told with names and numbers") {
  CHECK(verdict_after([](Plan& p) { p.steps[StepId(1)].waits.clear(); }) ==
        "value: forward reads %x but does not wait for load:x, which writes it\n");
  CHECK(verdict_after([](Plan& p) { p.steps[StepId(2)].waits.clear(); }) ==
        "value: offload:y reads %y but does not wait for forward, which writes it\n"
        "overlap: prefetch:y uses bytes [0x100, 0x200) for %y but does not wait for forward, which uses them for %x\n");
  CHECK(verdict_after([](Plan& p) { p.steps[StepId(4)].waits.clear(); }) ==
        "host slot: prefetch:y does not wait for offload:y, which copies %y into the host pool\n"
        "overlap: prefetch:y uses bytes [0x100, 0x200) for %y but does not wait for forward, which uses them for %x\n"
        "overlap: weights uses bytes [0x200, 0x300) for %dw but does not wait for offload:y, which uses them for %y\n");
  CHECK(verdict_after([](Plan& p) { p.steps[StepId(1)].workspace.offset = 0; }) ==
        "overlap: %w and the workspace of forward share bytes [0x0, 0x100), but %w holds them for the whole run\n"
        "overlap: forward uses bytes [0x100, 0x200) for %x and for the workspace of forward at the same time\n"
        "summary: arena_bytes is 1536; expected 1280\n");
  CHECK(verdict_after([](Plan& p) { p.budget_bytes = 1535; }) ==
        "bounds: the arena of 1536 bytes exceeds the budget of 1535\n");
  CHECK(verdict_after([](Plan& p) { p.residencies[2].last_step = 2; }) ==
        "residency: loss reads %y, which is not resident then\n");
}

namespace {

constexpr TensorId v(6);

// The same layer with momentum in the host pool: prefetch v │ update w v dw │ offload v, after everything else.
Plan with_state_on_host() {
  Plan plan = one_layer();
  plan.tensors.push_back({.name = "v", .bytes = 256, .kind = TensorKind::optimizer_state, .home_offset = 256});
  plan.tasks.edit(TaskId(3)).updates = {w, v};
  const Step update{.task = TaskId(3), .algorithm = "direct", .waits = {StepId(6)}};
  plan.steps.resize(6);
  plan.steps.push_back({.stream = StreamKind::h2d, .kind = StepKind::prefetch, .tensor = v, .host_offset = 256});
  plan.steps.push_back(update);
  plan.steps.push_back(
      {.stream = StreamKind::d2h, .kind = StepKind::offload, .tensor = v, .host_offset = 256, .waits = {StepId(7)}});
  plan.residencies = {{w, 0, 256, -1, 9},    {x, 256, 256, 0, 1}, {y, 512, 256, 1, 3},   {loss, 768, 4, 3, 9},
                      {dy, 1024, 256, 3, 5}, {y, 256, 256, 4, 5}, {dw, 512, 256, 5, 7}, {v, 1280, 256, 6, 8}};
  plan.summary.host_pool_bytes = 512;
  plan.summary.offloaded_bytes = plan.summary.prefetched_bytes = 512;
  return plan;
}

std::vector<CopyRounds> rounds_of(const Plan& plan) {
  std::vector<CopyRounds> rounds;
  for (const Step& step : plan.steps) rounds.push_back(step.rounds);
  return rounds;
}

std::vector<CopyRounds> rounds_as_passes_choose(Plan plan) {
  const TaskGraph graph;
  const Choices choices;
  for (Step& step : plan.steps) step.rounds = CopyRounds::all;
  REQUIRE(copy_rounds(plan, {.graph = graph, .choices = choices}).ok());
  return rounds_of(plan);
}

// The violations of a damaged plan, except those about summary figures.
template <class Damage>
std::string verdict_on(Plan plan, Damage damage) {
  damage(plan);
  std::string text;
  for (const Violation& violation : check_plan(plan))
    if (violation.rule != Rule::summary) text += violation.message + "\n";
  return text;
}

}  // namespace

TEST_CASE("state that lives in the host pool is fetched from there, and comes home") {
  CHECK(to_string(check_plan(with_state_on_host())) == "");
  CHECK(verdict_on(with_state_on_host(), [](Plan& p) {
          p.steps.resize(8);
          for (Residency& residency : p.residencies)
            if (residency.last_step >= 8) residency.last_step = residency.first_step == 6 ? 7 : 8;
        }) == "%v resides in the host pool, but holds 0 of 1 updates there when the round ends\n");
  CHECK(verdict_on(with_state_on_host(), [](Plan& p) { p.steps[StepId(8)].waits.clear(); }) ==
        "offload:v reads %v but does not wait for update, which updates it\n"
        "offload:v reads %v but does not wait for prefetch:v, which writes it\n"
        "offload:v does not wait for prefetch:v, which reads the slot of %v\n");
  CHECK(verdict_on(with_state_on_host(), [](Plan& p) { p.steps[StepId(8)].host_offset = 0; }) ==
        "offload:v is at 0x0 of the host pool, but %v resides at 0x100\n");
  CHECK(verdict_on(with_state_on_host(), [](Plan& p) {
          p.tensors.edit(v).home_offset = p.steps[StepId(6)].host_offset = p.steps[StepId(8)].host_offset = 0;
        }) == "%v and %y share bytes of the host pool [0x0, 0x100), but %v holds them for the whole run\n");
  CHECK(
      verdict_on(with_state_on_host(), [](Plan& p) { p.tensors.edit(v).kind = TensorKind::statistic; }) ==
      "%v resides in the host pool and is of kind statistic, neither weight nor optimizer_state nor weight_gradient\n");
  CHECK(verdict_on(with_state_on_host(), [](Plan& p) { p.tasks.edit(TaskId(3)).kind = TaskKind::backward_weights; }) ==
        "task update of kind backward_weights changes %v, which resides in the host pool and may be changed by updates "
        "only\n");
  CHECK(verdict_on(with_state_on_host(), [](Plan& p) { p.tasks.edit(TaskId(2)).reads.push_back(v); }) ==
        "task weights of kind backward_weights reads %v, which resides in the host pool and is fetched for updates "
        "only\n");
  CHECK(verdict_on(with_state_on_host(), [](Plan& p) {
          p.tensors.edit(v).home_offset = 384;
        }).starts_with("%v resides at 0x180 of the host pool, not a multiple of 256\n"));
  CHECK(verdict_on(with_state_on_host(), [](Plan& p) {
          p.summary.host_pool_bytes = 256;
        }).starts_with("the slot of %v ends at 0x200, outside the host pool of 256 bytes\n"));
}

namespace {

// The same layer with its weight in the host pool next to y: prefetch w │ forward │ … weights │ prefetch w │ update │
// offload w.
Plan with_weight_on_host() {
  Plan plan = one_layer();
  plan.tensors.edit(w).persistent = false;
  plan.tensors.edit(w).home_offset = 256;
  const Step fetch{.stream = StreamKind::h2d, .kind = StepKind::prefetch, .tensor = w, .host_offset = 256};
  IdVector<StepId, Step> steps;
  steps.push_back(fetch);
  for (const Step& old : plan.steps) {
    Step step = old;
    for (StepId& wait : step.waits) wait = StepId(wait.value + 1);
    steps.push_back(step);
  }
  const Step update = steps[StepId(7)];
  steps.resize(7);
  steps.push_back(fetch);
  steps.push_back(update);
  steps[StepId(7)].rounds = CopyRounds::last;
  steps[StepId(7)].waits = {StepId(2)};
  steps[StepId(8)].waits = {StepId(7)};
  steps.push_back({.stream = StreamKind::d2h,
                   .kind = StepKind::offload,
                   .tensor = w,
                   .host_offset = 256,
                   .rounds = CopyRounds::last,
                   .waits = {StepId(8)}});
  plan.steps = steps;
  plan.residencies = {{w, 0, 256, 0, 2},      {x, 256, 256, 1, 2},   {y, 512, 256, 2, 4}, {loss, 768, 4, 4, 10},
                      {dy, 1024, 256, 4, 6}, {y, 256, 256, 5, 6}, {dw, 512, 256, 6, 8}, {w, 0, 256, 7, 9}};
  plan.summary.host_pool_bytes = 512;
  plan.summary.offloaded_bytes = 512;
  plan.summary.prefetched_bytes = 768;
  plan.summary.peak_step = 2;
  plan.summary.peak_live_tensors = 3;
  plan.summary.persistent_bytes = 0;
  return plan;
}

}  // namespace

TEST_CASE("a weight that lives in the host pool is there for who reads it, and comes home with its update") {
  for (const Violation& violation : check_plan(with_weight_on_host())) CHECK(violation.message == "");
  CHECK(rounds_as_passes_choose(with_weight_on_host()) == rounds_of(with_weight_on_host()));
  CHECK(verdict_on(with_weight_on_host(), [](Plan& p) { p.steps[StepId(2)].waits.clear(); }) ==
        "forward reads %x but does not wait for load:x, which writes it\n"
        "forward reads %w but does not wait for prefetch:w, which writes it\n");
  CHECK(verdict_on(with_weight_on_host(), [](Plan& p) { p.steps[StepId(9)].waits.clear(); }) ==
        "offload:w reads %w but does not wait for update, which updates it\n"
        "offload:w reads %w but does not wait for prefetch:w~2, which writes it\n"
        "offload:w does not wait for prefetch:w~2, which reads the slot of %w\n");
  CHECK(verdict_on(with_weight_on_host(), [](Plan& p) { p.tasks.edit(TaskId(2)).reads.push_back(w); }) ==
        "weights reads %w, which is not resident then\n");
  CHECK(verdict_on(with_weight_on_host(), [](Plan& p) {
          p.steps.resize(9);
          for (Residency& residency : p.residencies)
            residency.last_step = std::min(residency.last_step, residency.tensor == loss ? 9 : 8);
        }) == "%w resides in the host pool, but holds 0 of 1 updates there when the round ends\n");
  CHECK(verdict_on(with_weight_on_host(), [](Plan& p) { p.tensors.edit(w).home_offset = 0; }).starts_with(
      "prefetch:w is at 0x100 of the host pool, but %w resides at 0x0\n"));
  CHECK(verdict_on(with_weight_on_host(), [](Plan& p) { p.tasks.edit(TaskId(2)).updates = {w}; })
            .starts_with("task weights of kind backward_weights changes %w, which resides in the host pool and may be "
                         "changed by updates only\n"));
}

TEST_CASE("a workspace is as large as its step's algorithm needs, and every task states what that is") {
  const auto verdict = [](std::vector<WorkspaceNeed> needs, const char* algorithm, int64_t bytes) {
    return verdict_after([&](Plan& plan) {
      plan.needs[TaskId(0)] = std::move(needs);
      plan.steps[StepId(1)].algorithm = algorithm;
      plan.steps[StepId(1)].workspace.bytes = bytes;
    });
  };
  CHECK(verdict({{"direct", 512}}, "direct", 512) == "");
  CHECK(verdict({{"direct", 500}, {"gemm", 4096}}, "direct", 512) == "");
  CHECK(verdict({}, "direct", 512) ==
        "workspace: forward runs algorithm direct, whose workspace its task does not state\n");
  CHECK(verdict({}, "", 0).starts_with(
      "workspace: forward runs algorithm \"\", whose workspace its task does not state\n"));
  CHECK(verdict({{"direct", 513}}, "direct", 512) ==
        "workspace: forward has a workspace of 512 bytes, but direct needs 513\n");
  CHECK(verdict({{"direct", 512}}, "gemm", 512) ==
        "workspace: forward runs algorithm gemm, whose workspace its task does not state\n");
  // A recomputation would be different work.
  CHECK(verdict({{"direct", 512, true}}, "direct", 512) ==
        "workspace: forward runs algorithm direct, whose workspace its task does not state\n");
}

TEST_CASE("a sub-batch is of the batch") {
  CHECK(verdict_after([](Plan& plan) { plan.sub_batch = 2; }) == "form: a batch of 1 in sub-batches of 2\n");
}

namespace {

// The same layer in two rounds with its gradient in the host pool: … prefetch dw │ weights │ update │ offload dw, for
// the second round.
Plan with_gradient_on_host() {
  Plan plan = one_layer();
  plan.batch = plan.rounds = 2;
  plan.tensors.edit(dw).home_offset = 256;
  plan.tasks.edit(TaskId(2)).writes = {};
  plan.tasks.edit(TaskId(2)).updates = {dw};
  plan.tasks.edit(TaskId(3)).reads = {};
  plan.tasks.edit(TaskId(3)).updates = {dw, w};
  plan.steps.resize(5);
  plan.steps.push_back({.stream = StreamKind::h2d,
                        .kind = StepKind::prefetch,
                        .tensor = dw,
                        .host_offset = 256,
                        .rounds = CopyRounds::all_but_first,
                        .waits = {StepId(3)}});
  plan.steps.push_back({.task = TaskId(2), .algorithm = "direct", .waits = {StepId(5)}});
  plan.steps.push_back({.task = TaskId(3), .algorithm = "direct"});
  plan.steps.push_back({.stream = StreamKind::d2h,
                        .kind = StepKind::offload,
                        .tensor = dw,
                        .host_offset = 256,
                        .rounds = CopyRounds::all_but_last,
                        .waits = {StepId(7)}});
  plan.residencies = {{w, 0, 256, -1, 9},    {x, 256, 256, 0, 1}, {y, 512, 256, 1, 3}, {loss, 768, 4, 3, 9},
                      {dy, 1024, 256, 3, 6}, {y, 256, 256, 4, 6}, {dw, 512, 256, 5, 8}};
  plan.summary.host_pool_bytes = 512;
  plan.summary.offloaded_bytes = plan.summary.prefetched_bytes = 768;  // y in both rounds, dw between them
  return plan;
}

}  // namespace

TEST_CASE("a gradient that lives in the host pool adds up there from round to round") {
  CHECK(to_string(check_plan(with_gradient_on_host())) == "");
  CHECK(rounds_as_passes_choose(with_gradient_on_host()) == rounds_of(with_gradient_on_host()));
  CHECK(verdict_on(with_gradient_on_host(), [](Plan& p) {
          p.steps.resize(8);
          for (Residency& residency : p.residencies)
            residency.last_step = std::min(residency.last_step, residency.tensor == dw ? 7 : 8);
        }) == "%dw resides in the host pool, but holds 0 of 1 part there for the next round\n");
  CHECK(verdict_on(with_gradient_on_host(), [](Plan& p) { p.steps[StepId(6)].waits = {StepId(4)}; }) ==
        "weights updates %dw but does not wait for prefetch:dw, which writes it\n"
        "update updates %dw but does not wait for prefetch:dw, which writes it\n"
        "offload:dw reads %dw but does not wait for prefetch:dw, which writes it\n"
        "offload:dw does not wait for prefetch:dw, which reads the slot of %dw\n");
  CHECK(verdict_on(with_gradient_on_host(), [](Plan& p) { p.tasks.edit(TaskId(2)).kind = TaskKind::update; }) ==
        "%dw resides in the host pool, but no task accumulates into it\n");
  CHECK(verdict_on(with_gradient_on_host(), [](Plan& p) {
          p.tasks.push_back({.name = "late", .kind = TaskKind::backward_weights, .updates = {dw}});
        }) == "task late accesses %dw after update, which uses its sum\n");
  CHECK(verdict_on(with_gradient_on_host(), [](Plan& p) { p.batch = p.rounds = 1; }) ==
        "%dw resides in the host pool, which only gradients accumulated over several rounds of one rank may, but this "
        "is a plan of 1 round and 1 rank\n");
  CHECK(verdict_on(with_gradient_on_host(),
                   [](Plan& p) { p.batch = p.ranks = p.sub_batch = p.last_sub_batch = 2, p.rounds = 1; })
            .starts_with("%dw resides in the host pool, which only gradients accumulated over several rounds of one "
                         "rank may, but this is a plan of 1 round and 2 ranks\n"));
  CHECK(verdict_on(with_gradient_on_host(), [](Plan& p) { p.tensors.edit(dw).reduced = DataType::bf16; }) ==
        "2 rounds add to %dw in bf16; sums are in f32\n");
}

TEST_CASE("each copy of a host-resident tensor runs in the rounds that need it, and in no other") {
  const auto in = [](Plan plan, int64_t step, CopyRounds rounds) {
    return verdict_on(std::move(plan), [&](Plan& p) { p.steps[StepId(step)].rounds = rounds; });
  };
  CHECK(in(with_gradient_on_host(), 5, CopyRounds::all) ==
        "weights accesses %dw in the first round, of which no copy has fetched a value then\n");
  CHECK(in(with_gradient_on_host(), 5, CopyRounds::last) ==
        "weights accesses %dw in the first round, of which no copy has fetched a value then\n");
  CHECK(in(with_gradient_on_host(), 8, CopyRounds::all) ==
        "offload:dw writes %dw back in the last round, after which nothing reads it\n");
  CHECK(in(with_gradient_on_host(), 8, CopyRounds::last) ==
        "%dw resides in the host pool, but holds 0 of 1 part there for the next round\n"
        "offload:dw writes %dw back in the last round, after which nothing reads it\n");
  CHECK(in(with_gradient_on_host(), 5, CopyRounds::all_but_last) ==
        "prefetch:dw runs in rounds \"all_but_last\", which only the offload of a gradient may\n");
  CHECK(in(with_gradient_on_host(), 4, CopyRounds::last) ==
        "prefetch:y runs in rounds \"last\", but only copies of a tensor that resides in the host pool may be left out "
        "of a round\n");
  const auto several = [](Plan plan) {
    plan.batch = plan.rounds = 3;
    plan.tasks.edit(TaskId(2)).writes = {};
    plan.tasks.edit(TaskId(2)).updates = {dw};
    plan.tensors.edit(dw).persistent = true;
    plan.summary.arena_bytes = plan.budget_bytes = 1792;
    plan.residencies[6] = {dw, 1536, 256, -1, static_cast<int32_t>(plan.steps.size())};
    plan.tasks.edit(TaskId(3)).reads = {};
    plan.tasks.edit(TaskId(3)).updates = {dw, w};
    return plan;
  };
  REQUIRE(verdict_on(several(with_weight_on_host()), [](Plan&) {}) == "");
  CHECK(in(several(with_weight_on_host()), 7, CopyRounds::all) ==
        "prefetch:w~2 fetches %w in the first round, where no task accesses it\n"
        "prefetch:w~2 fetches %w in the rounds in between, where no task accesses it\n");
  CHECK(in(several(with_weight_on_host()), 0, CopyRounds::last) ==
        "forward accesses %w in the first round, of which no copy has fetched a value then\n"
        "forward accesses %w in the rounds in between, of which no copy has fetched a value then\n");
  CHECK(in(several(with_weight_on_host()), 9, CopyRounds::all) ==
        "offload:w writes %w back in the first round, which has no value on the device then\n"
        "offload:w writes %w back in the rounds in between, which has no value on the device then\n");
}

TEST_CASE("the host pool is within the host budget, if the plan states one") {
  CHECK(verdict_after([](Plan& p) { p.host_budget_bytes = 256; }) == "");
  CHECK(verdict_after([](Plan& p) { p.host_budget_bytes = 255; }) ==
        "bounds: the host pool of 256 bytes exceeds the host budget of 255\n");
  CHECK(verdict_after([](Plan& p) { p.host_budget_bytes = 0; }) ==
        "bounds: the host pool of 256 bytes exceeds the host budget of 0\n");
}

TEST_CASE("tensors and tasks have names, each of its own") {
  CHECK(verdict_after([](Plan& p) { p.tensors.edit(x).name = ""; }) == "form: a tensor has an empty name\n");
  CHECK(verdict_after([](Plan& p) { p.tensors.edit(x).name = "w"; }) == "form: two tensors have the name w\n");
  CHECK(verdict_after([](Plan& p) { p.tasks.edit(TaskId(2)).name = ""; }) == "form: a task has an empty name\n");
  CHECK(verdict_after([](Plan& p) { p.tasks.edit(TaskId(2)).name = "forward"; }) ==
        "form: two tasks have the name forward\n");
}

TEST_CASE("times are finite and not negative, and no step ends before it begins") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const double wrong : {-1.0, nan, infinity, -infinity}) {
    CAPTURE(wrong);
    CHECK(verdict_after([&](Plan& p) { p.steps[StepId(1)].start = wrong; }).starts_with("form: step 1 runs from "));
    CHECK(verdict_after([&](Plan& p) { p.steps[StepId(1)].end = wrong; }).starts_with("form: step 1 runs from "));
    CHECK(verdict_after([&](Plan& p) {
            p.fastest.resize(2);
            p.fastest[TaskId(1)].seconds = wrong;
          }).starts_with("form: the fastest algorithm of task loss takes "));
    for (const auto figure :
         {&PlanSummary::recompute_seconds, &PlanSummary::iteration_seconds, &PlanSummary::unconstrained_seconds,
          &PlanSummary::ideal_seconds, &PlanSummary::bound_seconds, &PlanSummary::stall_seconds,
          &PlanSummary::reduce_seconds, &PlanSummary::more_seconds, &PlanSummary::planning_seconds})
      CHECK(verdict_after([&](Plan& p) { p.summary.*figure = wrong; }).find("_seconds is ") != std::string::npos);
  }
  CHECK(verdict_after([](Plan& p) { p.steps[StepId(1)].start = 2, p.steps[StepId(1)].end = 1; }) ==
        "form: step 1 runs from 2 s to 1 s\n");
}

TEST_CASE("nothing is where the next round's inputs wait") {
  const auto at = [](int64_t offset, int64_t bytes, int64_t arena) {
    return verdict_after([=](Plan& plan) {
      plan.inputs_ahead = {offset, bytes};
      plan.summary.arena_bytes = plan.budget_bytes = arena;
    });
  };
  CHECK(at(1536, 256, 1792) == "");
  CHECK(at(1536, 128, 1664).find("the next round's inputs have 128 bytes, and need 256") != std::string::npos);
  CHECK(at(1664, 256, 1920).find("the next round's inputs are at 1664, which is not aligned to 256 bytes") !=
        std::string::npos);
  CHECK(at(1536, 256, 1536).find("the next round's inputs at 0x600 end outside the arena of 1536 bytes") !=
        std::string::npos);
  CHECK(at(512, 256, 1536).find("%y at 0x200 is where the next round's inputs wait") != std::string::npos);
  CHECK(at(1280, 256, 1536).find("the workspace of forward at 0x400 is where the next round's inputs wait") !=
        std::string::npos);
}
