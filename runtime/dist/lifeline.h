// Tells ranks of each other's end. An engine waits for all ranks and knows no end of waiting: where one is killed, runs out
// of memory, loses its machine or stands still, the others would wait until somebody looks. So each has a thread and a
// connection to rank 0, beside the engine:
//
//   rank 1 ──┐                     every second: "I am there, at iteration 12, at work, 40281 steps done"
//   rank 2 ──┼── rank 0            a connection that breaks or is silent for 20 s, or a rank that is at work and has done
//   rank 3 ──┘                     nothing for 20 s: it is lost, all others hear of it at once and end, with exit code 11
//                                  and one line that names it
//
// A rank that was stopped (SIGSTOP, a debugger) is silent like one whose machine is gone, and nobody can tell them apart: it is
// given the same time, and how much that is can be said (`patience`). The time in which a rank does nothing counts from its
// first iteration on, in seconds that it runs itself: one that is stopped for a moment has not been idle. Who waits for
// others is not at fault (Pulse::Wait); where all wait for each other, none is, and all end.
//
// What ends a process here is nothing that could be caught and gone on from: half the ranks of a sum are no sum.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/dist/ranks.h"
#include "runtime/dist/star.h"

namespace plimsoll::dist {

inline constexpr int kExitRankLost = 11;

class Lifeline {
 public:
  struct Rank {
    int64_t number = 0;
    bool first_here = false;  // of those on its machine: it says there what only this machine may know
  };

  // What the engine says has failed behind its calls, for what it does on a device or by threads of its own; "": nothing. Asked
  // every second, on the lifeline's thread.
  using EngineFailure = std::function<std::string()>;

  // By all ranks at once; the connections are taken over. `patience`: seconds; 0: for ever.
  Lifeline(const Rank& rank, const std::vector<Spoke>& spokes, const Pulse& pulse, int64_t patience, EngineFailure engine_failure = {});
  // Without goodbye(): the others are told that this rank ends with an error, which it prints itself.
  ~Lifeline();
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  // All ranks are done, and have said so to each other by the engine.
  void goodbye();

 private:
  // How a rank was lost.
  enum class How : int32_t { ended, silent, failed, idle, all_wait, engine_failed };
  enum class Kind : int32_t { beat, ending, goodbye, lost };
  // One byte order: ranks run one and the same program.
  struct Message {
    Kind kind = Kind::beat;
    int32_t rank = 0;
    int64_t iteration = 0;
    // Of a beat.
    int64_t beats = 0;
    Pulse::Doing doing = Pulse::Doing::work;
    // Of a loss.
    How how = How::ended;
  };
  // What was told of a rank last, and how often it was told without a change.
  struct State {
    int64_t iteration = -1, beats = -1, unchanged = 0;
    Pulse::Doing doing = Pulse::Doing::work;
    void told(const Message& message);
  };
  struct Peer {
    int64_t rank = 0;
    int socket = -1;
    State state = {};
    int64_t silent = 0;  // ticks since it was heard
    bool gone = false;   // it said goodbye
    int ending = -1;     // ticks since it said that it ends; -1: it did not
  };

  void serve();
  void tick();
  void hear(Peer& peer);
  void say(const Peer& peer, const Message& message) const;
  Message here(Kind kind) const;
  bool is_idle(const State& state, Pulse::Doing doing) const;
  bool all_wait() const;
  void lost(int64_t rank, int64_t iteration, How how, bool told);

  const Rank rank_;
  const Pulse& pulse_;
  const int64_t patience_;
  const EngineFailure engine_failure_;
  State mine_;
  std::vector<Peer> peers_;  // of rank 0 all others, of another rank 0
  std::atomic<bool> leaving_{false};
  bool friendly_ = false;
  std::thread thread_;
};

}  // namespace plimsoll::dist
