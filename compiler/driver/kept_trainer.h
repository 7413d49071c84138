// Trainers that `plimsoll train` has compiled and built, kept for the next run with the same model and options.
//
//   ~/.cache/plimsoll/trainers/resnet50-3f2a9c0d51b7e846/          what `plimsoll compile` wrote, and its build/
//   ~/.cache/plimsoll/trainers/resnet50-3f2a9c0d51b7e846/built     the key and the command line, written last
//   ~/.cache/plimsoll/trainers/resnet50-3f2a9c0d51b7e846.making    locked by the process that makes the trainer
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/driver/messages.h"
#include "compiler/support/status.h"

namespace plimsoll {

// "" where there is no directory for caches.
std::string trainers_directory();

struct KeptTrainer {
  std::string path;
  std::string command = {};  // the command line that made it; "" if it was never finished
  int64_t bytes = 0;         // of all files
};
std::vector<KeptTrainer> kept_trainers(const std::string& directory);

struct TrainerToMake {
  std::string directory = {};
  std::string key = {};      // all that the trainer depends on
  std::string command = {};  // for the list of `plimsoll cache`
  std::string target = "host";
  int64_t ranks = 1;
  std::function<Status()> compile = {};     // writes the directory
  std::function<void()> before_build = {};  // tells the user that a build begins
};

// False: another process is making it, and it stays. Error: unwritable_output.
Result<bool> remove_trainer(const std::string& path);

// Makes the trainer if it is not there already, under a lock. Afterwards `directory`/build/train is the trainer.
// Errors: of compile; environment, with the last lines of the build's output; unwritable_output.
Status make_trainer(const TrainerToMake& trainer, const Messages& messages);

}  // namespace plimsoll
