// From what shall become of each tensor to a sequence of steps.
//
//   fates      conv.Y keep, relu.Y recompute, x2 offload
//   order      load:x  conv  relu  conv2              …  conv2'                       relu'  conv'
//   woven      load:x  conv  relu  conv2  offload:x2  …  prefetch:x2  relu(again)  conv2'  relu'  conv'
#pragma once

#include <memory>
#include <optional>

#include "passes/schedule/model.h"

namespace plimsoll::schedule {

enum class FateKind : uint8_t {
  keep,       // stays where it is from its forward to its backward uses
  offload,    // to the host pool and back; an input of the model is loaded again instead. Of a weight or optimizer state: it has
              // its home there, is fetched before the tasks that touch it and brought home behind its update. Of a gradient that adds
              // up over rounds: the same, and it is brought home behind every task that adds to it
  recompute,  // given up, and made again when the backward asks for it, from whatever is resident then
};

inline constexpr uint8_t kEarly = 0;
inline constexpr uint8_t kTransient = 255;
inline constexpr uint8_t kNested = 128;

// What becomes of one tensor in its gap.
struct Fate {
  FateKind kind = FateKind::keep;
  // Of a tensor that is made again on the way to another: it stays for its own use if nobody else on the way has a lower
  // level, else it is made once more then. So levels are the recursion of checkpointing:
  //
  //   level      0 . . . 0 . . . 0      every segment is run again as a whole, and stays: Chen's plan, one level
  //   level      0 2 1 2 1 2 1 2 0      on the way to the last 2 only the 1s stay; the other 2s are made again, one by one
  //
  // The tensor that is wanted is not asked for its level, but from kNested on: what is deeper than it stays no longer then.
  // kTransient: never stays on the way to another ("memory-centric").
  // Of what has its home in the host pool, with several rounds: kEarly, its update comes as soon as its gradient is
  // complete, so that its copies run beside the rest of the backward; else where the order has it, last. Slices that are kept (they live
  // there whatever their fate says) are updated in turn, as the links bring them.
  uint8_t level = 1;
  // Given up again between its backward uses, too, where they are more than kNear steps apart. Of a weight that has its home in the
  // host pool: between any two uses, and not only between forward, backward and update.
  bool again = false;
  friend bool operator==(const Fate&, const Fate&) = default;
};

// By tensor id. Tensors that nobody in the backward touches matter too: kept, they are where a recomputation starts; by
// default they are given up after their last forward use.
using Fates = std::vector<Fate>;

// Everything stays, and what the backward does not touch is given up: the order itself.
Fates keep_everything(const Model& model);

inline constexpr size_t kAnyLength = std::numeric_limits<size_t>::max();
inline constexpr int32_t kTooLong = -1;

// Fills `trace`. A tensor's offload stands right behind its last forward use, its prefetch or load right before its next
// one: copies.h moves them to where they overlap.
// Returns a tensor that cannot be recomputed, with `trace` unfinished: its producer may not run again, or would read a
// weight after its update. Another fate for it (or for what it is made from) helps.
// kTooLong: of more than `longest` steps. What is given up again and again makes a trace as long as the square of the
// order, which nobody wants to see the end of.
std::optional<int32_t> weave(const Model& model, const Fates& fates, Trace& trace, size_t longest = kAnyLength);

// The same for a model, again and again. It must outlive this.
class Weaver {
 public:
  explicit Weaver(const Model& model);
  ~Weaver();

  std::optional<int32_t> weave(const Fates& fates, Trace& trace, size_t longest = kAnyLength);

 private:
  class Weaving;
  std::unique_ptr<Weaving> weaving_;
};

}  // namespace plimsoll::schedule
