// Hands that do ahead what whoever plans will probably ask for. What is done, and in which order its parts come, does not depend on how
// many hands there are, nor on which of them is faster: only when it is done does.
//
//   asks      |a1 |a2 |-|b1| use |b3|             a step is done by whoever comes first, the one who asks included;
//   helps     |b1 |b2 |c1 |c2 |c3 |               nobody does two steps of an errand at once, or in another order
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace plimsoll {

// Work in steps. One for each question; what a step found is its own business, and may be looked at once it has been reached.
class Errand {
 public:
  // Does a step; false: it was the last. Once it is asked to stop, it may leave the errand half done: nobody will ask for it.
  using Step = std::function<bool(const std::stop_token& stop)>;

 private:
  friend class Crew;
  Errand(double rank, int64_t done, Step step) : rank_(rank), done_(done), step_(std::move(step)) {}

  const double rank_;
  int64_t done_;
  const Step step_;
  bool taken_ = false, ended_ = false;
  std::exception_ptr failure_ = nullptr;
};

class Crew {
 public:
  // With so many hands, that of whoever asks included: with one, nothing is done before it is asked for.
  explicit Crew(int hands);
  // Asks those who are at work to stop, and waits for them.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // The lower the rank, the sooner helpers look at it. `done`: of its steps, before. A step may add errands.
  Errand& add(double rank, Errand::Step step, int64_t done = 0);

  // Returns when so many steps of the errand are done, or when it has ended: false. Throws what the step has thrown.
  bool reach(Errand& errand, int64_t steps);

  // Errands of this rank and above are not wanted any more; who asks for one nevertheless does it alone.
  void want_below(double rank);

 private:
  Errand* next();
  void help(const std::stop_token& stop);
  void step(Errand& errand, std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Errand> errands_ = {};
  double wanted_below_;
  std::stop_source stop_;
  std::vector<std::jthread> helpers_ = {};  // the last member: they are gone before what they use
};

}  // namespace plimsoll
