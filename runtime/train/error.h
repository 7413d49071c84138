// How a trainer stops: a message for people and an exit code. The codes are those of the compiler.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace plimsoll::train {

enum class Exit : int {
  ok = 0,
  internal = 1,
  usage = 2,
  unreadable_input = 3,    // file missing, unreadable, not of the format that its place asks for
  invalid_model = 4,       // the data or the weights do not fit the model
  budget = 6,              // the machine does not have the memory that the plan asks for
  unwritable_output = 7,
  environment = 8,         // the library cannot do what the plan asks
  rank_lost = 11,          // another rank is gone (runtime/dist/lifeline.h)
  interrupted = 130,       // by SIGINT, behind a whole iteration, and what was to be saved is: 128 + the signal, as shells
  terminated = 143,        // and schedulers have it. By SIGTERM, likewise
};

class TrainerError : public std::runtime_error {
 public:
  TrainerError(Exit code, const std::string& message) : std::runtime_error(message), code(code) {}
  Exit code;
};

// One error to a line; the exit code is the first one's.
inline void throw_first(const std::vector<TrainerError>& failed) {
  if (failed.empty()) return;
  std::string all;
  for (const TrainerError& error : failed) all += (all.empty() ? "" : "\nerror: ") + std::string(error.what());
  throw TrainerError(failed.front().code, all);
}

}  // namespace plimsoll::train
