// The ranks of a run, as the training loop sees them. With one rank, all functions are local and cost nothing. Rank 0
// prints and writes files for all.
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
  // Connects to the other ranks, if there are several. `told`: the command line. `patience`: see dist::join. Throws
  // TrainerError (environment, usage) if another rank has a different plan or command line; and RanksError.
  Team(const Program& program, const std::string& told, int64_t patience);

  int64_t rank() const { return ranks_ ? ranks_->rank() : 0; }
  int64_t size() const { return ranks_ ? ranks_->size() : 1; }
  bool speaks() const { return rank() == 0; }
  dist::Ranks* ranks() const { return ranks_.get(); }
  dist::Pulse* pulse() const { return ranks_ ? &ranks_->pulse() : nullptr; }

  // All ranks must call these in the same order, between rounds.
  int highest(int mine);                            // the maximum over ranks; each in [0, 127]
  std::string first_said(const std::string& mine);  // of the lowest rank with a text; cut if too long
  void broadcast(void* data, int64_t bytes);        // from rank 0
  // Each rank does `work` for itself. If it fails on some ranks, all throw with the exit code of the lowest failed
  // rank, which prints its error.
  void together(const std::function<void()>& work);
  void leave();

 private:
  void check_same(const Program& program, const std::string& told);

  std::unique_ptr<dist::Ranks> ranks_;
};

}  // namespace plimsoll::train
