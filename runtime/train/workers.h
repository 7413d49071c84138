// --workers N: threads that read and decode samples together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace plimsoll::train {

class Workers {
 public:
  // `threads`: in total, including the calling thread; 1 starts none.
  explicit Workers(int64_t threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Calls work(0) to work(count - 1), each once, on any of the threads, and returns when all are done. `work` may not
  // depend on the order. If calls throw, the exception of the lowest index is rethrown: the one that a single thread
  // meets first. Allocates nothing.
  template <class Work>
  void run(int64_t count, const Work& work) {
    run(count, [](const void* of, int64_t index) { (*static_cast<const Work*>(of))(index); }, &work);
  }

 private:
  using Call = void (*)(const void* work, int64_t index);
  void run(int64_t count, Call call, const void* work);
  void take_items();
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t generation_ = 0;  // of calls of run()
  int64_t running_ = 0;      // threads that have not finished this generation
  bool ending_ = false;
  Call call_ = nullptr;
  const void* work_ = nullptr;
  int64_t count_ = 0;
  std::atomic<int64_t> next_{0};
  int64_t failed_at_ = -1;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace plimsoll::train
