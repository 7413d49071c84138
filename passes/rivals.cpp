#include "passes/rivals.h"

#include <list>
#include <utility>

#include "passes/policies.h"
#include "passes/thread_pool.h"

namespace plimsoll {

Rivals::Rivals(Variants& variants, const RecipeRequest& request, int threads)
    : measures_(variants.measures()), threads_(threads) {
  for (const Policy& policy : all_policies())
    if (!policy.searches && policy.share_memory) recipes_.emplace_back(variants, policy, request);
}

Status Rivals::ask(
    const std::function<Result<std::optional<Found>>(Recipe& recipe, const std::stop_token& unwanted)>& ask,
    const std::function<void(Found)>& take, const std::function<bool()>& done) {
  struct Asked {
    WorkItem* item = nullptr;
    Result<std::optional<Found>> answer = std::optional<Found>();
  };
  std::list<Asked> all;
  ThreadPool pool(threads_);
  for (Recipe& recipe : recipes_) {
    Asked& asked = all.emplace_back();
    asked.item = &pool.add(static_cast<double>(all.size()), [&](const std::stop_token& unwanted) {
      asked.answer = ask(recipe, unwanted);
      return false;
    });
  }
  for (Asked& asked : all) {
    if (done()) break;
    pool.reach(*asked.item, 1);
    if (!asked.answer.ok()) return asked.answer.error();
    if (*asked.answer) take(std::move(**asked.answer));
  }
  return {};
}

Status Rivals::take_faster(Found& best, const Deadline& deadline) {
  return ask(
      [&, seconds = best.seconds()](Recipe& recipe, const std::stop_token& unwanted) {
        return recipe.rival(seconds, deadline.unless(unwanted));
      },
      [&](Found faster) {
        if (faster.seconds() < best.seconds()) best = std::move(faster);
      },
      [&] { return deadline.passed(); });
}

bool Rivals::look_ahead(double seconds, const Deadline& deadline) {
  if (measures_ || ahead_ == recipes_.size() || deadline.passed()) return false;
  const Result<bool> more = recipes_[ahead_].precompute_rival(number_++, seconds);
  if (!more.ok()) return false;
  if (!*more) {
    ++ahead_;
    number_ = 0;
  }
  return true;
}

}  // namespace plimsoll
