// The next round's inputs, copied to the device while a round computes, if the plan has room for them
// (Program::inputs_ahead). Loads then copy within the device:
//
//   compute  ─┬───────── 0 ── 1 ── 2 ── 3 ── … ──┬─►
//   h2d       └─ load ── (wait) ── next samples ─┘      the trainer stages the next samples while the round runs
//
// All uses of that part of the arena are on the h2d stream, in this order, so no round overwrites samples before they
// are loaded. A round whose samples were not announced first copies its own.
#pragma once

#include <cuda_runtime.h>

#include <utility>
#include <vector>

#include "runtime/cuda/device/check.h"
#include "runtime/program.h"
#include "runtime/streams.h"

namespace plimsoll::cuda {

class InputsAhead {
 public:
  InputsAhead(const Program& program, std::byte* arena) {
    if (program.inputs_ahead < 0) return;
    for (size_t i = 0; i < program.inputs.size(); ++i)
      places_.push_back({arena + ahead_of_round(program, i), program.inputs[i].desc.bytes()});
  }
  bool on() const { return !places_.empty(); }

  // Before a round is issued or launched on `compute`.
  void begin(const RoundJob& job, cudaStream_t compute) {
    job_ = &job;
    if (const uint64_t held = std::exchange(held_, 0); held == job.number && held != 0) return;
    for (size_t i = 0; i < places_.size(); ++i) copy(places_[i].at, job.staged[i], places_[i].bytes, compute);
  }

  // A load of this round.
  void load(size_t input, std::byte* to, int64_t bytes, cudaStream_t h2d) const {
    check(cudaMemcpyAsync(to, places_[input].at, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, h2d),
          "cudaMemcpyAsync of a load");
  }

  // After the last load. `each`(input, from, to, bytes) is called after each copy has been issued.
  template <class Each>
  void bring_next(cudaStream_t h2d, Each each) {
    constexpr auto wait = [](void* self) {
      const StagedAhead& next = static_cast<const InputsAhead*>(self)->job_->next;
      if (next.wait) next.wait(next.waits_for);
    };
    check(cudaLaunchHostFunc(h2d, wait, this), "cudaLaunchHostFunc");
    for (size_t i = 0; i < places_.size(); ++i) {
      copy(places_[i].at, next_staged(i), places_[i].bytes, h2d);
      each(i, next_staged(i), places_[i].at, places_[i].bytes);
    }
  }

  // The next round's samples; if they are not known, those of this round once more, so that both are the same
  // recording.
  const std::byte* next_staged(size_t input) const {
    return job_->next.staged.empty() ? job_->staged[input] : job_->next.staged[input];
  }

  // When the round has ended.
  void end() { held_ = job_->next.staged.empty() ? 0 : job_->next.number; }

 private:
  struct Place {
    std::byte* at;
    int64_t bytes;
  };

  static void copy(std::byte* to, const std::byte* from, int64_t bytes, cudaStream_t on) {
    check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, on),
          "cudaMemcpyAsync of samples");
  }

  std::vector<Place> places_;      // by input
  uint64_t held_ = 0;              // RoundJob::number of what is there; 0: unknown
  const RoundJob* job_ = nullptr;  // of the round that runs
};

}  // namespace plimsoll::cuda
