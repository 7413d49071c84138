// Plays the steps of a round on a backend's streams. The link selects the backend.
//
// Before: accesses to the same bytes are ordered by streams and waits (the checker has proved it). Then the result is
// that of the steps in their order of issue, however long each of them takes.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "runtime/backend.h"
#include "runtime/dist/ranks.h"
#include "runtime/kernel_set.h"
#include "runtime/round.h"
#include "runtime/step_times.h"

namespace plimsoll {

struct Program;

// Samples that are staged when wait(waits_for) has returned; it may be called on any thread, until the round has ended.
struct StagedAhead {
  std::span<const std::byte* const> staged =
      {};               // as RoundJob::staged, with the bytes of a full sub-batch; empty: none
  uint64_t number = 0;  // of the round that will have them
  void (*wait)(const void* waits_for) = nullptr;
  const void* waits_for = nullptr;
};

// One round to play. If context.training is false, only the forward part.
struct RoundJob {
  const KernelSet* kernels = nullptr;
  std::span<const std::byte* const> staged = {};  // per input: this round's samples, contiguous
  uint64_t number = 0;                            // of these samples, different for others; 0: not known
  // The samples of the next round, which a backend may copy to Program::inputs_ahead while this round runs. A round
  // with other samples may follow nevertheless.
  StagedAhead next = {};
  RunContext context = {};
  int64_t samples = 0;
  bool first = false;  // of its iteration: gradients that reside in the host pool start from zero
  bool last = false;   // of its iteration: updates run
  bool may_record = true;  // a backend that supports it may record the round and replay it as a unit
  // If this round's loss is not finite, updates run with context.discard. A backend that issues ahead of its device
  // need not wait for the loss: it stays in the arena until the round ends (docs/plan-format.md, rule 5).
  bool guarded = false;
  dist::Ranks* ranks = nullptr;  // computes the sums, if the program has several ranks
  StepTimes* times = nullptr;  // filled as far as the backend measures; null: not requested
};

struct RoundResult {
  double loss = 0;
  double correct = 0;
  double factor = 1;         // of the gradients, in the last round of a program that scales its loss
  double stall_seconds = 0;  // the compute stream waiting for copies, as far as the backend measures
  double reduce_seconds = 0;  // reductions over ranks, including the wait for the slowest rank; likewise
  // why a round that should be recorded was issued step by step; valid as long as the streams
  std::string_view not_recorded = {};
};

namespace backend {

enum class Overlap {
  streams,  // steps of different streams overlap
  // A round calls program.forward and program.backward, and each step runs when its line is called, on the calling
  // thread: a debugger can step through the program. Nothing is recorded.
  none,
};

class Streams {
 public:
  // Keeps references, copies nothing. `pool` may be null if the program offloads nothing.
  Streams(const Program& program, const Round& round, const Arena& arena, HostPool* pool,
          Overlap overlap = Overlap::streams);
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // Returns when every stream has finished. Does not allocate. Throws what a kernel or a copy threw; the contents of
  // the arena are then undefined.
  RoundResult play(const RoundJob& job);

  // Frees all recordings; a round that comes again is recorded anew. An engine for several ranks waits for the
  // recordings of its sums before it is destroyed.
  void forget_recordings();

 private:
  class Player;
  std::unique_ptr<Player> player_;
};

}  // namespace backend
}  // namespace plimsoll
