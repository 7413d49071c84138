// Parameter groups: weights whose optimizer has numbers of their own, as torch.optim's groups.
//
//   --weight-decay 0.05                       for all weights
//   --no-decay-on-norms-and-biases            0 for those of at most one dimension, and for those named bias
//   --group 'head.*:lr=0.01,weight-decay=0'   for weights that match; of several groups that say the same, the last holds
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/program.h"
#include "runtime/update_numbers.h"

namespace plimsoll::train {

struct Group {
  std::string glob;
  std::optional<double> rate = {};
  UpdateNumbers numbers = {};
};

struct GroupOptions {
  UpdateNumbers all = {};
  bool no_decay_on_norms_and_biases = false;
  std::vector<Group> groups = {};
  std::optional<double> max_norm = {};  // of --clip-norm
};

// "GLOB:lr=X,weight-decay=X,momentum=X,beta1=X,beta2=X,epsilon=X"; the glob may have colons itself.
// Throws TrainerError (usage).
Group parse_group(std::string_view text);

// `name` is of a flag or of a key of --group: "beta1". Throws TrainerError (usage) where that is no number for it.
void set_number(UpdateNumbers& numbers, std::string_view name, std::string_view text);

// The numbers of each trained weight. Keeps what commands point to.
class UpdateGroups {
 public:
  // `rate` is the run's, of which a group's is a multiple. Throws TrainerError (usage): the optimizer has no such number,
  // or a glob matches no trained weight.
  UpdateGroups(const Program& program, const GroupOptions& options, double rate);

  // Of the task that updates a weight, by its name: "conv1.weight.update", or of a slice; or of the one that clips the
  // gradients. Null: as compiled.
  const UpdateNumbers* of_step(std::string_view step) const;

  // Equal texts are equal numbers; "": as compiled.
  const std::string& description() const { return description_; }

  // For people: each group with how many weights it has.
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::deque<UpdateNumbers> distinct_;
  std::map<std::string, const UpdateNumbers*, std::less<>> of_weight_;
  UpdateNumbers clipping_;
  std::string description_;
  std::vector<std::string> lines_;
};

}  // namespace plimsoll::train
