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

class Ranks {
 public:
  virtual ~Ranks() = default;
  int64_t rank() const { return rank_; }  // from 0; rank 0 speaks and writes for all
  int64_t size() const { return size_; }

  // What each rank has there becomes the sum over all of them: the same bits on every rank and in every run. The host's
  // engines add up in the order of ranks, NCCL along a ring that is pinned. Called on the backend's comm stream, and
  // by nobody else while a round is played. `workspace` is the plan's.
  virtual void add_up(std::span<const Stretch> stretches, std::byte* workspace, int64_t workspace_bytes, void* stream) = 0;

  // Between rounds, of the host's memory. What rank 0 has; what each rank has, one after the other.
  virtual void broadcast(void* data, int64_t bytes) = 0;
  virtual void gather(const void* mine, int64_t bytes, void* all) = 0;

  // This rank begins an iteration: what the others say of it if it is lost.
  virtual void reached(int64_t iteration) = 0;

  // All are done: nobody waits for this one any more. A process that ends without saying so ends the others.
  virtual void leave() = 0;

 protected:
  int64_t rank_ = 0, size_ = 1;
};

// Finds the other processes. Throws RanksError where they are not `ranks`. `patience`: seconds of silence behind which a rank
// counts as lost; 0: for ever, for whoever looks at one with a debugger.
std::unique_ptr<Ranks> join(int64_t ranks, int64_t patience);

}  // namespace plimsoll::dist
