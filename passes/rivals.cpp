#include "passes/rivals.h"

#include <list>
#include <utility>

#include "compiler/support/thread_pool.h"
#include "passes/policies.h"

namespace plimsoll {

Rivals::Rivals(const Planning& planning) : planning_(planning) {
  for (const Policy& policy : all_policies())
    if (!policy.searches && policy.share_memory) recipes_.emplace_back(planning, policy);
  for (const Recipe& recipe : recipes_)
    for (const int64_t limit : recipe.limits_of_rival()) ahead_.emplace_back(&recipe, limit);
}

Status Rivals::for_each_plan(const MakePlan& make, const std::function<void(Found)>& take,
                             const std::function<bool()>& done) {
  struct Call {
    WorkItem* item = nullptr;
    Result<std::optional<Found>> plan = std::optional<Found>();
  };
  std::list<Call> all;
  ThreadPool pool(planning_.request.threads);
  for (Recipe& recipe : recipes_) {
    Call& call = all.emplace_back();
    call.item = &pool.add(static_cast<double>(all.size()), [&](const std::stop_token& unwanted) {
      call.plan = make(recipe, unwanted);
      return false;
    });
  }
  for (Call& call : all) {
    if (done()) break;
    pool.reach(*call.item, 1);
    if (!call.plan.ok()) return call.plan.error();
    if (*call.plan) take(std::move(**call.plan));
  }
  return {};
}

Status Rivals::take_faster(Found& best, const Deadline& deadline) {
  return for_each_plan(
      [&, seconds = best.seconds()](Recipe& recipe, const std::stop_token& unwanted) {
        return recipe.rival(seconds, deadline.unless(unwanted));
      },
      [&](Found faster) {
        if (faster.seconds() < best.seconds()) best = std::move(faster);
      },
      [&] { return deadline.passed(); });
}

bool Rivals::look_ahead(double seconds, const Deadline& deadline) {
  if (planning_.variants.measures() || ahead_.empty() || deadline.passed()) return false;
  const auto [recipe, limit] = ahead_.front();
  ahead_.pop_front();
  return recipe->precompute_rival(limit, seconds).ok();
}

}  // namespace plimsoll
