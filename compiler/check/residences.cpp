#include "compiler/check/residences.h"

#include <fmt/format.h>

#include "compiler/support/bytes.h"

namespace plimsoll {

void Residences::claim(std::vector<Claim>& host_slots) {
  for (const TensorId id : ids_of(plan_.tensors)) {
    if (!has(id) || plan_.tensors[id].slice_of.valid()) continue;
    const Block slot{plan_.tensors[id].home_offset, plan_.tensors[id].bytes};
    if (slot.offset % kAlignment != 0)
      verdict_.refuse(Rule::bounds, {}, id,
                      fmt::format("{} resides at {:#x} of the host pool, not a multiple of {}", verdict_.name(id),
                                  slot.offset, kAlignment));
    if (slot.end() > plan_.summary.host_pool_bytes)
      verdict_.refuse(Rule::bounds, {}, id,
                      fmt::format("the slot of {} ends at {:#x}, outside the host pool of {} bytes", verdict_.name(id),
                                  slot.end(), plan_.summary.host_pool_bytes));
    host_slots.push_back({.block = slot, .tensor = id, .from = -1, .forever = true});
  }
}

void Residences::expect_at_residence(StepId step) {
  const TensorId tensor = plan_.steps[step].tensor;
  if (plan_.steps[step].host_offset == plan_.tensors[tensor].home_offset) return;
  verdict_.refuse(Rule::host_slot, step, tensor,
                  fmt::format("{} is at {:#x} of the host pool, but {} resides at {:#x}", verdict_.name(step),
                              plan_.steps[step].host_offset, verdict_.name(tensor), plan_.tensors[tensor].home_offset));
}

void Residences::fetch(StepId step) {
  expect_at_residence(step);
  const TensorId tensor = plan_.steps[step].tensor;
  Slot& slot = slots_[tensor];
  if (slot.stored.valid() && !before_(slot.stored, step))
    verdict_.refuse(Rule::host_slot, step, tensor,
                    fmt::format("{} does not wait for {}, which writes {} back", verdict_.name(step),
                                verdict_.name(slot.stored), verdict_.name(tensor)));
  if (const auto slices = slices_.find(tensor); slices != slices_.end())
    for (const TensorId slice : slices->second)
      if (slots_[slice].stored.valid())
        verdict_.refuse(Rule::current, step, tensor,
                        fmt::format("{} comes after {}, where {} is already updated", verdict_.name(step),
                                    verdict_.name(slots_[slice].stored), verdict_.name(slice)));
  slot.fetched[static_cast<size_t>(plan_.steps[step].stream)] = step;
}

void Residences::store(StepId step) {
  expect_at_residence(step);
  const TensorId tensor = plan_.steps[step].tensor;
  expect_after_fetches(step, tensor);
  if (const TensorId whole = plan_.tensors[tensor].slice_of; whole.valid()) expect_after_fetches(step, whole);
  slots_[tensor].stored = step;
}

void Residences::expect_after_fetches(StepId step, TensorId of) {
  for (const StepId fetched : slots_[of].fetched)
    if (fetched.valid() && !before_(fetched, step))
      verdict_.refuse(Rule::host_slot, step, of,
                      fmt::format("{} does not wait for {}, which reads the slot of {}", verdict_.name(step),
                                  verdict_.name(fetched), verdict_.name(of)));
}

}  // namespace plimsoll
