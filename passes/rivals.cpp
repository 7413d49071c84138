#include "passes/rivals.h"

#include <list>
#include <optional>
#include <utility>

#include "passes/thread_pool.h"

namespace plimsoll {

Status take_faster_recipes(Found& best, const std::function<Recipe(const Policy&, const Deadline&)>& recipe_of,
                           int threads, const Deadline& deadline) {
  struct Rival {
    WorkItem* asked = nullptr;
    std::optional<Found> faster = {};
    Status status = {};
  };
  std::list<Rival> rivals;
  const double seconds = best.seconds();
  ThreadPool pool(threads);
  for (const Policy& policy : all_policies()) {
    if (policy.searches || !policy.share_memory) continue;
    Rival& rival = rivals.emplace_back();
    rival.asked = &pool.add(static_cast<double>(rivals.size()), [&, seconds](const std::stop_token& stop) {
      Result<std::optional<Found>> faster = recipe_of(policy, deadline.unless(stop)).rival(seconds);
      if (faster.ok())
        rival.faster = std::move(*faster);
      else
        rival.status = faster.error();
      return false;
    });
  }
  for (Rival& rival : rivals) {
    if (deadline.passed()) break;
    pool.reach(*rival.asked, 1);
    PLIMSOLL_TRY(rival.status);
    if (rival.faster && rival.faster->seconds() < best.seconds()) best = std::move(*rival.faster);
  }
  return {};
}

}  // namespace plimsoll
