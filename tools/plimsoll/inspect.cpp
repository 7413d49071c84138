#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>

#include "compiler/driver/plan_file.h"
#include "compiler/import/onnx.h"
#include "compiler/network/pipeline.h"
#include "compiler/network/prune.h"
#include "compiler/report/csv.h"
#include "compiler/report/explanation.h"
#include "compiler/report/network_report.h"
#include "compiler/report/plan_page.h"
#include "compiler/report/plan_report.h"
#include "compiler/report/trace.h"
#include "compiler/support/output.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/json.h"
#include "tools/plimsoll/planning_options.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

class InspectCommand final : public Command {
 public:
  InspectCommand()
      : Command("inspect", "report on a model, a plan or a generated directory: plimsoll inspect trainer"),
        what_(cl::Positional, cl::Required, cl::desc("DIR|plan.json|MODEL.onnx"), cl::sub(sub)),
        batch_("batch", cl::init(1), cl::value_desc("N"), cl::desc("for a model: the batch to size it for"),
               cl::sub(sub)),
        explain_("explain", cl::value_desc("TENSOR|LAYER"),
                 cl::desc("for a plan: explain the address and the decision of a tensor, or the tasks of a layer"),
                 cl::sub(sub)),
        csv_("csv", cl::ValueOptional, cl::value_desc("TABLE"), cl::desc("for a plan: print CSV"),
             cl::values(clEnumValN(CsvTable::layers, "layers", "a line per layer (default)"),
                        clEnumValN(CsvTable::tensors, "tensors", "a line per residency of a tensor"),
                        clEnumValN(CsvTable::steps, "steps", "a line per step"), clEnumValN(CsvTable::layers, "", "")),
             cl::sub(sub)),
        json_("json", cl::desc("print the figures as JSON; with --csv that table, with --weights that list"),
              cl::sub(sub)),
        trace_("trace", cl::value_desc("FILE.json"),
               cl::desc("for a plan: write its timeline, for ui.perfetto.dev and chrome://tracing"), cl::sub(sub)),
        html_("html", cl::value_desc("FILE.html"), cl::desc("for a plan: write a self-contained page"), cl::sub(sub)),
        dims_("dim", cl::value_desc("NAME=SIZE"),
              cl::desc("for a model: size of a symbolic dimension other than the batch"), cl::sub(sub)),
        inputs_("input", cl::value_desc("NAME=NUMBER"),
                cl::desc("for a model: an integer or boolean input that is always this number"), cl::sub(sub)),
        weights_("weights", cl::desc("for a model: list its weights, and which of them are trained"), cl::sub(sub)),
        patterns_(sub),
        measured_("measured", cl::value_desc("FILE.json"),
                  cl::desc("for --html: compare the prediction with the output of `train --trace measured.json`; "
                           "default for DIR: DIR/measured.json, if it exists"),
                  cl::sub(sub)) {}

  Status run() override {
    std::error_code ignored;
    if (std::filesystem::is_directory(what_.getValue(), ignored) || what_.getValue().ends_with(".json") ||
        what_.getValue().ends_with(".plan")) {
      for (const cl::Option& option : std::initializer_list<std::reference_wrapper<const cl::Option>>{
               dims_, inputs_, weights_, patterns_.trainable, patterns_.freeze, patterns_.frozen_statistics,
               patterns_.assume, patterns_.output})
        if (option.getNumOccurrences() > 0)
          return Error{ExitCode::usage,
                       fmt::format("--{} applies to models, but {} is a plan", option.ArgStr.str(), what_.getValue())};
      PLIMSOLL_ASSIGN(const Plan plan, read_plan(what_));
      return inspect_plan(plan);
    }
    for (const cl::Option* option :
         std::initializer_list<const cl::Option*>{&explain_, &csv_, &trace_, &html_, &measured_})
      if (option->getNumOccurrences() > 0)
        return Error{ExitCode::usage,
                     fmt::format("--{} applies to plans, but {} is not a plan", option->ArgStr.str(), what_.getValue()),
                     {"`plimsoll plan MODEL.onnx --batch N --budget SIZE -o plan.json` writes one"}};
    return inspect_model();
  }

 private:
  Status inspect_plan(const Plan& plan) const {
    const Console console(false);
    const bool color = Console::color(STDOUT_FILENO);
    const PlanFacts facts = facts_of(plan);
    if (!measured_.empty() && html_.empty()) return Error{ExitCode::usage, "--measured requires --html FILE.html"};
    if (!trace_.empty()) {
      PLIMSOLL_TRY(write_file(trace_, report_trace(plan, facts)));
      console.say(fmt::format("wrote {}; open it at ui.perfetto.dev or in chrome://tracing", trace_.getValue()));
    }
    if (!html_.empty()) PLIMSOLL_TRY(write_page(plan, facts, console));
    if (!explain_.empty()) {
      PLIMSOLL_ASSIGN(const std::string text, explain(plan, facts, explain_, color));
      fmt::print("{}", text);
    }
    if (json_) {
      fmt::print("{}\n",
                 csv_.getNumOccurrences() > 0 ? json_of_csv(report_csv(plan, facts, csv_)) : json_of(plan).text());
      return {};
    }
    if (csv_.getNumOccurrences() > 0) fmt::print("{}", report_csv(plan, facts, csv_));
    // Only the requested outputs are made.
    if (trace_.empty() && html_.empty() && explain_.empty() && csv_.getNumOccurrences() == 0)
      fmt::print("{}", report_plan(plan, facts, color));
    return {};
  }

