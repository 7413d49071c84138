#include <fmt/format.h>

#include <filesystem>

#include "compiler/import/model_file.h"
#include "compiler/support/output.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/json.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

class ExportCommand final : public Command {
 public:
  ExportCommand()
      : Command("export",
                "write a model, or a checkpoint of a trainer, as one ONNX file: plimsoll export trainer --checkpoint "
                "ck/ckpt-000000500 -o trained.onnx"),
        what_(cl::Positional, cl::Required, cl::desc("DIR|MODEL.onnx"), cl::sub(sub)),
        checkpoint_("checkpoint", cl::value_desc("DIR"),
                    cl::desc("take weights and statistics from a trainer's checkpoint"), cl::sub(sub)),
        average_("average",
                 cl::desc("take the averaged weights of the checkpoint, of a trainer that was run with --ema"),
                 cl::sub(sub)),
        inference_("inference",
                   cl::desc("write the model for inference, with running statistics and without dropout, if it was "
                            "exported for training"),
                   cl::sub(sub)),
        output_("o", cl::Required, cl::value_desc("FILE.onnx"), cl::desc("the file to write"), cl::sub(sub)),
        json_("json", cl::desc("print what was written as JSON"), cl::sub(sub)),
        quiet_("q", cl::desc("print nothing but errors"), cl::sub(sub)) {}

  Status run() override {
    namespace fs = std::filesystem;
    std::error_code ignored;
    const std::string model = fs::is_directory(what_.getValue(), ignored) ? what_ + "/model.onnx" : what_.getValue();
    const bool has_average = !checkpoint_.empty() && fs::exists(checkpoint_ + "/" + kAverageFile, ignored);
    if (average_ && checkpoint_.empty()) return Error{ExitCode::usage, "--average requires --checkpoint DIR"};
    if (average_ && !has_average)
      return Error{ExitCode::unreadable_input,
                   fmt::format("'{}' has no averaged weights: its run had no --ema", checkpoint_.getValue())};
    const SignalsWait signals;
    PLIMSOLL_ASSIGN(
        const std::string weights,
        export_model({.model = model, .checkpoint = checkpoint_, .average = average_, .for_inference = inference_},
                     output_.getValue()));
    const std::string beside = weights.empty() ? "" : (fs::path(output_.getValue()).parent_path() / weights).string();
    if (has_average && !average_)
      Console(quiet_).note("these are the last weights; evaluations used the averaged ones, which --average takes");
    if (json_) {
      fmt::print("{}\n", JsonObject()
                             .add("file", output_.getValue())
                             .add_text("weights_file", beside.empty() ? "null" : json_text(beside))
                             .text());
      return {};
    }
    Console(quiet_).say(fmt::format("wrote {}{}", output_.getValue(), beside.empty() ? "" : ", weights in " + beside));
    return {};
  }

 private:
  cl::opt<std::string> what_, checkpoint_;
  cl::opt<bool> average_, inference_;
  cl::opt<std::string> output_;
  cl::opt<bool> json_, quiet_;
};

}  // namespace

std::unique_ptr<Command> export_command() { return std::make_unique<ExportCommand>(); }

}  // namespace plimsoll
