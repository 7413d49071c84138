// Makes the names of tensors or tasks unique, in the order in which they are given: the second "dx" becomes "dx/2".
//
// Comparing names takes a quarter of the time in which a deep network becomes a task graph, and their owner needs the
// result only at the end. So names are compared in batches, with a second thread while the owner goes on. The names do
// not depend on the number of threads.
#pragma once

#include <cstdint>
#include <deque>
#include <future>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace plimsoll {

class UniqueNames {
 public:
  explicit UniqueNames(int threads) : threads_(threads) {}
  UniqueNames(const UniqueNames&) = delete;  // the other thread has a pointer to it

  // `id`: the owner's number for what has this name.
  void add(int32_t id, std::string_view name);

  // Of the names added since the last call: those that were taken, with what they become.
  std::vector<std::pair<int32_t, std::string>> take_changes();

 private:
  struct Batch {
    std::string text;                               // the names, one after the other
    std::vector<std::pair<int32_t, size_t>> names;  // id and end of each
  };
  // Only one batch is compared at a time.
  void compare(Batch batch);

  const int threads_;
  Batch open_;
  std::deque<std::string> texts_;  // what the names of times_ refer to
  std::unordered_map<std::string_view, int32_t> times_;  // how often each name was given
  std::vector<std::pair<int32_t, std::string>> changes_;
  std::future<void> pending_;  // last: its destructor waits for the thread, which uses the others
};

}  // namespace plimsoll
