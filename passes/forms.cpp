#include "passes/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "compiler/support/bytes.h"

namespace plimsoll {

Found& Form::start() {
  const bool whole_batch = planning.sub_batches.front() == planning.request.batch;
  if (whole_batch && unlimited.arena() <= planning.budget_bytes) return unlimited;
  return minimum.whole.arena() <= planning.budget_bytes || !minimum.in_slices ? minimum.whole : *minimum.in_slices;
}

Found take_start(Forms& forms) {
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

const Form& least_form(const Forms& forms) {
  return *std::min_element(forms.begin(), forms.end(), [](const Form& a, const Form& b) {
    if (a.fits() != b.fits()) return a.fits();
    return a.minimum.least().arena() < b.minimum.least().arena();
  });
}

namespace {

// The form of a part that is computed by the tasks that the model spells out.
constexpr std::string_view kPlain = "plain";

std::string form_of(const FormsOfParts& parts, const std::string& part) {
  const auto found = parts.find(part);
  return found == parts.end() ? std::string(kPlain) : found->second;
}

// True if two forms differ in this part and in no other.
bool differ_only_in(const FormsOfParts& one, const FormsOfParts& other, const std::string& part) {
  if (form_of(one, part) == form_of(other, part)) return false;
  FormsOfParts a = one, b = other;
  a.erase(part);
  b.erase(part);
  return a == b;
}

// The reason for the form of a part: the other form is too large, or slower.
std::string reason(const Forms& forms, const FormsOfParts& taken, const std::string& part) {
  std::string too_large, unlimited;
  bool is_choice = false;
  for (const Form& form : forms) {
    const bool other = differ_only_in(form.parts(), taken, part);
    if (!other && form.parts() != taken) continue;
    is_choice |= other;
    const std::string name = form_of(form.parts(), part);
    if (!form.fits())
      too_large += fmt::format("{}{} needs at least {}", too_large.empty() ? "" : ", ", name,
                               format_bytes(form.minimum.least().arena()));
    unlimited += fmt::format("{}{} {:.1f} ms, {}", unlimited.empty() ? "" : "; ", name,
                             1e3 * form.unlimited.seconds(), format_bytes(form.unlimited.arena()));
  }
  if (!is_choice) return "";
  return ": " + (too_large.empty() ? fmt::format("faster within this budget (unlimited: {})", unlimited) : too_large);
}

}  // namespace

FormsOfParts chosen_form(const Forms& forms, const FormsOfParts& taken) {
  FormsOfParts chosen = taken;
  for (auto& [part, form] : chosen) form += reason(forms, taken, part);
  return chosen;
}

}  // namespace plimsoll
