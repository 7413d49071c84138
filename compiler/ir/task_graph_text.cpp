#include "compiler/ir/task_graph_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "compiler/ir/text_fields.h"
#include "compiler/ir/text_types.h"

namespace plimsoll {
namespace {

// ---------------------------------------------------------------------------------------------------- printing

// "12N", "5", "5+12N"
std::string in_samples(const Affine& affine) {
  if (affine.per_sample == 0) return fmt::format("{}", affine.fixed);
  return affine.fixed == 0 ? fmt::format("{}N", affine.per_sample)
                           : fmt::format("{}+{}N", affine.fixed, affine.per_sample);
}

// " slice %fc.weight from 4096"
std::string slice_text(const TaskGraph& graph, const Tensor& tensor) {
  if (!tensor.slice_of.valid()) return "";
  return " slice " + spelled_tensor(graph.tensors[tensor.slice_of].name) +
         (tensor.slice_begin > 0 ? fmt::format(" from {}", tensor.slice_begin) : "");
}

std::string labels_text(const TaskGraph& graph, const Tensor& tensor) {
  std::string text;
  if (tensor.end_label > 0) text += fmt::format(" labels={}:{}", tensor.first_label, tensor.end_label);
  if (tensor.class_weights.valid()) text += " weighed_by " + spelled_tensor(graph.tensors[tensor.class_weights].name);
  if (tensor.mixed_labels) text += " mixed_labels";
  return text;
}

std::string line_of(const TaskGraph& graph, const Task& task) {
  const auto name = [&](TensorId id) { return spelled_tensor(graph.tensors[id].name); };
  std::string line = fmt::format("task {} {} {}{} {}{{{}}}", spelled(task.name), spelled(task.op), to_string(task.kind),
                                 option("layer", task.layer), spelled(task.kernel), to_string(task.attributes));
  for (const Operand& operand : task.operands) {
    switch (operand.access) {
      case Access::absent: line += " absent"; continue;
      case Access::read: line += operand.twice ? " read twice " : " read "; break;
      case Access::write: line += " write "; break;
      case Access::update: line += " update "; break;
    }
    line += name(operand.tensor);
    if (operand.type != graph.tensors[operand.tensor].type) line += " as " + to_string(operand.type);
    if (operand.begin > 0) line += fmt::format(" from {}", operand.begin);
  }
  for (const Task::InPlace& pair : task.in_place)
    line += fmt::format(" in_place {} {}", name(pair.read), name(pair.written));
  if (!task.remembers.empty()) line += " remember";
  for (const TensorId remembered : task.remembers) line += " " + name(remembered);
  if (task.flops != Affine{}) line += " flops=" + in_samples(task.flops);
  if (!task.may_run_again) line += " once";
  if (task.mixes_samples) line += " mixes_samples";
  if (task.whole_batch) line += " whole_batch";
  return line;
}

// ---------------------------------------------------------------------------------------------------- parsing

class TaskGraphParser {
 public:
  TaskGraphParser(std::string_view text, const std::string& what) : cursor_(text, what) {}

  Result<TaskGraph> run() {
    if (!cursor_.next_line()) return cursor_.error() ? *cursor_.error() : empty();
    header();
    while (cursor_.next_line()) line();
    if (cursor_.error()) return *cursor_.error();
    return std::move(graph_);
  }

 private:
  Error empty() {
    cursor_.fail("the text is empty");
    return *cursor_.error();
  }

  void header() {
    if (!cursor_.accept_word("graph")) return cursor_.fail("expected 'graph'");
    graph_.name = cursor_.name();
    if (!cursor_.accept_word("v1")) return cursor_.fail("expected 'v1', the only supported version");
    cursor_.expect("batch=");
    graph_.batch = read_count(cursor_, 1);
    if (cursor_.accept("ranks=")) graph_.ranks = read_count(cursor_, 1);
    if (cursor_.accept("slices=")) graph_.slice_bytes = read_count(cursor_, 1);
    if (graph_.slice_bytes > 0) graph_.whole_weights = cursor_.accept("of=state");
    graph_.forms = read_forms(cursor_);
    if (cursor_.accept("layout=")) graph_.layout = cursor_.name();
    if (cursor_.accept("rules=")) graph_.rules = cursor_.name();
  }

  void line() {
    if (cursor_.accept_word("tensor")) return tensor();
    if (cursor_.accept_word("task")) return task();
    if (cursor_.accept_word("input")) return graph_.inputs.push_back(known_tensor());
    if (cursor_.accept_word("parameter")) return parameter();
    if (cursor_.accept_word("loss")) return void(graph_.loss = known_tensor());
    if (cursor_.accept_word("correct")) return void(graph_.correct = known_tensor());
    if (cursor_.accept_word("output")) return void(graph_.output = known_tensor());
    if (cursor_.accept_word("factor")) return void(graph_.factor = known_tensor());
    cursor_.fail("expected tensor, task, input, parameter, loss, correct, output or factor");
  }

  TensorId known_tensor() { return read_tensor(cursor_, tensors_); }

