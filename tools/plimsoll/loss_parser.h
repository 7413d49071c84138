// Parses --loss: the name of a loss, or output:NAME.
#pragma once

#include <llvm/Support/CommandLine.h>

#include <string>
#include <string_view>

#include "compiler/network/loss.h"

namespace plimsoll {

class LossParser : public llvm::cl::parser<LossKind> {
 public:
  using parser::parser;

  bool parse(llvm::cl::Option& option, llvm::StringRef name, llvm::StringRef given, LossKind& kind) {
    constexpr llvm::StringRef kOutput = "output";
    output->clear();
    // LLVM 18 renamed its startswith.
    if (!std::string_view(given.data(), given.size()).starts_with("output:"))
      return parser::parse(option, name, given, kind);
    *output = given.drop_front(kOutput.size() + 1).str();
    return parser::parse(option, name, kOutput, kind);
  }

  std::string* output = nullptr;  // receives NAME
};

}  // namespace plimsoll
