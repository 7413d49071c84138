// The command line as data, for the help, the man page and the shell completions. It is read from LLVM's registry of
// options, which is the only table of them.
#pragma once

#include <string>
#include <vector>

#include "tools/plimsoll/commands.h"

namespace plimsoll {

// The first lines of --help and of the man page.
inline constexpr const char* kOverview =
    "Plimsoll compiles an ONNX model into a C++ training program that never uses more memory than its budget.\n\n"
    "  plimsoll model resnet18:input=32,stem=cifar -o net.onnx\n"
    "  plimsoll compile net.onnx --batch 64 --budget 60% -o trainer\n"
    "  cmake -S trainer -B trainer/build && cmake --build trainer/build\n"
    "  trainer/build/train --data npy:X.npy,Y.npy --epochs 10 --save trained.onnx\n\n"
    "Exit codes: 0 ok, 1 internal error, 2 usage, 3 unreadable input, 4 invalid model, 5 unsupported operator,\n"
    "6 budget infeasible, 7 cannot write output, 8 environment, 9 verification failed, 10 time limit\n";

struct OptionRow {
  std::string name = {};         // "budget"; "o" has one dash
  std::string value = {};        // "SIZE"; empty: a flag
  std::string description = {};  // the first line says what it is, further lines what its values mean
  std::vector<std::string> meanings = {};  // of each value; empty if the description has them
  std::vector<std::string> values = {};  // all accepted values, if they are a list; those besides a file
  bool file = false;                     // takes a file or a directory
  bool needed = false;
  bool joined = false;  // the value may be absent, so it is written with "=": "--csv=steps"
  std::string dashed() const { return (name.size() == 1 ? "-" : "--") + name; }
  // The value as it follows the name: " SIZE", "[=TABLE]", or nothing.
  std::string suffix() const { return value.empty() ? "" : joined ? "[=" + value + "]" : " " + value; }
};

struct CommandRow {
  std::string name = {};
  std::string summary = {};  // "build a trainer"
  std::string example = {};  // "plimsoll compile net.onnx …"
  std::vector<std::string> positional = {};  // "MODEL.onnx"
  std::vector<std::string> words = {};       // values of the positional argument; empty: a file
  std::vector<OptionRow> options = {};       // by name
  std::vector<std::string> of_trainer = {};  // options that it passes to the trainer, with dashes
};

std::vector<CommandRow> option_table(const Commands& commands);

// True for options that --help shows. LLVM adds options of its own to every command.
bool is_own(const llvm::cl::SubCommand& command, const llvm::cl::Option& option);

// The values of an enumeration option; none for others.
std::vector<std::string> enumerated(llvm::cl::Option& option);

// All names that a command's positional argument can be; none if it is a file.
std::vector<std::string> words_of(const std::string& command);

// All names that the option takes, if they are known; or those that it takes besides a file.
std::vector<std::string> values_of(llvm::cl::Option& option);

}  // namespace plimsoll