  void tensor() {
    cursor_.expect("%");
    Tensor tensor{.name = cursor_.name()};
    if (!cursor_.error()) tensors_.add(cursor_, tensor.name, TensorId(static_cast<int64_t>(graph_.tensors.size())));
    tensor.kind = read_word<TensorKind>(cursor_);
    tensor.type = type();
    tensor.persistent = cursor_.accept_word("persistent");
    if (cursor_.accept("bound=")) tensor.bound = read_count(cursor_, 1);
    if (cursor_.accept("ignored=")) tensor.ignored = cursor_.integer();
    if (cursor_.accept("labels=")) {
      tensor.first_label = read_count(cursor_, 0);
      cursor_.expect(":");
      tensor.end_label = read_count(cursor_, tensor.first_label + 1);
    }
    if (cursor_.accept_word("weighed_by")) tensor.class_weights = known_tensor();
    if (!cursor_.error() && tensor.class_weights.valid() && !graph_.tensors.contains(tensor.class_weights))
      cursor_.fail("a tensor cannot weight itself");
    tensor.mixed_labels = cursor_.accept_word("mixed_labels");
    if (cursor_.accept("onnx=")) tensor.onnx_name = cursor_.name();
    if (cursor_.accept_word("slice")) slice(tensor);
    graph_.tensors.push_back(std::move(tensor));
  }

  void slice(Tensor& tensor) {
    tensor.slice_of = known_tensor();
    if (cursor_.accept_word("from")) tensor.slice_begin = read_count(cursor_, 1);
    if (!cursor_.error() && !graph_.tensors.contains(tensor.slice_of))
      cursor_.fail("a tensor cannot be a slice of itself");
    if (cursor_.error()) return;
    const Tensor& whole = graph_.tensors[tensor.slice_of];
    if (whole.type.depends_on_batch() || tensor.type.depends_on_batch())
      return cursor_.fail("a slice and its tensor have a fixed size");
    if (tensor.slice_begin > whole.bytes(1) - tensor.bytes(1))
      cursor_.fail(fmt::format("a slice of {} bytes from {} on ends beyond {} bytes", tensor.bytes(1),
                               tensor.slice_begin, whole.bytes(1)));
  }

  void parameter() {
    Parameter parameter{.tensor = known_tensor()};
    if (cursor_.accept("initializer=")) parameter.initializer = cursor_.name();
    cursor_.expect("stored=");
    parameter.stored = type();
    if (cursor_.accept_word("low")) {
      parameter.low = known_tensor();
      if (cursor_.error()) return;
      const TensorType &high = graph_.tensors[parameter.tensor].type, &low = graph_.tensors[parameter.low].type;
      if (high.type != DataType::bf16 || low != stored_as(high, DataType::i16))
        return cursor_.fail(fmt::format(
            "the lower half of a weight in bf16 is in i16 and has its dimensions; this is {}", to_string(low)));
    }
    graph_.parameters.push_back(std::move(parameter));
  }

  void task() {
    Task task{.name = cursor_.name()};
    if (!cursor_.error()) tasks_.add(cursor_, task.name, TaskId(static_cast<int64_t>(graph_.tasks.size())));
    task.op = cursor_.name();
    task.kind = read_word<TaskKind>(cursor_);
    if (cursor_.accept("layer=")) task.layer = cursor_.name();
    task.kernel = cursor_.name();
    task.attributes = attributes();
    while (!cursor_.done()) {
      if (cursor_.accept_word("absent")) task.operands.push_back({});
      else if (cursor_.accept_word("read")) operand(task, Access::read);
      else if (cursor_.accept_word("write")) operand(task, Access::write);
      else if (cursor_.accept_word("update")) operand(task, Access::update);
      else break;
    }
    while (cursor_.accept_word("in_place")) {
      const TensorId read = known_tensor();
      task.in_place.push_back({read, known_tensor()});
    }
    if (cursor_.accept_word("remember"))
      while (cursor_.sees("%")) remembered(task);
    if (cursor_.accept("flops=")) task.flops = affine();
    task.may_run_again = !cursor_.accept_word("once");
    task.mixes_samples = cursor_.accept_word("mixes_samples");
    task.whole_batch = cursor_.accept_word("whole_batch");
    graph_.tasks.push_back(std::move(task));
  }

  void operand(Task& task, Access access) {
    const bool twice = access == Access::read && cursor_.accept_word("twice");
    Operand operand{.tensor = known_tensor(), .access = access, .twice = twice};
    if (cursor_.error()) return;
    operand.type = cursor_.accept_word("as") ? type() : graph_.tensors[operand.tensor].type;
    if (is_in_blocks(operand.type.type) && graph_.tensors[operand.tensor].kind != TensorKind::optimizer_state)
      cursor_.fail(fmt::format("{} is for optimizer state only", name_of(operand.type.type)));
    if (cursor_.accept_word("from")) {
      operand.begin = read_count(cursor_, 1);
      const Tensor& tensor = graph_.tensors[operand.tensor];
      if (!cursor_.error() && (tensor.type.depends_on_batch() || operand.type.depends_on_batch() ||
                               operand.begin > tensor.bytes(1) - operand.type.bytes(1)))
        cursor_.fail(fmt::format("{} from byte {} on is not part of {}", to_string(operand.type), operand.begin,
                                 spelled_tensor(tensor.name)));
    }
    task.operands.push_back(operand);
  }

