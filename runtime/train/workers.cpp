#include "runtime/train/workers.h"

#include <utility>

namespace plimsoll::train {

Workers::Workers(int64_t threads) {
  for (int64_t i = 1; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run(int64_t count, Call call, const void* work) {
  {
    const std::lock_guard lock(mutex_);
    call_ = call;
    work_ = work;
    count_ = count;
    next_ = 0;
    failed_at_ = -1;
    failure_ = nullptr;
    running_ = static_cast<int64_t>(threads_.size());
    ++generation_;
  }
  changed_.notify_all();
  take_items();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return running_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// Items are taken in order, so all before a failed one have been taken by some thread, which finishes them.
void Workers::take_items() {
  for (;;) {
    const int64_t index = next_.fetch_add(1);
    if (index >= count_) return;
    try {
      call_(work_, index);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (failed_at_ < 0 || index < failed_at_) {
        failed_at_ = index;
        failure_ = std::current_exception();
      }
      next_ = count_;
    }
  }
}

void Workers::serve() {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || generation_ != seen; });
    if (ending_) return;
    seen = generation_;
    lock.unlock();
    take_items();
    lock.lock();
    if (--running_ == 0) changed_.notify_all();
  }
}

}  // namespace plimsoll::train
