#include <fmt/format.h>

#include <algorithm>

#include "models/zoo.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/console.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

class ModelCommand final : public Command {
 public:
  ModelCommand()
      : Command("model", "write a network as ONNX: plimsoll model resnet50:input=64 -o resnet50.onnx"),
        spec_(cl::Positional, cl::desc("NAME[:key=value,…]"), cl::sub(sub)),
        output_("o", cl::value_desc("FILE.onnx"), cl::desc("where to write it"), cl::sub(sub)),
        list_("list", cl::desc("the networks and their parameters"), cl::sub(sub)),
        quiet_("q", cl::desc("print nothing but errors"), cl::sub(sub)) {}

  Status run() override {
    if (list_) {
      print_list();
      return {};
    }
    if (spec_.empty()) return Error{ExitCode::usage, "name a network; `plimsoll model --list` lists them"};
    if (output_.empty()) return Error{ExitCode::usage, "where to? give -o FILE.onnx"};
    PLIMSOLL_ASSIGN(const std::string line, write_zoo_model(spec_.getValue(), output_));
    Console(quiet_).say(line);
    return {};
  }

 private:
  static void print_list() {
    for (const ZooModel& model : zoo_models()) {
      fmt::print("{:<14} {}\n", model.name, model.summary);
      for (const ZooParameter& parameter : model.parameters)
        fmt::print("    {:<12} {:<10} {}\n", parameter.name, parameter.fallback, parameter.meaning);
    }
  }

  cl::opt<std::string> spec_, output_;
  cl::opt<bool> list_, quiet_;
};

}  // namespace

std::unique_ptr<Command> model_command() { return std::make_unique<ModelCommand>(); }

}  // namespace plimsoll
