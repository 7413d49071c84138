// A subcommand: its options, its help and what it does. One file each; main.cpp holds the list.
#pragma once

#include <llvm/Support/CommandLine.h>

#include <string>
#include <vector>

#include "compiler/support/status.h"

namespace plimsoll {

class Command {
 public:
  Command(llvm::StringRef name, llvm::StringRef summary) : sub(name, summary) {}
  virtual ~Command() = default;
  virtual Status run() = 0;

  llvm::cl::SubCommand sub;
  std::string invocation;  // the whole command line, quoted for a shell: what makes the same output again
  bool takes_trainer_flags = false;  // options of the trainer may stand among its own (split_trainer_flags)
  std::vector<std::string> own_arguments, trainer_arguments;  // those behind the subcommand's name, if it does
};

}  // namespace plimsoll
