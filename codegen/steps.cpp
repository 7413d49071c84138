// steps_*.cpp: the program, one step per line in issue order. It is split into functions and files, because compile
// time grows faster than linearly in the length of a function (docs/decisions/generated-code.md).
#include <fmt/format.h>

#include <algorithm>

#include "codegen/source.h"
#include "codegen/text.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

constexpr size_t kLinesPerFunction = 100;
constexpr size_t kStepFunctionsPerFile = 30;

// " -> f32[8,16,32,32]": what a step computes.
std::string made_shape(const Source& source, const Step& step) {
  const std::vector<TensorId> writes = task_of(source.graph, step).writes();
  if (writes.empty()) return "";
  return " -> " + to_string(source.graph.tensors[writes.front()].type.at(source.plan.rank_samples()));
}

// The comment of a line: the step's number, what its task does and the shape of its output: "1 forward ->
// f32[8,16,32,32]", "4 offload f32[3,4,8,8]". Names and addresses are in program.h.
std::string describe(const Source& source, StepId id) {
  const Step& step = source.plan.steps[id];
  const auto shape = [&](TensorId tensor) {
    return to_string(source.graph.tensors[tensor].type.at(source.plan.rank_samples()));
  };
  if (step.kind == StepKind::reduce)
    return fmt::format("{} {}", id.value, counted(static_cast<int64_t>(step.bucket.size()), "tensor"));
  if (step.kind != StepKind::compute) return fmt::format("{} {}", id.value, shape(step.tensor));
  const Task task = task_of(source.graph, step);
  return fmt::format("{} {}{}", id.value, comment_safe(task.name.substr(task.name.rfind('.') + 1)),
                     made_shape(source, step));
}

// "conv1", "conv1, backward": the heading above the steps of a layer. Copies and updates belong to the heading before
// them. That of the forward steps goes on with the shape that the first of them computes.
std::string heading(const Source& source, const Step& step) {
  if (step.kind != StepKind::compute) return "";
  const Task& task = source.graph.tasks[step.task];
  if (task.kind == TaskKind::update || task.layer.empty()) return "";
  const std::string layer = comment_safe(task.layer.starts_with('/') ? task.layer.substr(1) : task.layer);
  return layer + (step.recompute ? ", again" : is_forward(task.kind) ? "" : ", backward");
}

std::string compute_call(const Source& source, StepId id) {
  const Step& step = source.plan.steps[id];
  const Task task = task_of(source.graph, step);
  std::string operands;
  for (const Operand& operand : task.operands) {
    operands += operands.empty() ? "" : ", ";
    operands += operand.access == Access::absent ? "none" : source.addresses.at(operand.tensor, id).name;
    if (operand.begin > 0) operands += fmt::format(" + {}", operand.begin);
  }
  const char* verb = step.recompute ? "again" : task.kind == TaskKind::update ? "update" : "run";
  return fmt::format("{}({}, {{{}}}{})", verb,
                     source.kernels.uses[static_cast<size_t>(source.kernels.of_step[id])].name, operands,
                     step.workspace.bytes > 0 ? fmt::format(", {}", step.workspace.offset) : "");
}

bool of_gradients(const Source& source, const Step& step) {
  return source.graph.tensors[step.tensor].kind == TensorKind::weight_gradient;
}

std::string reduce_call(const Source& source, StepId id) {
  const Step& step = source.plan.steps[id];
  std::string bucket;
  for (const TensorId tensor : step.bucket)
    bucket += fmt::format("{}{{{}, {}}}", bucket.empty() ? "" : ", ", source.addresses.at(tensor, id).name,
                          source.plan.tensors[tensor].bytes);
  return fmt::format(
      "{}({{{}}}{})", of_gradients(source, step) ? "reduce" : "total", bucket,
      step.workspace.bytes > 0 ? fmt::format(", {}, {}", step.workspace.offset, step.workspace.bytes) : "");
}

// "last().", for a copy that not every round has.
std::string rounds_of(CopyRounds rounds) {
  switch (rounds) {
    case CopyRounds::all: return "";
    case CopyRounds::last: return "last().";
    case CopyRounds::all_but_first: return "from_zero().";
    case CopyRounds::all_but_last: return "for_next().";
  }
  return "";
}

