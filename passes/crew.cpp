#include "passes/crew.h"

#include <limits>

namespace plimsoll {

Crew::Crew(int hands) : wanted_below_(std::numeric_limits<double>::infinity()) {
  for (int helper = 1; helper < hands; ++helper) helpers_.emplace_back([this] { help(stop_.get_token()); });
}

Crew::~Crew() {
  stop_.request_stop();
  helpers_.clear();
}

Errand& Crew::add(double rank, Errand::Step step, int64_t done) {
  const std::lock_guard lock(mutex_);
  errands_.push_back(Errand(rank, done, std::move(step)));
  changed_.notify_all();
  return errands_.back();
}

bool Crew::reach(Errand& errand, int64_t steps) {
  std::unique_lock lock(mutex_);
  while (errand.done_ < steps && !errand.ended_) {
    if (!errand.taken_) step(errand, lock);
    else if (Errand* const other = helpers_.empty() ? nullptr : next()) step(*other, lock);
    else changed_.wait(lock);
  }
  if (errand.done_ >= steps) return true;
  if (errand.failure_) std::rethrow_exception(errand.failure_);
  return false;
}

void Crew::want_below(double rank) {
  const std::lock_guard lock(mutex_);
  wanted_below_ = rank;
}

void Crew::step(Errand& errand, std::unique_lock<std::mutex>& lock) {
  errand.taken_ = true;
  lock.unlock();
  bool more = false;
  std::exception_ptr failure = nullptr;
  try {
    more = errand.step_(stop_.get_token());
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  errand.failure_ = failure;
  errand.done_ += !failure;
  errand.ended_ = !more;
  errand.taken_ = false;
  changed_.notify_all();
}

// Lowest rank first; ties go to the item added first.
Errand* Crew::next() {
  Errand* best = nullptr;
  for (Errand& errand : errands_)
    if (!errand.taken_ && !errand.ended_ && errand.rank_ < wanted_below_ && (!best || errand.rank_ < best->rank_)) best = &errand;
  return best;
}

void Crew::help(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (Errand* const errand = next()) step(*errand, lock);
    else changed_.wait(lock, stop, [&] { return next() != nullptr; });
  }
}

}  // namespace plimsoll
