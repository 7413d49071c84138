#include "runtime/train/team.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/train/error.h"

namespace plimsoll::train {
namespace {

constexpr size_t kLongest = 400;  // bytes of a text

// Several processes of a one-rank trainer would overwrite each other's files.
void refuse_launchers() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE"}) {
    const char* const size = std::getenv(name);
    if (size && std::atoll(size) > 1)
      throw TrainerError(Exit::environment, std::string("started as ") + size + " processes (" + name +
                                                "), but this trainer has one rank; `plimsoll compile --ranks " + size +
                                                "` compiles one for that number");
  }
}

// What must be equal on all ranks.
struct Identity {
  uint64_t plan_hash, told;
  int64_t batch, budget_bytes, arena_bytes;
};

}  // namespace

Team::Team(const Program& program, const std::string& told, int64_t patience) {
  if (!program.join) {
    refuse_launchers();
    return;
  }
  ranks_ = program.join(program.ranks, patience);
  check_same(program, told);
}

void Team::check_same(const Program& program, const std::string& told) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : told) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  const Identity mine{program.plan_hash, hash, program.batch, program.budget_bytes, program.arena_bytes};
  std::vector<Identity> all(static_cast<size_t>(size()));
  ranks_->gather(&mine, sizeof mine, all.data());
  const Identity& first = all.front();
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const Identity& other = all[rank];
    const std::string who = speaks() ? "rank " + std::to_string(rank) : "";
    if (other.plan_hash != first.plan_hash)
      throw TrainerError(Exit::environment,
                         who.empty()
                             ? ""
                             : who + " has another plan: batch " + std::to_string(other.batch) + ", budget " +
                                   std::to_string(other.budget_bytes) + ", arena " + std::to_string(other.arena_bytes) +
                                   " bytes, but rank 0 has batch " + std::to_string(first.batch) + ", budget " +
                                   std::to_string(first.budget_bytes) + ", arena " + std::to_string(first.arena_bytes) +
                                   "; start one and the same trainer on all ranks");
    if (other.told != first.told)
      throw TrainerError(Exit::usage, who.empty() ? "" : who + " was started with other options than rank 0");
  }
}

int Team::highest(int mine) {
  if (!ranks_) return mine;
  const char said = static_cast<char>(mine);
  std::vector<char> all(static_cast<size_t>(size()));
  ranks_->gather(&said, 1, all.data());
  return *std::max_element(all.begin(), all.end());
}

std::string Team::first_said(const std::string& mine) {
  if (!ranks_) return mine;
  std::vector<char> said(kLongest, '\0'), all(kLongest * static_cast<size_t>(size()));
  std::memcpy(said.data(), mine.data(), std::min(mine.size(), kLongest - 1));
  ranks_->gather(said.data(), kLongest, all.data());
  for (size_t rank = 0; rank < static_cast<size_t>(size()); ++rank)
    if (all[rank * kLongest] != '\0')
      return "on rank " + std::to_string(rank) + ": " + std::string(&all[rank * kLongest]);
  return "";
}

void Team::broadcast(void* data, int64_t bytes) {
  if (ranks_) ranks_->broadcast(data, bytes);
}

void Team::together(const std::function<void()>& work) {
  if (!ranks_) return work();
  std::exception_ptr failure;
  int failed = 0;  // its exit code
  try {
    work();
  } catch (const TrainerError& error) {
    failure = std::current_exception();
    failed = static_cast<int>(error.code);
  } catch (...) {
    failure = std::current_exception();
    failed = static_cast<int>(Exit::internal);
  }
  std::vector<int> all(static_cast<size_t>(size()));
  ranks_->gather(&failed, sizeof failed, all.data());
  const auto lowest = std::find_if(all.begin(), all.end(), [](int code) { return code != 0; });
  if (lowest == all.end()) return;
  if (lowest - all.begin() == rank()) std::rethrow_exception(failure);
  throw TrainerError(static_cast<Exit>(*lowest), "");  // another rank prints the error
}

void Team::leave() {
  if (ranks_) ranks_->leave();
}

}  // namespace plimsoll::train