  void remembered(Task& task) {
    const TensorId tensor = known_tensor();
    const auto writes = [&](const Operand& operand) {
      return operand.access == Access::write && operand.tensor == tensor;
    };
    if (!cursor_.error() && std::none_of(task.operands.begin(), task.operands.end(), writes))
      cursor_.fail("a task can only save tensors that it writes");
    task.remembers.push_back(tensor);
  }

  // {pads=[1,1,1,1] group=32 epsilon=1e-05 ceil=true}
  Attributes attributes() {
    Attributes attributes;
    cursor_.expect("{");
    while (!cursor_.error() && !cursor_.accept("}")) {
      Attribute attribute{.name = cursor_.word(), .value = int64_t{0}};
      cursor_.expect("=");
      attribute.value = value();
      attributes.push_back(std::move(attribute));
    }
    return attributes;
  }

  AttributeValue value() {
    if (cursor_.accept_word("true")) return true;
    if (cursor_.accept_word("false")) return false;
    if (cursor_.accept("[")) {
      std::vector<int64_t> list;
      while (!cursor_.error() && !cursor_.accept("]")) {
        if (!list.empty()) cursor_.expect(",");
        list.push_back(cursor_.integer());
      }
      return list;
    }
    // Reals are distinguished from integers by their spelling: 1.0, 1e-05, inf, nan.
    const std::string digits = cursor_.number_text();
    const char* const end = digits.data() + digits.size();
    if (digits.find_first_of(".en") == std::string::npos) {
      int64_t whole = 0;
      const auto [after, failure] = std::from_chars(digits.data(), end, whole);
      if (failure != std::errc{} || after != end) cursor_.fail(fmt::format("'{}' is not a number", digits));
      return whole;
    }
    double real = 0;
    const auto [after, failure] = std::from_chars(digits.data(), end, real);
    if (failure != std::errc{} || after != end) cursor_.fail(fmt::format("'{}' is not a number", digits));
    return real;
  }

  Affine affine() {
    Affine affine;
    const int64_t first = read_count(cursor_, 0);
    if (cursor_.accept("N")) return {0, first};
    affine.fixed = first;
    if (cursor_.accept("+")) {
      affine.per_sample = read_count(cursor_, 0);
      cursor_.expect("N");
    }
    return affine;
  }

  TensorType type() { return read_type(cursor_, graph_.batch); }

  TextCursor cursor_;
  TaskGraph graph_;
  Names<TensorId> tensors_{"tensor"};
  Names<TaskId> tasks_{"task"};
};

}  // namespace

std::string to_text(const TaskGraph& graph) {
  std::string text = fmt::format(
      "graph {} v1 batch={}{}{}{}{}{}\n", spelled(graph.name), graph.batch,
      graph.ranks > 1 ? fmt::format(" ranks={}", graph.ranks) : "",
      graph.slice_bytes > 0 ? fmt::format(" slices={}{}", graph.slice_bytes, graph.whole_weights ? " of=state" : "")
                            : "",
      options_of(graph.forms), option("layout", graph.layout),
      graph.rules == "true" ? "" : option("rules", graph.rules));
  for (const Tensor& tensor : graph.tensors)
    text += fmt::format("tensor {} {} {}{}{}{}{}{}{}\n", spelled_tensor(tensor.name), to_string(tensor.kind),
                        to_string(tensor.type), tensor.persistent ? " persistent" : "",
                        tensor.bound > 0 ? fmt::format(" bound={}", tensor.bound) : "",
                        tensor.ignored ? fmt::format(" ignored={}", *tensor.ignored) : "", labels_text(graph, tensor),
                        option("onnx", tensor.onnx_name), slice_text(graph, tensor));
  for (const Task& task : graph.tasks) text += line_of(graph, task) + "\n";
  const auto name = [&](TensorId id) { return spelled_tensor(graph.tensors[id].name); };
  for (TensorId input : graph.inputs) text += fmt::format("input {}\n", name(input));
  for (const Parameter& parameter : graph.parameters)
    text += fmt::format("parameter {}{} stored={}{}\n", name(parameter.tensor),
                        option("initializer", parameter.initializer), to_string(parameter.stored),
                        parameter.low.valid() ? " low " + name(parameter.low) : "");
  if (graph.loss.valid()) text += fmt::format("loss {}\n", name(graph.loss));
  if (graph.correct.valid()) text += fmt::format("correct {}\n", name(graph.correct));
  if (graph.output.valid()) text += fmt::format("output {}\n", name(graph.output));
  if (graph.factor.valid()) text += fmt::format("factor {}\n", name(graph.factor));
  return text;
}

Result<TaskGraph> graph_from_text(std::string_view text, const std::string& what) {
  return TaskGraphParser(text, what).run();
}

}  // namespace plimsoll
