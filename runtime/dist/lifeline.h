// Tells ranks when another rank ends. An engine waits for all ranks without a time limit: if one is killed, runs out of
// memory, loses its machine or is stuck, the others would wait until a user notices. Therefore each rank has a thread
// and a connection to rank 0, separate from the engine:
//
//   rank 1 ──┐                     every second: "alive, at iteration 12, working, 40281 steps done"
//   rank 2 ──┼── rank 0            a connection that breaks or is silent for 20 s, or a rank that should work but has
//   rank 3 ──┘                     done nothing for 20 s: it is lost, all others are told at once and end, with exit
//                                  code 11 and one line that names it
//
// A rank that was stopped (SIGSTOP, a debugger) is silent like one whose machine is gone, and the two cannot be
// distinguished: it gets the same time limit, which can be set (`patience`). The time in which a rank does nothing
// counts from its first iteration, in seconds during which it runs: one that was stopped for a moment has not been
// idle. A rank that waits for others is not at fault (Pulse::Wait); if all wait for each other, none is at fault, and
// all end.
//
// The process is ended here instead of throwing an error, because no recovery is possible: a sum over half the ranks is
// not a sum.
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
    bool first_here = false;  // of the ranks on its machine: it reports what only this machine may know
  };

  // Returns an asynchronous failure of the engine, on a device or in its threads; "": none. Called every second, on the
  // lifeline's thread.
  using EngineFailure = std::function<std::string()>;

  // Call this on all ranks at once; it takes over the connections. `patience`: seconds; 0: unlimited.
  Lifeline(const Rank& rank, const std::vector<Spoke>& spokes, const Pulse& pulse, int64_t patience,
           EngineFailure engine_failure = {});
  // Without goodbye(): the others are told that this rank ends with an error, which it prints itself.
  ~Lifeline();
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  // All ranks are done, and have agreed on that through the engine.
  void goodbye();

 private:
  // How a rank was lost.
  enum class How : int32_t { ended, silent, failed, idle, all_wait, engine_failed };
  enum class Kind : int32_t { beat, ending, goodbye, lost };
  // All ranks have the same byte order, because they run the same program.
  struct Message {
    Kind kind = Kind::beat;
    int32_t rank = 0;
    int64_t iteration = 0;
    // For a beat.
    int64_t beats = 0;
    Pulse::Doing doing = Pulse::Doing::work;
    // For a loss.
    How how = How::ended;
  };
  // The last message from a rank, and how often it was repeated without a change.
  struct State {
    int64_t iteration = -1, beats = -1, unchanged = 0;
    Pulse::Doing doing = Pulse::Doing::work;
    void told(const Message& message);
  };
  struct Peer {
    int64_t rank = 0;
    int socket = -1;
    State state = {};
    int64_t silent = 0;  // ticks since its last message
    bool gone = false;   // it said goodbye
    int ending = -1;     // ticks since it announced its end; -1: it did not
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
  std::vector<Peer> peers_;  // for rank 0 all others, for another rank only rank 0
  std::atomic<bool> leaving_{false};
  bool friendly_ = false;
  std::thread thread_;
};

}  // namespace plimsoll::dist
