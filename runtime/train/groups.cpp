#include "runtime/train/groups.h"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "runtime/train/counted.h"
#include "runtime/train/error.h"
#include "runtime/train/nearest.h"

namespace plimsoll::train {
namespace {

// A number of an optimizer: its member, the kernels that have it, and whether it must be below 1.
struct NumberRow {
  std::string_view name;
  std::optional<double> UpdateNumbers::*number;
  std::string_view kernels;
  bool below_one;
};

constexpr NumberRow kNumbers[] = {
    {"momentum", &UpdateNumbers::momentum, "MomentumUpdate", false},
    {"beta1", &UpdateNumbers::beta1, "AdamUpdate LambUpdate LionUpdate", true},
    {"beta2", &UpdateNumbers::beta2, "AdamUpdate LambUpdate LionUpdate", true},
    {"epsilon", &UpdateNumbers::epsilon, "AdamUpdate LambUpdate", false},
    {"weight-decay", &UpdateNumbers::weight_decay, "SgdUpdate MomentumUpdate AdamUpdate LambUpdate LionUpdate", false},
};

double number_of(std::string_view name, std::string_view text, bool below_one) {
  double value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool in_range = value >= 0 && (below_one ? value < 1 : value <= std::numeric_limits<float>::max());
  if (error == std::errc() && end == text.data() + text.size() && in_range) return value;
  throw TrainerError(Exit::usage, std::string(name) + " takes a number from 0 " +
                                      (below_one ? "to below 1" : "to 3.4e38") + ", not '" + std::string(text) + "'");
}

std::string list_of(const std::vector<std::string_view>& names) {
  std::string list;
  for (const std::string_view name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

std::string text_of(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

// "lr 0.01, weight-decay 0"
std::string text_of(const UpdateNumbers& numbers, std::optional<double> rate) {
  std::string text = rate ? "lr " + text_of(*rate) : "";
  for (const NumberRow& row : kNumbers)
    if (const std::optional<double>& number = numbers.*row.number)
      text += (text.empty() ? "" : ", ") + std::string(row.name) + " " + text_of(*number);
  return text;
}

void lay_over(UpdateNumbers& under, const UpdateNumbers& over) {
  for (const NumberRow& row : kNumbers)
    if (over.*row.number) under.*row.number = over.*row.number;
}

std::string optimizer_of(std::string_view kernel) {
  std::string name(kernel.substr(0, kernel.rfind("Update")));
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

void refuse_what_it_has_not(std::string_view kernel, const UpdateNumbers& numbers, const std::string& where) {
  for (const NumberRow& row : kNumbers) {
    if (!(numbers.*row.number) || row.kernels.find(kernel) != row.kernels.npos) continue;
    throw TrainerError(Exit::usage, where + std::string(row.name) +
                                        ": the optimizer that this trainer is compiled with, " + optimizer_of(kernel) +
                                        ", has no such number; `plimsoll compile … --optimizer NAME` takes another");
  }
}

// The names of the task that clips, from compiler/training/update.cpp.
bool clips(std::string_view step) { return step == "gradients.clip" || step == "gradients.unscale"; }

bool is_norm_or_bias(const ProgramParameter& weight) {
  const std::string_view name = weight.name;
  return weight.desc.rank() <= 1 || name == "bias" || name.ends_with(".bias");
}

[[noreturn]] void no_such_weight(const Program& program, const Group& group) {
  std::vector<std::string_view> trained;
  for (const ProgramParameter& weight : program.parameters) {
    if (weight.role == ParameterRole::trained) trained.push_back(weight.name);
    else if (weight.role == ParameterRole::frozen && fnmatch(group.glob.c_str(), weight.name, 0) == 0)
      throw TrainerError(Exit::usage, "--group '" + group.glob + "' matches '" + weight.name +
                                          "', which is frozen, and no trained weight");
  }
  throw TrainerError(Exit::usage, "--group '" + group.glob + "' matches no trained weight; the nearest names are " +
                                      list_of(nearest(group.glob, trained, 5, std::numeric_limits<size_t>::max())));
}

}  // namespace

void set_number(UpdateNumbers& numbers, std::string_view name, std::string_view text) {
  const std::string_view key = name.starts_with("--") ? name.substr(2) : name;
  for (const NumberRow& row : kNumbers)
    if (row.name == key) {
      numbers.*row.number = number_of(name, text, row.below_one);
      return;
    }
  std::vector<std::string_view> keys = {"lr"};
  for (const NumberRow& row : kNumbers) keys.push_back(row.name);
  const auto near = nearest(key, keys, 1, 2);
  throw TrainerError(Exit::usage, "--group knows no '" + std::string(key) + "'; it takes " + list_of(keys) +
                                      (near.empty() ? "" : ": is it " + std::string(near.front()) + "?"));
}

Group parse_group(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0 || colon + 1 == text.size())
    throw TrainerError(Exit::usage, "--group takes 'GLOB:lr=X,weight-decay=X', not '" + std::string(text) + "'");
  Group group{.glob = std::string(text.substr(0, colon))};
  for (size_t begin = colon + 1; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    const size_t equals = item.find('=');
    if (equals == item.npos)
      throw TrainerError(Exit::usage, "--group takes 'GLOB:lr=X,weight-decay=X'; '" + std::string(item) + "' has no =");
    const std::string_view key = item.substr(0, equals), value = item.substr(equals + 1);
    if (key == "lr") group.rate = number_of("lr of --group", value, false);
    else set_number(group.numbers, key, value);
    begin = end + 1;
  }
  return group;
}

UpdateGroups::UpdateGroups(const Program& program, const GroupOptions& options, double rate) {
  const std::string_view kernel = program.update_kernel;
  if (!kernel.empty()) refuse_what_it_has_not(kernel, options.all, "--");
  if (options.all != UpdateNumbers{}) description_ = text_of(options.all, {});
  size_t without_decay = 0;
  std::vector<size_t> matched(options.groups.size(), 0);
  for (const Group& group : options.groups) {
    if (!kernel.empty()) refuse_what_it_has_not(kernel, group.numbers, "--group '" + group.glob + "': ");
    if (group.rate && rate == 0)
      throw TrainerError(
          Exit::usage,
          "--group '" + group.glob + "': lr needs an --lr above 0, because the group's rate is in proportion to it");
  }
  if (options.max_norm) {
    if (std::ranges::none_of(program.step_names, clips))
      throw TrainerError(Exit::usage,
                         "--clip-norm: this trainer is compiled without clipping, for which all gradients are kept "
                         "until the end of the iteration; "
                         "`plimsoll compile … --clip-norm X` plans for it");
    clipping_.max_norm = options.max_norm;
    char text[64];
    std::snprintf(text, sizeof text, "clip-norm %g", *options.max_norm);
    description_ += (description_.empty() ? "" : ", ") + std::string(text);
  }
  if (options.all == UpdateNumbers{} && !options.no_decay_on_norms_and_biases && options.groups.empty()) return;
  for (const ProgramParameter& weight : program.parameters) {
    if (weight.role != ParameterRole::trained) continue;
    UpdateNumbers numbers = options.all;
    const bool exempt = options.no_decay_on_norms_and_biases && is_norm_or_bias(weight);
    if (exempt) numbers.weight_decay = 0;
    for (size_t i = 0; i < options.groups.size(); ++i) {
      const Group& group = options.groups[i];
      if (fnmatch(group.glob.c_str(), weight.name, 0) != 0) continue;
      ++matched[i];
      lay_over(numbers, group.numbers);
      if (group.rate) numbers.rate_scale = *group.rate / rate;
    }
    without_decay += exempt && numbers.weight_decay == 0.0;  // a group may give it a decay
    auto same = std::find(distinct_.begin(), distinct_.end(), numbers);
    if (same == distinct_.end()) same = distinct_.insert(same, numbers);  // a deque keeps references valid
    of_weight_.emplace(weight.name, &*same);
  }
  const auto tell = [&](const std::string& what, size_t weights, const std::string& numbers) {
    lines_.push_back(what + ": " + counted(static_cast<int64_t>(weights), "weight") + " with " + numbers);
    description_ += (description_.empty() ? "" : "; ") + what + ": " + numbers;
  };
  if (options.no_decay_on_norms_and_biases) tell("norms and biases", without_decay, "weight-decay 0");
  for (size_t i = 0; i < options.groups.size(); ++i) {
    if (matched[i] == 0) no_such_weight(program, options.groups[i]);
    tell("group '" + options.groups[i].glob + "'", matched[i],
         text_of(options.groups[i].numbers, options.groups[i].rate));
  }
}

const UpdateNumbers* UpdateGroups::of_step(std::string_view step) const {
  if (clips(step)) return clipping_.max_norm ? &clipping_ : nullptr;
  const size_t end = step.rfind(".update");
  if (end == step.npos) return nullptr;
  const auto found = of_weight_.find(step.substr(0, end));
  return found == of_weight_.end() ? nullptr : found->second;
}

}  // namespace plimsoll::train
