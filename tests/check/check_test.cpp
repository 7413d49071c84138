#include "compiler/check/check.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

namespace {

constexpr TensorId x(0), w(1), y(2), loss(3), dy(4), dw(5);

// One layer and a loss. y leaves the device over the loss and comes back to another place:
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
  plan.tasks.push_back({.name = "forward", .reads = {x, w}, .writes = {y}});
  plan.tasks.push_back({.name = "loss", .kind = TaskKind::loss, .reads = {y}, .writes = {loss, dy}});
  plan.tasks.push_back({.name = "weights", .kind = TaskKind::backward_weights, .reads = {y, dy}, .writes = {dw}});
  plan.tasks.push_back({.name = "update", .kind = TaskKind::update, .reads = {dw}, .updates = {w}});
  const auto copy = [&](StreamKind stream, StepKind kind, TensorId tensor, int64_t host, int wait) {
    plan.steps.push_back({.stream = stream, .kind = kind, .tensor = tensor, .host_offset = host});
    if (wait >= 0) plan.steps.back().waits = {StepId(wait)};
  };
  copy(StreamKind::h2d, StepKind::load, x, -1, -1);
  plan.steps.push_back({.task = TaskId(0), .workspace = {1024, 512}, .waits = {StepId(0)}});
  copy(StreamKind::d2h, StepKind::offload, y, 0, 1);
  plan.steps.push_back({.task = TaskId(1)});
  copy(StreamKind::h2d, StepKind::prefetch, y, 0, 2);
  plan.steps.push_back({.task = TaskId(2), .waits = {StepId(4)}});
  plan.steps.push_back({.task = TaskId(3)});
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
  CHECK(verdict_after([](Plan& plan) { plan.tasks[TaskId(0)].remembers = {x}; }) ==
        "form: task forward remembers %x, which it does not write\n");
  CHECK(verdict_after([](Plan& plan) { plan.tasks[TaskId(1)].remembers = {loss}; }) ==
        "form: task loss remembers %loss, which no task but a forward one does\n");
}

TEST_CASE("what is refused is told with names and numbers") {
  CHECK(verdict_after([](Plan& p) { p.steps[StepId(1)].waits.clear(); }) ==
        "value: forward reads %x but does not wait for load:x, which writes it\n");
  CHECK(verdict_after([](Plan& p) { p.steps[StepId(2)].waits.clear(); }) ==
        "value: offload:y reads %y but does not wait for forward, which writes it\n"
        "overlap: prefetch:y uses bytes [0x100, 0x200) for %y but does not wait for forward, which uses them for %x\n");
  CHECK(verdict_after([](Plan& p) { p.steps[StepId(4)].waits.clear(); }) ==
        "host slot: prefetch:y does not wait for offload:y, which puts %y into the host pool\n"
        "overlap: prefetch:y uses bytes [0x100, 0x200) for %y but does not wait for forward, which uses them for %x\n"
        "overlap: weights uses bytes [0x200, 0x300) for %dw but does not wait for offload:y, which uses them for %y\n");
  CHECK(verdict_after([](Plan& p) { p.steps[StepId(1)].workspace.offset = 0; }) ==
        "overlap: %w and the workspace of forward share bytes [0x0, 0x100), and %w keeps them through the whole run\n"
        "overlap: forward uses bytes [0x100, 0x200) for %x and for the workspace of forward at once\n"
        "summary: arena_bytes is 1536 when it should be 1280\n");
  CHECK(verdict_after([](Plan& p) { p.budget_bytes = 1535; }) ==
        "bounds: the arena of 1536 bytes is above the budget of 1535\n");
  CHECK(verdict_after([](Plan& p) { p.residencies[2].last_step = 2; }) ==
        "residency: loss reads %y, which is not resident then\n");
}