Result<std::string> call(const Source& source, StepId id) {
  const Step& step = source.plan.steps[id];
  switch (step.kind) {
    case StepKind::compute: return compute_call(source, id);
    case StepKind::reduce: return reduce_call(source, id);
    case StepKind::load: {
      for (size_t input = 0; input < source.graph.inputs.size(); ++input)
        if (source.graph.inputs[input] == step.tensor)
          return fmt::format("{}({}, {}, {})",
                             source.graph.tensors[step.tensor].type.depends_on_batch() ? "load" : "load_whole", input,
                             source.addresses.at(step.tensor, id).name, source.graph.tensors[step.tensor].bytes(1));
      return Error{ExitCode::internal, fmt::format("step {} loads a tensor that is no input", id.value)};
    }
    case StepKind::offload:
    case StepKind::prefetch:
      return fmt::format("{}{}({}, {}, {})", rounds_of(step.rounds), to_string(step.kind),
                         source.addresses.at(step.tensor, id).name,
                         source.host_slots.name(step.tensor, step.host_offset), source.plan.tensors[step.tensor].bytes);
  }
  return Error{ExitCode::internal, fmt::format("step {} is of no kind", id.value)};
}

// True for steps that a step of another stream waits for.
IdVector<StepId, bool> awaited_steps(const Plan& plan) {
  IdVector<StepId, bool> awaited(plan.steps.size(), false);
  for (const Step& step : plan.steps)
    for (const StepId wait : step.waits) awaited[wait] = true;
  return awaited;
}

// "after({12, 40})."
std::string after(const Step& step) {
  std::string waits;
  for (const StepId wait : step.waits) waits += fmt::format("{}{}", waits.empty() ? "" : ", ", wait.value);
  return waits.empty() ? "" : fmt::format("after({{{}}}).", waits);
}

// The step after which evaluation stops: the last forward step, or with several ranks the reduction of the loss.
StepId last_forward_step(const Source& source) {
  StepId last;
  for (const StepId id : ids_of(source.plan.steps)) {
    const Step& step = source.plan.steps[id];
    if (step.kind == StepKind::reduce && !of_gradients(source, step)) last = id;
    if (step.kind != StepKind::compute || step.recompute) continue;
    if (is_forward(source.graph.tasks[step.task].kind)) last = id;
  }
  return last;
}

// Loss and accuracy are read immediately, because the plan may reuse their bytes after the step that wrote them. With
// several ranks, they are read after their reduction. The factor of the gradients is the same on all ranks.
std::string reports(const Source& source, StepId id) {
  const Step& step = source.plan.steps[id];
  const StepKind last = source.plan.ranks > 1 ? StepKind::reduce : StepKind::compute;
  std::string text;
  if (step.kind == StepKind::compute && source.graph.factor.valid())
    for (const TensorId written : source.graph.tasks[step.task].writes())
      if (written == source.graph.factor)
        text += fmt::format("  r.read_factor({});\n", source.addresses.at(written, id).name);
  if (step.kind != last || step.recompute) return text;
  for (const TensorId written : last == StepKind::reduce ? step.bucket : source.graph.tasks[step.task].writes()) {
    if (written == source.graph.loss)
      text += fmt::format("  r.read_loss({});\n", source.addresses.at(written, id).name);
    if (written == source.graph.correct)
      text += fmt::format("  r.read_correct({});\n", source.addresses.at(written, id).name);
  }
  return text;
}

// The description, without the shape if the heading has it or the line is too long.
std::string described(const Source& source, StepId id, const std::string& line, bool in_heading) {
  constexpr size_t kColumns = 120;
  const std::string all = describe(source, id);
  return !in_heading && line.size() + all.size() <= kColumns ? all : all.substr(0, all.find(" -> "));
}

class Writer {
 public:
  Writer(std::vector<GeneratedFile>& files, std::vector<StepFunction>& functions, const Plan& plan)
      : files_(files),
        functions_(functions),
        several_ranks_(plan.ranks > 1),
        homes_on_host_(std::any_of(plan.tensors.begin(), plan.tensors.end(),
                                   [](const PlanTensor& tensor) { return tensor.at_home_on_host(); })),
        gradients_on_host_(std::any_of(plan.tensors.begin(), plan.tensors.end(), [](const PlanTensor& tensor) {
          return tensor.at_home_on_host() && tensor.kind == TensorKind::weight_gradient;
        })) {}

