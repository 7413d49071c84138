// Invariants for tensors resident in the host pool (weights, optimizer state, gradients): (1) a slot is never shared;
// (2) a prefetch reads the last value offloaded, in this round or an earlier one; (3) at the end of a round the slot
// holds the updated value.
//
// A round without updates writes back only gradients, whose parts are all there at its end, and fetches only what other
// tasks access (Plan::copy_rounds). At the end of the last round the slot of a gradient has no meaning, because the
// first round starts from zeros. The slot of a slice is part of its whole's slot. The whole is only fetched before its
// slices are written back.
//
// Private to compiler/check/.
#pragma once

#include <vector>

#include "compiler/check/claims.h"
#include "compiler/check/happens_before.h"
#include "compiler/check/verdict.h"

namespace plimsoll {

class Residences {
 public:
  Residences(const Plan& plan, const HappensBefore& before, Verdict& verdict)
      : plan_(plan), before_(before), verdict_(verdict), copies_(plan.copy_rounds()), slots_(plan.tensors.size()),
        slices_(plan.tensors.size()) {
    for (const TensorId id : ids_of(plan.tensors))
      if (plan.tensors[id].slice_of.valid()) slices_[plan.tensors[id].slice_of].push_back(id);
  }

  // Adds the slots to those of check_handovers().
  void claim(std::vector<Claim>& host_slots);

  bool has(TensorId tensor) const { return plan_.tensors[tensor].at_home_on_host(); }

  // Called in issue order. A version is a number of updates: of the value that the step fetches or writes back.
  int32_t fetch(StepId step);
  void store(StepId step, int32_t version);

  // `updates`: updates of the tensor in a round that has them. `parts`: those of them by tasks that run in every round.
  void check_end(TensorId tensor, int32_t updates, int32_t parts);

 private:
  struct Slot {
    int32_t version = 0;    // at the beginning of a round: all updates of earlier rounds are included
    int32_t without_updates = 0;  // the same, in a round without updates
    StepId stored = {};     // last write-back
    PerStream fetched = {};  // last fetch on each stream
  };

  void expect_at_residence(StepId step);
  void expect_after_fetches(StepId step, TensorId of);

  const Plan& plan_;
  const HappensBefore& before_;
  Verdict& verdict_;
  const IdVector<StepId, CopyRounds> copies_;
  IdVector<TensorId, Slot> slots_;
  IdVector<TensorId, std::vector<TensorId>> slices_;  // of each whole
};

}  // namespace plimsoll
