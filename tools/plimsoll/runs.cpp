#include <fmt/format.h>
#include <unistd.h>

#include "compiler/report/run_page.h"
#include "compiler/support/output.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/json.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

class RunsCommand final : public Command {
 public:
  RunsCommand()
      : Command("runs", "summarize training runs, or plot their curves: plimsoll runs metrics.jsonl --html run.html"),
        files_(cl::Positional, cl::OneOrMore,
               cl::desc("METRICS.jsonl|METRICS.csv … (what `train --metrics FILE` wrote)"), cl::sub(sub)),
        html_("html", cl::value_desc("FILE.html"),
              cl::desc("write a self-contained page of curves instead of the table"), cl::sub(sub)),
        json_("json", cl::desc(kJsonHelp), cl::sub(sub)) {}

  Status run() override {
    const std::vector<std::string> paths(files_.begin(), files_.end());
    const std::vector<std::string> names = run_names(paths);
    std::vector<TrainingRun> runs;
    for (size_t i = 0; i < paths.size(); ++i) {
      PLIMSOLL_ASSIGN(const std::string text, read_file(paths[i]));
      PLIMSOLL_ASSIGN(TrainingRun run, read_metrics(text, paths[i]));
      run.name = names[i];
      runs.push_back(std::move(run));
    }
    if (!html_.empty()) {
      PLIMSOLL_TRY(write_file(html_, run_page(runs)));
      Console(false).say(fmt::format("wrote {}; open it in a browser", html_.getValue()));
    }
    if (json_) print_json(paths, runs);
    else if (html_.empty()) fmt::print("{}", report_runs(runs, Console::color(STDOUT_FILENO)));
    return {};
  }

 private:
  static void print_json(const std::vector<std::string>& paths, const std::vector<TrainingRun>& runs) {
    std::vector<std::string> objects;
    for (size_t i = 0; i < runs.size(); ++i) {
      const TrainingRun& run = runs[i];
      const RunFigures figures = run_figures(run);
      objects.push_back(JsonObject()
                            .add("name", run.name)
                            .add("file", paths[i])
                            .add("iterations", run.lines.size())
                            .add("evaluations", run.evaluations.size())
                            .add_or_null("loss", figures.loss)
                            .add_or_null("best_eval_loss", figures.best_loss)
                            .add_or_null("best_eval_accuracy", figures.best_accuracy)
                            .add("seconds", figures.seconds)
                            .add_or_null("samples_per_second", figures.samples_per_second)
                            .add("arena_allocated_bytes", run.arena_allocated_bytes)
                            .add("resident_peak_bytes", figures.resident_bytes)
                            .text());
    }
    fmt::print("{}\n", json_list(objects));
  }

  cl::list<std::string> files_;
  cl::opt<std::string> html_;
  cl::opt<bool> json_;
};

}  // namespace

std::unique_ptr<Command> runs_command() { return std::make_unique<RunsCommand>(); }

}  // namespace plimsoll