  // Whether the next line has a heading of its own: one that differs from the last, or the first of a function. "": the
  // heading of the previous line.
  bool heads(bool forward, const std::string& heading) const {
    return !heading.empty() && (opens(forward) || heading != heading_);
  }
  void line(bool forward, const std::string& heading, const std::string& shape, const std::string& text) {
    const bool first = opens(forward), headed = heads(forward, heading);
    if (first) open(forward);
    if (headed) {
      files_.back().contents += fmt::format("{}  // {}{}\n", first ? "" : "\n", heading, shape);
      heading_ = heading;
    }
    files_.back().contents += text;
    ++lines_;
  }
  void close() {
    if (functions_.empty()) return;
    files_.back().contents += "}\n\n}  // namespace plimsoll::trainer\n";
  }

 private:
  bool opens(bool forward) const {
    return lines_ == kLinesPerFunction || functions_.empty() || functions_.back().forward != forward;
  }
  void open(bool forward) {
    if (functions_.size() % kStepFunctionsPerFile == 0) {
      close();
      files_.push_back(
          {fmt::format("steps_{}.cpp", files_.size()),
           "// Generated by Plimsoll. The program: one step per line, in the order of issue, below the name of its "
           "layer. The\n"
           "// comment of a line has the step's number in plan.json, what it does, and a shape that the heading lacks. "
           "All\n"
           "// addresses are in program.h.\n"
           "//   run(kernel, {operands}, workspace)   update: in the last round only   again: recomputed\n"
           "//   load(input, to, bytes of a sample)   load_whole(input, to, bytes): the same for all samples\n"
           "//   offload(from, to, bytes)             prefetch(to, from, bytes): host_NAME is in the host pool\n" +
               std::string(several_ranks_ ? "//   total, reduce({{at, bytes}, ...}, workspace, bytes): summed over the "
                                            "ranks; total: in every round\n"
                                          : "") +
               std::string(homes_on_host_
                               ? "//   last(): in the last round only, for tensors that reside in the host pool\n"
                               : "") +
               std::string(gradients_on_host_ ? "//   from_zero(): zeros in the first round   for_next(): not in the "
                                                "last round; for gradients that reside there\n"
                                              : "") +
               "//   after({steps}): waits for steps of other streams, which are marked   training(): not in "
               "evaluation\n"
               "// `train --no-overlap` runs each line when it is called: a debugger can step through it.\n"
               "#include \"program.h\"\n#include \"runtime/round.h\"\n\nnamespace plimsoll::trainer {\n"});
    } else {
      files_.back().contents += "}\n";
    }
    functions_.push_back({fmt::format("{}_{}", forward ? "forward" : "backward", functions_.size()), forward});
    files_.back().contents += fmt::format("\nvoid {}(Round& r) {{\n", functions_.back().name);
    lines_ = 0;
  }

  std::vector<GeneratedFile>& files_;
  std::vector<StepFunction>& functions_;
  const bool several_ranks_, homes_on_host_, gradients_on_host_;
  size_t lines_ = 0;
  std::string heading_;
};

}  // namespace

Result<std::vector<GeneratedFile>> step_sources(const Source& source, std::vector<StepFunction>& functions) {
  std::vector<GeneratedFile> files;
  Writer writer(files, functions, source.plan);
  const StepId boundary = last_forward_step(source);
  const auto awaited = awaited_steps(source.plan);
  const auto evaluated = steps_of_evaluation(source.graph, source.plan, source.addresses);
  for (const StepId id : ids_of(source.plan.steps)) {
    const Step& step = source.plan.steps[id];
    const bool forward = id <= boundary;
    PLIMSOLL_ASSIGN(const std::string text, call(source, id));
    const std::string line =
        fmt::format("  r.{}{}{}{};  // ", after(step), forward && !evaluated[id] ? "training()." : "", text,
                    awaited[id] ? fmt::format(".mark({})", id.value) : "");
    const std::string head = heading(source, step);
    const bool shaped =
        writer.heads(forward, head) && !step.recompute && is_forward(source.graph.tasks[step.task].kind);
    writer.line(forward, head, shaped ? made_shape(source, step) : "",
                line + described(source, id, line, shaped) + "\n" + reports(source, id));
  }
  writer.close();
  return files;
}

}  // namespace plimsoll
