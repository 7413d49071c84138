// Reads --loss: the name of a loss, or output:NAME.
#pragma once

#include <llvm/Support/CommandLine.h>

#include <string>

#include "compiler/network/loss.h"

namespace plimsoll {

class LossParser : public llvm::cl::parser<LossKind> {
 public:
  using parser::parser;

  bool parse(llvm::cl::Option& option, llvm::StringRef name, llvm::StringRef given, LossKind& kind) {
    constexpr llvm::StringRef kOutput = "output";
    output->clear();
    if (!given.startswith("output:")) return parser::parse(option, name, given, kind);
    *output = given.drop_front(kOutput.size() + 1).str();
    return parser::parse(option, name, kOutput, kind);
  }

  std::string* output = nullptr;  // where NAME goes
};

}  // namespace plimsoll
