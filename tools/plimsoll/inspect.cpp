#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "compiler/import/onnx.h"
#include "compiler/report/network_report.h"
#include "compiler/report/plan_report.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/plan_file.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

class InspectCommand final : public Command {
 public:
  InspectCommand()
      : Command("inspect", "look at a model, a plan or a generated directory: plimsoll inspect trainer"),
        what_(cl::Positional, cl::Required, cl::desc("DIR|plan.json|MODEL.onnx"), cl::sub(sub)),
        batch_("batch", cl::init(1), cl::value_desc("N"), cl::desc("for a model: samples to size it for"), cl::sub(sub)) {}

  Status run() override {
    const bool color = Console::color(STDOUT_FILENO);
    std::error_code ignored;
    if (std::filesystem::is_directory(what_.getValue(), ignored) || what_.getValue().ends_with(".json")) {
      PLIMSOLL_ASSIGN(const Plan plan, read_plan(what_));
      fmt::print("{}", report_plan(plan, color));
      return {};
    }
    if (batch_ < 1) return Error{ExitCode::usage, "--batch should be at least 1"};
    PLIMSOLL_ASSIGN(const ImportedModel model, import_onnx(what_, {.batch = batch_}));
    fmt::print("{}", report_network(model.network, model.notes, color));
    for (const std::string& warning : model.warnings) Console(false).warning(warning);
    return {};
  }

 private:
  cl::opt<std::string> what_;
  cl::opt<long long> batch_;
};

}  // namespace

std::unique_ptr<Command> inspect_command() { return std::make_unique<InspectCommand>(); }

}  // namespace plimsoll
