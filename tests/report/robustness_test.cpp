#include "compiler/report/robustness.h"

#include <catch2/catch.hpp>

#include "compiler/ir/plan_text.h"

using namespace plimsoll;

namespace {

// Compute is busy from 0 to 4, concurrently with an offload that ends at `offloaded`; then a fetch of one second, for
// which the last task waits.
Plan robust_plan(const std::string& offload, const std::string& fetch, const std::string& last) {
  const auto plan = plan_from_text(R"(plan robust v1 batch=1 sub_batch=1 rounds=1 last=1
target host
policy test rules=true
budget 4096
tensor %x input 256
tensor %a.Y activation 512
tensor %b.Y activation 512
tensor %b.dY activation_gradient 512
task a.forward Conv forward layer=a read %x write %a.Y
task b.forward Conv forward layer=b read %a.Y write %b.Y
task b.backward Conv backward layer=b read %b.Y write %b.dY
task a.backward Conv backward_weights layer=a read %a.Y %b.dY
compute  a.forward -> %a.Y@0x100 time=0:1
compute  b.forward -> %b.Y@0x400 time=1:2
d2h      offload:a.Y host@0x0 time=)" + offload + R"( after a.forward
h2d      prefetch:a.Y host@0x0 -> %a.Y@0x100 time=)" + fetch + R"( after offload:a.Y
compute  b.backward -> %b.dY@0x800 time=2:4
compute  a.backward time=)" + last + R"( after prefetch:a.Y
)");
  if (!plan.ok()) FAIL(plan.error().message);
  return *plan;
}

}  // namespace

TEST_CASE("copies that end long before they are wanted may be slower and tasks may not") {
  const Robustness robust = robustness_of(robust_plan("1:2", "2:3", "4:5"));
  CHECK(robust.has_links);
  CHECK(robust.slower_links == Approx(0).margin(1e-12));
  CHECK(robust.slower_tasks == Approx(kSpread));
  CHECK(robust.by_chance > 0);
  CHECK(robust.by_chance < kSpread);
}

TEST_CASE("copies that compute waits for already make an iteration longer by as much") {
  // 1 s of a task, 5 s of copies that are waited for, 1 s of a task: a total of 7 s, to which a fifth of 5 s is added.
  const Robustness robust = robustness_of(robust_plan("1:3", "3:6", "6:7"));
  CHECK(robust.slower_links == Approx(kSpread * 5 / 7));
  CHECK(robust.slower_tasks == Approx(kSpread * 2 / 7));
  CHECK(worst_of(robust) >= robust.slower_links);
}

TEST_CASE("what is said of a plan is said of it every time") {
  const Plan plan = robust_plan("1:3", "3:6", "6:7");
  CHECK(robustness_of(plan).by_chance == robustness_of(plan).by_chance);
  CHECK(robustness_of(Plan{}).by_chance == 0);
}

// A tensor of the batch in two rounds, the second half as large: 2 s, then 1 s and an update of 1 s.
TEST_CASE("an iteration is all of its rounds, of which the last alone has updates") {
  const auto plan = plan_from_text(R"(plan rounds v1 batch=3 sub_batch=2 rounds=2 last=1
target host
policy test rules=true
budget 4096
tensor %x input 256
tensor %w weight 256 persistent
tensor %dw weight_gradient 256 persistent
task a.forward Conv forward layer=a read %x update %dw
task a.update Sgd update layer=a read %dw update %w
h2d      load:x -> %x@0x200 time=0:1
compute  a.forward time=1:2 after load:x
compute  a.update time=2:3
)");
  if (!plan.ok()) FAIL(plan.error().message);
  // Rounds of 2 s and of 0.5 + 0.5 + 1 s: 4 s, of which copies take 1.5.
  const Robustness robust = robustness_of(*plan);
  CHECK(robust.slower_links == Approx(kSpread * 1.5 / 4));
  CHECK(robust.slower_tasks == Approx(kSpread * 2.5 / 4));
}
