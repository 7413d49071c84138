// Rules 8 and 9 (docs/plan-format.md), for tensors that reside in the host pool (weights, optimizer state, gradients).
// A slot is never shared. Every copy of the tensor is from its slot or to it. The copies of a slot are ordered by
// happens-before. The slot of a slice is part of its whole's slot, and the whole is fetched only before its slices are
// written back.
//
// Which value a copy transfers in which round is checked in rounds.h.
//
// Private to compiler/check/.
#pragma once

#include <map>
#include <vector>

#include "compiler/check/claims.h"
#include "compiler/check/happens_before.h"
#include "compiler/check/verdict.h"

namespace plimsoll {

class Residences {
 public:
  Residences(const Plan& plan, const HappensBefore& before, Verdict& verdict)
      : plan_(plan), before_(before), verdict_(verdict), slots_(plan.tensors.size()), has_(plan.tensors.size()) {
    for (const TensorId id : ids_of(plan.tensors)) {
      has_[id] = plan.tensors[id].at_home_on_host();
      if (const TensorId whole = plan.tensors[id].slice_of; whole.valid()) slices_[whole].push_back(id);
    }
  }

  // Adds the slots to those of check_handovers().
  void claim(std::vector<Claim>& host_slots);

  bool has(TensorId tensor) const { return has_[tensor]; }

  // Called in issue order.
  void fetch(StepId step);
  void store(StepId step);

 private:
  struct Slot {
    StepId stored = {};     // last write-back
    PerStream fetched = {};  // last fetch on each stream
  };

  void expect_at_residence(StepId step);
  void expect_after_fetches(StepId step, TensorId of);

  const Plan& plan_;
  const HappensBefore& before_;
  Verdict& verdict_;
  IdVector<TensorId, Slot> slots_;
  IdVector<TensorId, bool> has_;
  std::map<TensorId, std::vector<TensorId>> slices_;  // of each whole
};

}  // namespace plimsoll
