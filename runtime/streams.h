// Plays the steps of a round on a backend's streams. The link decides on which.
//
// Before: whoever reads or writes the same bytes is ordered by streams and waits (the checker has proved it).
// Then the result is that of the steps in their order of issue, however long each of them takes.
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

// One round to play. With context.training false, the forward part only.
struct RoundJob {
  const KernelSet* kernels = nullptr;
  std::span<const std::byte* const> staged = {};  // per input: this round's samples, contiguous
  RunContext context = {};
  int64_t samples = 0;
  bool first = false;  // of its iteration: gradients that live in the host pool begin with zeros
  bool last = false;   // of its iteration: updates are done
  bool may_record = true;  // a backend that can may record the round and play it again as one
  // Where this round's loss is no finite number, updates run with context.discard. A backend that issues ahead of its
  // device need not wait for the loss: it lies in the arena until the round ends (docs/plan-format.md, rule 5).
  bool guarded = false;
  dist::Ranks* ranks = nullptr;  // who adds up, where the program is of several ranks
  StepTimes* times = nullptr;  // filled, as far as the backend knows; null: nobody asks
};

struct RoundResult {
  double loss = 0;
  double correct = 0;
  double stall_seconds = 0;  // the compute stream waiting for copies, as far as the backend knows
  double reduce_seconds = 0;  // reductions over ranks, with waiting for the slowest of them; likewise
  std::string_view not_recorded = {};  // it was to be, and was issued step by step: why; as long as the streams live
};

namespace backend {

enum class Overlap {
  streams,  // steps of different streams overlap
  // A round calls program.forward and program.backward, and each step is done when its line is called, on the calling thread: a
  // debugger can step through the program. Nothing is recorded.
  none,
};

class Streams {
 public:
  // All are kept, not copied. `pool` may be null when the program offloads nothing.
  Streams(const Program& program, const Round& round, const Arena& arena, HostPool* pool, Overlap overlap = Overlap::streams);
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // Returns when every stream has finished. Allocates nothing. Throws what a kernel or a copy threw; the arena then
  // holds nothing of use.
  RoundResult play(const RoundJob& job);

  // Gives back what was recorded; a round that comes again is recorded anew. An engine of several ranks waits for the recordings of
  // its sums before it lets go.
  void forget_recordings();

 private:
  class Player;
  std::unique_ptr<Player> player_;
};

}  // namespace backend
}  // namespace plimsoll
