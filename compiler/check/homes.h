// Weights, optimizer state and gradients that live in the host pool: their slots are nobody else's, what is fetched from one is what was
// put there last, in this round or in one before, and what its updates have made of it is there again when the round ends. A round without
// updates has no copies home but of gradients, of which all parts are there when it ends, and fetches what any other task touches
// (Plan::copy_rounds). When the last round ends a gradient's slot holds nothing that anybody wants: the first begins with zeros. The
// slot of a slice is a part of that of its whole, which is fetched as it was before its slices are put there. Private to
// compiler/check/.
#pragma once

#include <vector>

#include "compiler/check/claims.h"
#include "compiler/check/happens_before.h"
#include "compiler/check/verdict.h"

namespace plimsoll {

class Homes {
 public:
  Homes(const Plan& plan, const HappensBefore& before, Verdict& verdict)
      : plan_(plan), before_(before), verdict_(verdict), copies_(plan.copy_rounds()), slots_(plan.tensors.size()),
        slices_(plan.tensors.size()) {
    for (const TensorId id : ids_of(plan.tensors))
      if (plan.tensors[id].slice_of.valid()) slices_[plan.tensors[id].slice_of].push_back(id);
  }

  // The slots, for check_handovers().
  void claim(std::vector<Claim>& host_slots);

  bool has(TensorId tensor) const { return plan_.tensors[tensor].at_home_on_host(); }

  // In the order of issue. Versions count updates: of what the step fetches, and of what it puts there.
  int32_t fetch(StepId step);
  void store(StepId step, int32_t version);

  // `updates`: of the tensor, in a round that has them. `parts`: of these, by tasks that every round has.
  void check_end(TensorId tensor, int32_t updates, int32_t parts);

 private:
  struct Slot {
    int32_t version = 0;    // as the round begins, all updates of the rounds before are in it
    int32_t without_updates = 0;  // the same, in a round that has none
    StepId stored = {};     // last
    PerStream fetched = {};  // last, of each stream
  };

  void expect_at_home(StepId step);
  void expect_behind_fetches(StepId step, TensorId of);

  const Plan& plan_;
  const HappensBefore& before_;
  Verdict& verdict_;
  const IdVector<StepId, CopyRounds> copies_;
  IdVector<TensorId, Slot> slots_;
  IdVector<TensorId, std::vector<TensorId>> slices_;  // of each whole
};

}  // namespace plimsoll
