// A cache of trainers that `plimsoll train` has compiled and built, for later runs with the same model and options.
//
//   ~/.cache/plimsoll/trainers/resnet50-3f2a9c0d51b7e846/          output of `plimsoll compile`, and its build/
//   ~/.cache/plimsoll/trainers/resnet50-3f2a9c0d51b7e846/built     the key and the command line; written last
//   ~/.cache/plimsoll/trainers/resnet50-3f2a9c0d51b7e846.making    locked by the process that builds the trainer
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/driver/messages.h"
#include "compiler/support/status.h"

namespace plimsoll {

// "" if there is no cache directory.
std::string trainers_directory();

struct KeptTrainer {
  std::string path;
  std::string command = {};  // the command line that made it; "": never finished
  int64_t bytes = 0;         // total size of its files
};
std::vector<KeptTrainer> kept_trainers(const std::string& directory);

struct TrainerToMake {
  std::string directory = {};
  std::string key = {};      // identifies everything that the trainer depends on
  std::string command = {};  // shown by `plimsoll cache`
  std::string target = "host";
  int64_t ranks = 1;
  std::function<Status()> compile = {};     // writes the directory
  std::function<void()> before_build = {};  // announces the build to the user
};

// Returns false, without removing it, if another process is building it. Error: unwritable_output.
Result<bool> remove_trainer(const std::string& path);

// Builds the trainer under a lock unless it exists. Afterwards `directory`/build/train is the trainer. Errors: those of
// `compile`; environment, with the last lines of the build's output; unwritable_output.
Status make_trainer(const TrainerToMake& trainer, const Messages& messages);

}  // namespace plimsoll
