#include <fmt/format.h>

#include "compiler/support/bytes.h"
#include "compiler/support/output.h"
#include "passes/place/csv.h"
#include "passes/place/solve.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/json.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

class PlaceCommand final : public Command {
 public:
  PlaceCommand()
      : Command("place", "assign addresses to buffers with given lifetimes: plimsoll place buffers.csv -o placed.csv"),
        csv_(cl::Positional, cl::Required, cl::desc("FILE.csv (id,lower,upper,size)"), cl::sub(sub)),
        output_("o", cl::value_desc("FILE"), cl::desc("write the same rows with offsets; -: stdout"), cl::sub(sub)),
        capacity_("capacity", cl::value_desc("SIZE"),
                  cl::desc("stop as soon as the height fits SIZE; exit with 6 if it does not"), cl::sub(sub)),
        json_("json", cl::desc(kJsonHelp), cl::sub(sub)),
        quick_("quick", cl::desc("search less: a second instead of up to a minute"), cl::sub(sub)) {}

  Status run() override {
    int64_t capacity = 0;
    if (!capacity_.empty()) {
      PLIMSOLL_ASSIGN(const SizeSpec size, parse_size("--capacity", capacity_.getValue()));
      if (size.kind != SizeSpec::Kind::bytes) return Error{ExitCode::usage, "--capacity must be a number of bytes"};
      capacity = size.bytes;
    }
    PLIMSOLL_ASSIGN(const std::string text, read_file(csv_));
    const Result<placement::Problem> read = placement::parse_csv(text);
    if (!read.ok()) return Error{read.error().code, csv_ + ": " + read.error().message};
    const placement::Problem& problem = *read;
    placement::Effort effort = quick_ ? placement::kQuick : placement::kThorough;
    effort.capacity = capacity;
    const placement::Solution solution = placement::solve(problem, effort);
    PLIMSOLL_TRY(placement::validate(problem, solution));

    // From here on, no two buffers overlap.

    const int64_t bound = placement::lower_bound(problem);
    if (json_ && output_ == "-") return Error{ExitCode::usage, "--json and -o - both write to stdout"};
    if (json_)
      fmt::print("{}\n", JsonObject()
                             .add("buffers", problem.buffers.size())
                             .add("height", solution.height)
                             .add("lower_bound", bound)
                             .text());
    else
      fmt::print(stderr, "{} buffers, height {}, lower bound {}: ratio {:.4f}\n", problem.buffers.size(),
                 solution.height, bound,
                 bound > 0 ? static_cast<double>(solution.height) / static_cast<double>(bound) : 1.0);
    if (output_ == "-") {
      fmt::print("{}", placement::to_csv(problem, solution));
    } else if (!output_.empty()) {
      PLIMSOLL_TRY(write_file(output_, placement::to_csv(problem, solution)));
    }
    if (capacity > 0 && solution.height > capacity)
      return Error{
          ExitCode::budget_infeasible,
          fmt::format("the best placement found needs {}, more than the capacity of {}", solution.height, capacity)};
    return {};
  }

 private:
  cl::opt<std::string> csv_, output_, capacity_;
  cl::opt<bool> json_, quick_;
};

}  // namespace

std::unique_ptr<Command> place_command() { return std::make_unique<PlaceCommand>(); }

}  // namespace plimsoll
