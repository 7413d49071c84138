#include <fmt/format.h>

#include <algorithm>

#include "models/zoo.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/json.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

class ModelCommand final : public Command {
 public:
  ModelCommand()
      : Command("model", "write a network as ONNX: plimsoll model resnet50:input=64 -o resnet50.onnx"),
        spec_(cl::Positional, cl::desc("NAME[:key=value,…]"), cl::sub(sub)),
        output_("o", cl::value_desc("FILE.onnx"), cl::desc("the file to write"), cl::sub(sub)),
        list_("list", cl::desc("list the networks and their parameters"), cl::sub(sub)),
        json_("json", cl::desc("print the list, or what was written, as JSON"), cl::sub(sub)),
        quiet_("q", cl::desc("print nothing but errors"), cl::sub(sub)) {}

  Status run() override {
    if (list_) {
      if (json_) print_list_as_json();
      else print_list();
      return {};
    }
    if (spec_.empty()) return Error{ExitCode::usage, "a network is required; `plimsoll model --list` lists them"};
    if (output_.empty()) return Error{ExitCode::usage, "-o FILE.onnx is required"};
    PLIMSOLL_ASSIGN(const std::string line, write_zoo_model(spec_.getValue(), output_));
    if (json_)
      fmt::print(
          "{}\n",
          JsonObject().add("model", spec_.getValue()).add("file", output_.getValue()).add("summary", line).text());
    else Console(quiet_).say(line);
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

  static void print_list_as_json() {
    std::vector<std::string> models;
    for (const ZooModel& model : zoo_models()) {
      std::vector<std::string> parameters;
      for (const ZooParameter& parameter : model.parameters)
        parameters.push_back(JsonObject()
                                 .add("name", parameter.name)
                                 .add("default", parameter.fallback)
                                 .add("meaning", parameter.meaning)
                                 .text());
      models.push_back(JsonObject()
                           .add("name", model.name)
                           .add("summary", model.summary)
                           .add_text("parameters", json_list(parameters))
                           .text());
    }
    fmt::print("{}\n", json_list(models));
  }

  cl::opt<std::string> spec_, output_;
  cl::opt<bool> list_, json_, quiet_;
};

}  // namespace

std::unique_ptr<Command> model_command() { return std::make_unique<ModelCommand>(); }

}  // namespace plimsoll
