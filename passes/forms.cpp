#include "passes/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/support/bytes.h"

namespace plimsoll {

Found& Form::start() {
  const bool whole_batch = planning.sub_batches().front() == planning.request.batch;
  if (whole_batch && unlimited.arena() <= planning.budget_bytes) return unlimited;
  return minimum.whole.arena() <= planning.budget_bytes || !minimum.in_slices ? minimum.whole : *minimum.in_slices;
}

Found take_start(std::span<Form> forms) {
  Found* start = nullptr;
  for (Form& form : forms)
    if (form.fits() && (!start || form.start().seconds() < start->seconds())) start = &form.start();
  Found taken = std::exchange(*start, start->figures());
  for (Form& form : forms) {
    form.unlimited = form.unlimited.figures();
    form.minimum.whole = form.minimum.whole.figures();
    if (form.minimum.in_slices) form.minimum.in_slices = form.minimum.in_slices->figures();
  }
  return taken;
}

const Form& least_form(std::span<const Form> forms) {
  return *std::min_element(forms.begin(), forms.end(), [](const Form& a, const Form& b) {
    if (a.fits() != b.fits()) return a.fits();
    return a.minimum.least().arena() < b.minimum.least().arena();
  });
}

FormsOfParts chosen_form(std::span<const Form> forms, const FormsOfParts& taken) {
  const auto differs = [&](const auto& of_part) {
    const auto& [part, form] = of_part;
    return std::any_of(forms.begin(), forms.end(), [&](const Form& other) {
      const auto found = other.parts().find(part);
      return found == other.parts().end() || found->second != form;
    });
  };
  FormsOfParts chosen = taken;
  const auto part = std::find_if(chosen.begin(), chosen.end(), differs);
  if (part == chosen.end()) return chosen;
  const auto name = [&](const Form& form) {
    const auto found = form.parts().find(part->first);
    return found == form.parts().end() ? std::string() : found->second;
  };
  std::string too_large, unlimited;
  for (const Form& form : forms) {
    if (!form.fits())
      too_large += fmt::format("{}{} needs at least {}", too_large.empty() ? "" : ", ", name(form),
                               format_bytes(form.minimum.least().arena()));
    unlimited += fmt::format("{}{} {:.1f} ms, {}", unlimited.empty() ? "" : "; ", name(form),
                             1e3 * form.unlimited.seconds(), format_bytes(form.unlimited.arena()));
  }
  part->second +=
      ": " + (too_large.empty() ? fmt::format("faster within this budget (unlimited: {})", unlimited) : too_large);
  return chosen;
}

}  // namespace plimsoll
