#include "compiler/support/thread_pool.h"

namespace plimsoll {

ThreadPool::ThreadPool(int threads) {
  for (int worker = 1; worker < threads; ++worker) workers_.emplace_back([this] { work(stop_.get_token()); });
}

ThreadPool::~ThreadPool() {
  stop_.request_stop();
  workers_.clear();
}

WorkItem& ThreadPool::add(double priority, WorkItem::Step step, int64_t done) {
  const std::lock_guard lock(mutex_);
  items_.push_back(WorkItem(priority, done, std::move(step)));
  changed_.notify_all();
  return items_.back();
}

bool ThreadPool::reach(WorkItem& item, int64_t steps) {
  std::unique_lock lock(mutex_);
  while (item.done_ < steps && !item.ended_) {
    if (!item.running_) step(item, lock);
    else if (WorkItem* const other = workers_.empty() ? nullptr : next()) step(*other, lock);
    else changed_.wait(lock);
  }
  if (item.done_ >= steps) return true;
  if (item.failure_) std::rethrow_exception(item.failure_);
  return false;
}

void ThreadPool::limit_priority(double priority) {
  const std::lock_guard lock(mutex_);
  priority_limit_ = priority;
}

void ThreadPool::step(WorkItem& item, std::unique_lock<std::mutex>& lock) {
  item.running_ = true;
  lock.unlock();
  bool more = false;
  std::exception_ptr failure = nullptr;
  try {
    more = item.step_(stop_.get_token());
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  item.failure_ = failure;
  item.done_ += !failure;
  item.ended_ = !more;
  item.running_ = false;
  changed_.notify_all();
}

// Lowest priority value first; ties go to the item added first.
WorkItem* ThreadPool::next() {
  WorkItem* best = nullptr;
  for (WorkItem& item : items_)
    if (!item.running_ && !item.ended_ && (item.priority_ == kIdle || item.priority_ < priority_limit_) &&
        (!best || item.priority_ < best->priority_))
      best = &item;
  return best;
}

void ThreadPool::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (WorkItem* const item = next()) step(*item, lock);
    else changed_.wait(lock, stop, [&] { return next() != nullptr; });
  }
}

}  // namespace plimsoll
