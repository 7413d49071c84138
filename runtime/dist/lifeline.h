// Tells ranks of each other's end. An engine waits for all ranks and knows no end of waiting: where one is killed, runs out
// of memory or loses its machine, the others would stand still until somebody looks. So each has a thread and a
// connection to rank 0, beside the engine:
//
//   rank 1 ──┐                     every second: "I am there, at iteration 12"
//   rank 2 ──┼── rank 0            a connection that breaks, or is silent for 20 s: that rank is gone, all others hear of it
//   rank 3 ──┘                     at once and end, with exit code 11 and one line that names it
//
// A rank that was stopped (SIGSTOP, a debugger) is silent like one whose machine is gone, and nobody can tell them apart: it is
// given the same time, and how much that is can be said (Ranks, `patience`). A rank that works on without end is not lost: its
// thread goes on telling, and a long evaluation looks the same.
//
// What ends a process here is nothing that could be caught and gone on from: half the ranks of a sum are no sum.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "runtime/dist/star.h"

namespace plimsoll::dist {

inline constexpr int kExitRankLost = 11;

class Lifeline {
 public:
  // By all ranks at once; the connections are taken over. `patience`: seconds of silence; 0: for ever.
  Lifeline(int64_t rank, const std::vector<Spoke>& spokes, int64_t patience);
  // Without goodbye(): the others are told that this rank ends with an error, which it prints itself.
  ~Lifeline();
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  void reached(int64_t iteration) { iteration_.store(iteration, std::memory_order_relaxed); }
  // All ranks are done, and have said so to each other by the engine.
  void goodbye();

 private:
  struct Peer {
    int64_t rank = 0;
    int socket = -1;
    int64_t iteration = -1;  // that it has told of last
    int64_t silent = 0;      // ticks since then
    bool gone = false;       // it said goodbye
    int ending = -1;         // ticks since it said that it ends; -1: it did not
  };
  struct Message;

  void serve();
  void tick();
  void hear(Peer& peer);
  void say(Peer& peer, int kind, int64_t rank, int64_t iteration);
  void lost(int64_t rank, int64_t iteration, const std::string& how);

  const int64_t rank_, patience_;
  std::vector<Peer> peers_;  // of rank 0 all others, of another rank 0
  std::atomic<int64_t> iteration_{-1};
  std::atomic<bool> leaving_{false};
  bool friendly_ = false;
  std::thread thread_;
};

}  // namespace plimsoll::dist
