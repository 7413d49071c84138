#include <fmt/format.h>
#include <unistd.h>

#include "compiler/driver/plan_file.h"
#include "compiler/report/plan_diff.h"
#include "compiler/support/output.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/json.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

class DiffCommand final : public Command {
 public:
  DiffCommand()
      : Command("diff", "compare two plans: plimsoll diff before.json after.json"),
        before_(cl::Positional, cl::Required, cl::desc("BEFORE"), cl::sub(sub)),
        after_(cl::Positional, cl::Required, cl::desc("AFTER (each a DIR or a plan.json)"), cl::sub(sub)),
        html_("html", cl::value_desc("FILE.html"),
              cl::desc("write a self-contained page with the memory of both plans instead of the tables"),
              cl::sub(sub)),
        json_("json", cl::desc("print the figures of both as JSON"), cl::sub(sub)) {}

  Status run() override {
    PLIMSOLL_ASSIGN(const Plan before, read_plan(before_));
    PLIMSOLL_ASSIGN(const Plan after, read_plan(after_));
    if (json_)
      fmt::print(
          "{}\n",
          JsonObject().add_text("before", json_of(before).text()).add_text("after", json_of(after).text()).text());
    if (!html_.empty()) {
      PLIMSOLL_TRY(write_file(html_, diff_page(before, after)));
      Console(false).say(fmt::format("wrote {}; open it in a browser", html_.getValue()));
    }
    if (json_ || !html_.empty()) {
      return {};
    }
    fmt::print("{}", report_diff(before, after, Console::color(STDOUT_FILENO)));
    return {};
  }

 private:
  cl::opt<std::string> before_, after_, html_;
  cl::opt<bool> json_;
};

}  // namespace

std::unique_ptr<Command> diff_command() { return std::make_unique<DiffCommand>(); }

}  // namespace plimsoll
