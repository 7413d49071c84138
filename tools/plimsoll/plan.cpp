#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "compiler/driver/planning.h"
#include "compiler/ir/plan_json.h"
#include "compiler/support/output.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/json.h"
#include "tools/plimsoll/planning_options.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

class PlanCommand final : public Command {
 public:
  PlanCommand()
      : Command("plan", "plan without generating code: plimsoll plan net.onnx --batch 64 --budget 60% -o plan.json"),
        options_(sub),
        one_(sub),
        output_("o", cl::init("-"), cl::value_desc("FILE"),
                cl::desc("plan.json; -: stdout, which is the default unless it is a terminal"), cl::sub(sub)),
        json_("json", cl::desc("print the plan's figures as JSON; the plan itself is written only with -o"),
              cl::sub(sub)) {
    one_.let_from_replace(options_);
  }

  Status run() override {
    const Console console(options_.quiet, options_.verbose);
    PLIMSOLL_ASSIGN(const PlanningRequest request, one_.planning_request(options_));
    PLIMSOLL_ASSIGN(const OnePlanRequest one, request_of(one_));
    if (!one.stop_after.empty()) {
      if (json_) return Error{ExitCode::usage, "--json is about a plan, and --stop-after writes a dump"};
      PLIMSOLL_ASSIGN(const std::string text, text_after(request, one, console.messages(), PlanFor::report));
      return write_dump(output_, text);
    }
    PLIMSOLL_ASSIGN(planned_, plan_model(request, one, console.messages(), PlanFor::report));
    const Planned& planned = *planned_;
    if (json_ && output_ == "-" && output_.getNumOccurrences() > 0)
      return Error{ExitCode::usage, "--json and -o - both write to stdout"};
    if (json_) fmt::print("{}\n", json_of(planned.plan).text());
    // Thousands of lines of JSON would hide the figures from a person at a terminal.
    const bool for_a_person = output_.getNumOccurrences() == 0 && isatty(STDOUT_FILENO) != 0;
    if (output_ == "-") {
      if (!json_ && !for_a_person) fmt::print("{}", to_json(planned.plan));
    } else {
      PlanText text(planned.plan);
      PLIMSOLL_TRY(write_file(output_, [&] { return text.next(); }));
    }
    if (!json_) console.say(describe(planned));
    if (!json_ && for_a_person) console.note("-o plan.json writes the plan, and -o - prints it");
    return last_word(planned);
  }

 private:
  PlanningOptions options_;
  OnePlanOptions one_;
  cl::opt<std::string> output_;
  cl::opt<bool> json_;
  std::optional<Planned> planned_;  // until the process ends
};

}  // namespace

std::unique_ptr<Command> plan_command() { return std::make_unique<PlanCommand>(); }

}  // namespace plimsoll
