// Several processes that train one model: each computes its part of every round's samples, and gradients are summed. An
// existing library computes the sums, one engine per backend in its own folder; the link selects it:
//
//   host/mpi.cpp      MPI, between processes of one machine or of several
//   host/sockets.cpp  the same over TCP, for processes started by torchrun or otherwise
//   cuda/nccl.cpp     NCCL, between GPUs
//
// Every rank does the same things in the same order. A rank that does not, or that is lost, would leave the others
// waiting; dist/lifeline.h tells them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>

namespace plimsoll::dist {

// The processes do not find each other, or the engine failed. what() names the failed call, and what to do.
class RanksError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// f32, in the arena.
struct Stretch {
  std::byte* data = nullptr;
  int64_t bytes = 0;
};

// Whether a rank makes progress, which its lifeline reports to the others. All threads that work for the rank call
// beat(); long operations (a file, a round of many steps) call it repeatedly.
class Pulse {
 public:
  enum class Doing : int32_t { work, wait_for_ranks, wait_for_device };

  void reached(int64_t iteration) {
    iteration_.store(iteration, std::memory_order_relaxed);
    beat();
  }
  void beat() { beats_.fetch_add(1, std::memory_order_relaxed); }

  int64_t iteration() const { return iteration_.load(std::memory_order_relaxed); }  // that began last; -1: none
  int64_t beats() const { return beats_.load(std::memory_order_relaxed); }
  Doing doing() const {
    return for_ranks_.load(std::memory_order_relaxed) > 0    ? Doing::wait_for_ranks
           : for_device_.load(std::memory_order_relaxed) > 0 ? Doing::wait_for_device
                                                             : Doing::work;
  }

  // During its lifetime, the rank is waiting through no fault of its own, as far as it can know: for other ranks, or
  // for a device that may be waiting for them.
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
  int64_t rank() const { return rank_; }  // from 0; rank 0 prints and writes for all
  int64_t size() const { return size_; }
  Pulse& pulse() { return pulse_; }
  virtual const char* engine() const = 0;  // MPI, TCP, NCCL

  // Replaces the contents of each stretch by the sum over all ranks: the same bits on every rank and in every run. The
  // host's engines add in the order of ranks, NCCL along a pinned ring. Called on the backend's comm stream, and from
  // nowhere else while a round is played. `workspace` is the plan's.
  virtual void add_up(std::span<const Stretch> stretches, std::byte* workspace, int64_t workspace_bytes,
                      void* stream) = 0;

  // Between rounds, for host memory: distributes the data of rank 0; collects the data of all ranks in rank order.
  virtual void broadcast(void* data, int64_t bytes) = 0;
  virtual void gather(const void* mine, int64_t bytes, void* all) = 0;

  // All ranks are done: none waits for this one any more. A process that ends without this call ends the others.
  virtual void leave() = 0;

 protected:
  int64_t rank_ = 0, size_ = 1;
  Pulse pulse_;
};

// Connects to the other processes. Throws RanksError if their number is not `ranks`. `patience`: seconds of silence or
// inactivity after which a rank counts as lost; 0: unlimited, for use with a debugger.
std::unique_ptr<Ranks> join(int64_t ranks, int64_t patience);

}  // namespace plimsoll::dist
