#include <fmt/format.h>

#include "compiler/check/check.h"
#include "compiler/driver/plan_file.h"
#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/json.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

class VerifyCommand final : public Command {
 public:
  VerifyCommand()
      : Command("verify", "check a plan: plimsoll verify trainer"),
        plan_(cl::Positional, cl::Required, cl::desc("DIR|plan.json"), cl::sub(sub)),
        json_("json", cl::desc(kJsonHelp), cl::sub(sub)),
        quiet_("q", cl::desc("print nothing but errors"), cl::sub(sub)) {}

  Status run() override {
    PLIMSOLL_ASSIGN(const Plan plan, read_plan(plan_));
    const std::vector<Violation> violations = check_plan(plan);
    if (json_) fmt::print("{}\n", json_of(plan).add("violations", violations.size()).text());
    if (!violations.empty()) return refusal(plan, violations);
    if (!quiet_ && !json_)
      fmt::print("ok: {}, {} residencies, arena {} of budget {}\n",
                 counted(static_cast<int64_t>(plan.steps.size()), "step"), plan.residencies.size(),
                 format_bytes(plan.summary.arena_bytes),
                 plan.budget_bytes > 0 ? format_bytes(plan.budget_bytes) : "unlimited");
    return {};
  }

 private:
  cl::opt<std::string> plan_;
  cl::opt<bool> json_, quiet_;
};

}  // namespace

std::unique_ptr<Command> verify_command() { return std::make_unique<VerifyCommand>(); }

}  // namespace plimsoll
