// A thread pool for speculative work. Results are consumed in the sequential order, so what is computed from them does
// not depend on the number of threads or their speed.
//
//   caller    |a1 |a2 |-|b1| use |b3|             each step runs on the first free thread, the caller included;
//   workers   |b1 |b2 |c1 |c2 |c3 |               steps of one work item run in order, one at a time
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <list>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace plimsoll {

// A unit of work that runs in steps. The caller that adds it owns its state, and may read the results of a step once
// reach() has returned for that step.
class WorkItem {
 public:
  // Runs one step. Returns false after the last. After a stop request it may return early and leave the item
  // unfinished: no caller waits for it.
  using Step = std::function<bool(const std::stop_token& stop)>;

 private:
  friend class ThreadPool;
  WorkItem(double priority, int64_t done, Step step) : priority_(priority), done_(done), step_(std::move(step)) {}

  const double priority_;
  int64_t done_;
  const Step step_;
  bool running_ = false, ended_ = false;
  std::exception_ptr failure_ = nullptr;
};

class ThreadPool {
 public:
  // `threads`: total number of threads, including the caller's. 1 disables speculation.
  explicit ThreadPool(int threads);
  // Requests a stop and joins the workers.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Workers take items of lower priority value first. `done`: steps already completed. A step may add items.
  WorkItem& add(double priority, WorkItem::Step step, int64_t done = 0);

  // An item for threads that have no other, whatever the limit of priority. No caller may reach for it.
  void add_idle(WorkItem::Step step) { add(kIdle, std::move(step)); }

  // Blocks until `steps` steps are done, or returns false if the item ended before. Rethrows an exception of a step.
  bool reach(WorkItem& item, int64_t steps);

  // Workers ignore items with this priority value or a higher one from now on. A caller that reaches for such an item
  // runs it alone.
  void limit_priority(double priority);

 private:
  static constexpr double kIdle = std::numeric_limits<double>::infinity();

  WorkItem* next();
  void work(const std::stop_token& stop);
  void step(WorkItem& item, std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<WorkItem> items_ = {};
  double priority_limit_ = kIdle;
  std::stop_source stop_;
  // Declared last: joined before the members that the workers use are destroyed.
  std::vector<std::jthread> workers_ = {};
};

}  // namespace plimsoll
