// Errors of the trainer: a message and an exit code. The codes are the compiler's.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace plimsoll::train {

enum class Exit : int {
  ok = 0,
  internal = 1,
  usage = 2,
  unreadable_input = 3,    // file missing, unreadable or of another format
  invalid_model = 4,       // the data or the weights do not fit the model
  budget = 6,              // the machine has less memory than the plan needs
  unwritable_output = 7,
  environment = 8,         // the library cannot run what is planned
  rank_lost = 11,          // another rank ended (runtime/dist/lifeline.h)
  interrupted = 130,       // by SIGINT, after a complete iteration and with all output saved: 128 + the signal's number
  terminated = 143,        // by SIGTERM, likewise
};

class TrainerError : public std::runtime_error {
 public:
  TrainerError(Exit code, const std::string& message) : std::runtime_error(message), code(code) {}
  Exit code;
};

// Throws all errors as one, a line for each, with the exit code of the first.
inline void throw_first(const std::vector<TrainerError>& failed) {
  if (failed.empty()) return;
  std::string all;
  for (const TrainerError& error : failed) all += (all.empty() ? "" : "\nerror: ") + std::string(error.what());
  throw TrainerError(failed.front().code, all);
}

}  // namespace plimsoll::train
