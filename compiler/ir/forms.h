// Parts of a model that can be computed in several forms, and the form of each: attention as the model spells it out or
// by one operator, a recurrent network unrolled or by one operator, the last layer and the loss in one operator or not.
// Forms train the same, with other tasks.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace plimsoll {

inline constexpr std::string_view kAttention = "attention", kLossForm = "loss_form", kRecurrence = "recurrence";
inline constexpr std::string_view kPartsWithForms[] = {kAttention, kLossForm, kRecurrence};  // as in every text form

// By part: "spelled", "unrolled", "fused". A part that is absent has one form, or is computed as the model says.
using FormsOfParts = std::map<std::string, std::string>;

}  // namespace plimsoll
