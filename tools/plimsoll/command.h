// A subcommand: its options, its help and its action. One source file each; main.cpp has the list.
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
  std::string invocation;  // the whole command line, quoted for a shell
  bool takes_trainer_flags = false;  // accepts options of the trainer among its own (split_trainer_flags)
  std::vector<std::string> own_arguments, trainer_arguments;  // if so: the arguments after the subcommand, divided
};

}  // namespace plimsoll
