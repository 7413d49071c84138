#include "passes/forms.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/support/bytes.h"

namespace plimsoll {

const Found& Form::start() const {
  const bool whole_batch = planning.sub_batches().front() == planning.request.batch;
  if (whole_batch && unlimited.arena() <= planning.budget_bytes) return unlimited;
  return minimum.whole.arena() <= planning.budget_bytes ? minimum.whole : minimum.least();
}

const Form& least_form(std::span<const Form> forms) {
  return *std::min_element(forms.begin(), forms.end(), [](const Form& a, const Form& b) {
    if (a.fits() != b.fits()) return a.fits();
    return a.minimum.least().arena() < b.minimum.least().arena();
  });
}

std::string chosen_form(std::span<const Form> forms, const std::string& taken) {
  if (forms.size() == 1) return taken;
  std::string too_large, unlimited;
  for (const Form& form : forms) {
    if (!form.fits())
      too_large += fmt::format("{}{} needs at least {}", too_large.empty() ? "" : ", ", form.name(),
                               format_bytes(form.minimum.least().arena()));
    unlimited += fmt::format("{}{} {:.1f} ms, {}", unlimited.empty() ? "" : "; ", form.name(),
                             1e3 * form.unlimited.seconds(), format_bytes(form.unlimited.arena()));
  }
  if (!too_large.empty()) return fmt::format("{}: {}", taken, too_large);
  return fmt::format("{}: faster within this budget (unlimited: {})", taken, unlimited);
}

}  // namespace plimsoll
