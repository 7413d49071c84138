#include <fmt/format.h>

#include <utility>

#include "codegen/generate.h"
#include "compiler/driver/compile.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/json.h"
#include "tools/plimsoll/planning_options.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

class CompileCommand final : public Command {
 public:
  CompileCommand()
      : Command("compile",
                "plan, and generate the trainer: plimsoll compile net.onnx --batch 64 --budget 4GiB -o trainer"),
        options_(sub),
        one_(sub),
        output_("o", cl::value_desc("DIR"), cl::desc("the generated directory; with --stop-after a file"),
                cl::sub(sub)),
        force_("force", cl::desc("replace a non-empty directory that plimsoll did not write, and delete its contents"),
               cl::sub(sub)),
        external_data_("external-data",
                       cl::desc("keep the weights in a file next to the model, as is always done above 2 GiB"),
                       cl::sub(sub)),
        dry_run_("dry-run", cl::desc("do everything except writing"), cl::sub(sub)),
        json_("json", cl::desc("print the plan's figures as JSON"), cl::sub(sub)) {
    one_.let_from_replace(options_);
  }

  Status run() override {
    const Console console(options_.quiet, options_.verbose);
    PLIMSOLL_ASSIGN(PlanningRequest planning, one_.planning_request(options_));
    PLIMSOLL_ASSIGN(OnePlanRequest plan, request_of(one_));
    if (!plan.stop_after.empty()) {
      if (json_ || dry_run_)
        return Error{ExitCode::usage, "--stop-after writes a dump: --json and --dry-run have no effect"};
      PLIMSOLL_ASSIGN(const std::string text, text_after(planning, plan, console.messages(), PlanFor::trainer));
      return write_dump(output_.empty() ? "-" : output_.getValue(), text);
    }
    if (output_.empty()) return Error{ExitCode::usage, "-o DIR is required: the generated directory"};
    PLIMSOLL_ASSIGN(const Planned planned, compile({.planning = std::move(planning),
                                                    .plan = std::move(plan),
                                                    .directory = output_,
                                                    .force = force_,
                                                    .external_data = external_data_,
                                                    .dry_run = dry_run_,
                                                    .invocation = invocation},
                                                   console.messages()));
    if (json_) {
      fmt::print("{}\n", json_of(planned.plan).text());
      return last_word(planned);
    }
    console.say(describe(planned));
    if (dry_run_) return last_word(planned);
    console.say(
        fmt::format("\nwrote {}. Next:\n  cmake -S {} -B {}/build && cmake --build {}/build -j \"$(nproc)\"\n"
                    "  {}{}/build/train --data npy:{} --epochs 1 --save trained.onnx",
                    output_.getValue(), output_.getValue(), output_.getValue(), output_.getValue(),
                    planned.plan.ranks > 1 ? fmt::format("mpirun -np {} ", planned.plan.ranks) : "", output_.getValue(),
                    example_files(planned.graph)));
    return last_word(planned);
  }

 private:
  PlanningOptions options_;
  OnePlanOptions one_;
  cl::opt<std::string> output_;
  cl::opt<bool> force_, external_data_, dry_run_, json_;
};

}  // namespace

std::unique_ptr<Command> compile_command() { return std::make_unique<CompileCommand>(); }

}  // namespace plimsoll
