// Parameter groups: weights with their own optimizer settings, as in torch.optim.
//
//   --weight-decay 0.05                       for all weights
//   --no-decay-on-norms-and-biases            0 for those of at most one dimension, and for those named bias
//   --group 'head.*:lr=0.01,weight-decay=0'   for weights that match; if several groups set a key, the last one wins
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

// Sets one number. `name`: a flag or a key of --group, such as "beta1". Throws TrainerError (usage) if the text is no
// valid number for it.
void set_number(UpdateNumbers& numbers, std::string_view name, std::string_view text);

// The numbers of each trained weight. Commands point into it.
class UpdateGroups {
 public:
  // `rate`: the run's learning rate; a group's rate is a multiple of it. Throws TrainerError (usage) if the optimizer
  // has no such number, or a glob matches no trained weight.
  UpdateGroups(const Program& program, const GroupOptions& options, double rate);

  // The numbers of a task by its name: an update ("conv1.weight.update", or one of a slice), or the clipping of
  // gradients. Null: as compiled.
  const UpdateNumbers* of_step(std::string_view step) const;

  // Equal texts mean equal numbers; "": as compiled.
  const std::string& description() const { return description_; }

  // A line for each group, with the number of its weights.
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::deque<UpdateNumbers> distinct_;
  std::map<std::string, const UpdateNumbers*, std::less<>> of_weight_;
  UpdateNumbers clipping_;
  std::string description_;
  std::vector<std::string> lines_;
};

}  // namespace plimsoll::train
