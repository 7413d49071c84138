// The ranks of a run, as the training loop sees them; of a trainer of one rank, this process alone, for which all of this
// costs nothing. Rank 0 speaks and writes for all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/dist/ranks.h"
#include "runtime/program.h"

namespace plimsoll::train {

class Team {
 public:
  // This process alone.
  Team() = default;
  // Finds the other ranks, where the program is of several, and refuses to work with those that have another plan or were
  // told something else: `told` is the command line. `patience`: dist::join. Throws TrainerError (environment, usage) and RanksError.
  Team(const Program& program, const std::string& told, int64_t patience);

  int64_t rank() const { return ranks_ ? ranks_->rank() : 0; }
  int64_t size() const { return ranks_ ? ranks_->size() : 1; }
  bool speaks() const { return rank() == 0; }
  dist::Ranks* ranks() const { return ranks_.get(); }
  dist::Pulse* pulse() const { return ranks_ ? &ranks_->pulse() : nullptr; }

  // All of these by every rank, in the same order, between rounds.
  int highest(int mine);                            // of what the ranks say, each in [0, 127]
  std::string first_said(const std::string& mine);  // of the lowest rank that says something; cut where it is long
  void broadcast(void* data, int64_t bytes);        // from rank 0
  // What each rank does for itself. Where it fails on some, all fail: with the error of the lowest of them, which is the one
  // that says it.
  void together(const std::function<void()>& work);
  void leave();

 private:
  void check_same(const Program& program, const std::string& told);

  std::unique_ptr<dist::Ranks> ranks_;
};

}  // namespace plimsoll::train