  Status write_page(const Plan& plan, const PlanFacts& facts, const Console& console) const {
    const std::string beside_plan = what_ + "/measured.json";
    std::error_code ignored;
    const bool found = measured_.empty() && std::filesystem::is_regular_file(beside_plan, ignored);
    const std::string from = found ? beside_plan : measured_.getValue();
    std::optional<MeasuredSteps> measured;
    if (!from.empty()) {
      PLIMSOLL_ASSIGN(const std::string text, read_file(from));
      Result<MeasuredSteps> read = measured_from_trace(text, plan);
      if (read.ok()) measured = std::move(*read);
      else if (!found) return Error{read.error().code, from + ": " + read.error().message, read.error().notes};
      else console.warning(fmt::format("{} is ignored: {}", from, read.error().message));
    }
    PLIMSOLL_TRY(write_file(html_, plan_page(plan, facts, measured ? &*measured : nullptr)));
    console.say(fmt::format("wrote {}{}; open it in a browser", html_.getValue(),
                            measured ? ", with the times measured in " + from : ""));
    return {};
  }

  Status inspect_model() const {
    if (batch_ < 1) return Error{ExitCode::usage, "--batch is less than 1"};
    PLIMSOLL_ASSIGN(const auto dims, sizes_by_name(dims_));
    PLIMSOLL_ASSIGN(const auto inputs, numbers_by_name(inputs_));
    const TrainedRequest request = patterns_.request();
    PLIMSOLL_ASSIGN(ImportedModel model,
                    import_onnx(what_, {.batch = batch_,
                                        .dims = dims,
                                        .inputs = inputs,
                                        .output = patterns_.output,
                                        .modes_are_given = request.modes != Modes::asked ||
                                                           !request.frozen_statistics.empty()}));
    if (!patterns_.output.empty()) {
      PLIMSOLL_TRY(choose_output(model.network, patterns_.output, model.notes));
      prune_dead_nodes(model.network);
    }
    if (!model.perhaps_merged.empty() && !request.assume_shared) model.warnings.push_back(model.perhaps_merged);
    if (const Status status =
            decide_modes(model.network, model.states_modes, request.modes, !request.frozen_statistics.empty());
        !status.ok())
      model.warnings.push_back(status.error().message);
    PLIMSOLL_TRY(choose_what_is_trained(model.network, request, model.notes));
    // Undecided weights are shown as such; inspect does not ask.
    if (request.assume != Assume::nothing) PLIMSOLL_TRY(decide_weights(model.network, request.assume, model.notes));
    if (json_) fmt::print("{}\n", weights_ ? json_of_weights(model) : json_of_model(model));
    else if (weights_) fmt::print("{}", report_weights(model.network, model.reasons));
    else fmt::print("{}", report_network(model.network, model.notes, Console::color(STDOUT_FILENO)));
    for (const std::string& warning : model.warnings) Console(false).warning(warning);
    return {};
  }

  static std::string json_of_weights(const ImportedModel& model) {
    std::vector<std::string> objects;
    for (const WeightLine& line : weight_lines(model.network, model.reasons))
      objects.push_back(JsonObject()
                            .add("what", line.what)
                            .add("name", line.name)
                            .add("type", line.type)
                            .add("layer", line.layer)
                            .add("reason", line.reason)
                            .text());
    return json_list(objects);
  }

  static std::string json_of_model(const ImportedModel& model) {
    const Network& network = model.network;
    const auto signature = [&](const std::vector<ValueId>& values) {
      std::vector<std::string> objects;
      for (const ValueId value : values)
        objects.push_back(JsonObject()
                              .add("name", network.values[value].name)
                              .add("type", to_string(network.values[value].type))
                              .text());
      return json_list(objects);
    };
    JsonObject operators, weights;
    for (const OperatorCount& one : operator_counts(network)) operators.add(one.op, one.nodes);
    for (const WeightGroup& group : weight_groups(network))
      weights.add_text(
          group.name,
          JsonObject().add("tensors", group.tensors).add("elements", group.elements).add("bytes", group.bytes).text());
    std::vector<std::string> notes;
    for (const std::string& note : model.notes) notes.push_back(json_text(note));
    return JsonObject()
        .add("model", network.name)
        .add("nodes", network.nodes.size())
        .add_text("inputs", signature(network.inputs))
        .add_text("outputs", signature(network.outputs))
        .add_text("operators", operators.text())
        .add_text("weights", weights.text())
        .add_text("notes", json_list(notes))
        .text();
  }

  cl::opt<std::string> what_;
  cl::opt<long long> batch_;
  cl::opt<std::string> explain_;
  cl::opt<CsvTable> csv_;
  cl::opt<bool> json_;
  cl::opt<std::string> trace_, html_;
  cl::list<std::string> dims_;
  cl::list<std::string> inputs_;
  cl::opt<bool> weights_;
  WeightOptions patterns_;
  cl::opt<std::string> measured_;
};

}  // namespace

std::unique_ptr<Command> inspect_command() { return std::make_unique<InspectCommand>(); }

}  // namespace plimsoll
