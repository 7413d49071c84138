// Several processes that train one model: each computes its part of every round's samples, and gradients are added up.
// An engine that exists does the adding up, one per backend in a folder of its own; the link decides which:
//
//   host/mpi.cpp      MPI, between processes of one machine or of several
//   host/sockets.cpp  the same by TCP, for processes that torchrun or somebody else has started
//   cuda/nccl.cpp     NCCL, between GPUs
//
// Every rank does the same things in the same order. One that does not, or that is gone, would leave the others waiting:
// dist/lifeline.h tells them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>

namespace plimsoll::dist {

// The processes do not find each other, or the engine failed. what() says which call, and what to do.
class RanksError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// f32, in the arena.
struct Stretch {
  std::byte* data = nullptr;
  int64_t bytes = 0;
};

// Whether a rank gets on, as its lifeline tells the others. Whoever works for the rank touches it, on any thread; what takes
// long by nature (a file, a round of many steps) does so piece by piece.
class Pulse {
 public:
  enum class Doing : int32_t { work, wait_for_ranks, wait_for_device };

  void reached(int64_t iteration) {
    iteration_.store(iteration, std::memory_order_relaxed);
    beat();
  }
  void beat() { beats_.fetch_add(1, std::memory_order_relaxed); }

  int64_t iteration() const { return iteration_.load(std::memory_order_relaxed); }  // that began last; -1: none has
  int64_t beats() const { return beats_.load(std::memory_order_relaxed); }
  Doing doing() const {
    return for_ranks_.load(std::memory_order_relaxed) > 0    ? Doing::wait_for_ranks
           : for_device_.load(std::memory_order_relaxed) > 0 ? Doing::wait_for_device
                                                             : Doing::work;
  }

  // While it is alive, the rank stands still for no fault of its own, as far as it can know: it waits for other ranks, or
  // for a device that may.
  class Wait {
   public:
    explicit Wait(Pulse& pulse, Doing doing = Doing::wait_for_ranks)
        : pulse_(pulse), count_(doing == Doing::wait_for_ranks ? pulse.for_ranks_ : pulse.for_device_) {
      count_.fetch_add(1, std::memory_order_relaxed);
      pulse_.beat();
    }
    ~Wait() {
      count_.fetch_sub(1, std::memory_order_relaxed);
      pulse_.beat();
    }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    Pulse& pulse_;
    std::atomic<int>& count_;
  };

 private:
  std::atomic<int64_t> iteration_{-1}, beats_{0};
  std::atomic<int> for_ranks_{0}, for_device_{0};
};

class Ranks {
 public:
  virtual ~Ranks() = default;
  int64_t rank() const { return rank_; }  // from 0; rank 0 speaks and writes for all
  int64_t size() const { return size_; }
  Pulse& pulse() { return pulse_; }
  virtual const char* engine() const = 0;  // MPI, TCP, NCCL

  // What each rank has there becomes the sum over all of them: the same bits on every rank and in every run. The host's
  // engines add up in the order of ranks, NCCL along a ring that is pinned. Called on the backend's comm stream, and
  // by nobody else while a round is played. `workspace` is the plan's.
  virtual void add_up(std::span<const Stretch> stretches, std::byte* workspace, int64_t workspace_bytes, void* stream) = 0;

  // Between rounds, of the host's memory. What rank 0 has; what each rank has, one after the other.
  virtual void broadcast(void* data, int64_t bytes) = 0;
  virtual void gather(const void* mine, int64_t bytes, void* all) = 0;

  // All are done: nobody waits for this one any more. A process that ends without saying so ends the others.
  virtual void leave() = 0;

 protected:
  int64_t rank_ = 0, size_ = 1;
  Pulse pulse_;
};

// Finds the other processes. Throws RanksError where they are not `ranks`. `patience`: seconds of silence or of
// standing still behind which a rank counts as lost; 0: for ever, for whoever looks at one with a debugger.
std::unique_ptr<Ranks> join(int64_t ranks, int64_t patience);

}  // namespace plimsoll::dist
