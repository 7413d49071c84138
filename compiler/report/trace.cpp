#include "compiler/report/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "compiler/ir/json_reader.h"
#include "compiler/report/json_text.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

constexpr int kStreamsProcess = 1;
constexpr int kTensorsProcess = 2;

int track_of(StreamKind stream) { return static_cast<int>(stream) + 1; }

// Both ends of a slice are rounded the same way, so that slices that do not overlap stay separate.
int64_t trace_nanoseconds(double seconds) { return std::llround(std::clamp(seconds, 0.0, 1e9) * 1e9); }

std::string microseconds(int64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

class Writer {
 public:
  Writer(const Plan& plan, const PlanFacts& facts) : plan_(plan), facts_(facts) {}

  std::string run() {
    name_tracks();
    for (const StepId id : ids_of(plan_.steps)) slice(id);
    for (const StepId id : ids_of(plan_.steps)) flow(id);
    for (size_t i = 0; i < plan_.residencies.size(); ++i) residency(i);
    for (const MemoryPoint& point : memory_over_time(plan_, facts_))
      event(fmt::format(R"("ph":"C","name":"memory","cat":"memory","pid":{},"ts":{},"args":{{"live":{}}})",
                        kStreamsProcess, microseconds(trace_nanoseconds(point.seconds)), point.bytes));
    return fmt::format(
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"model\":{},\"source\":\"plan\",\"budget_bytes\":{},\"arena_"
        "bytes\":{}}},\n"
        "\"traceEvents\":[\n{}\n]}}\n",
        json_text(plan_.model_name), plan_.budget_bytes, plan_.summary.arena_bytes, events_);
  }

 private:
  void event(const std::string& fields) { events_ += fmt::format("{}{{{}}}", events_.empty() ? "" : ",\n", fields); }

  void name_tracks() {
    const auto named = [&](const char* what, int process, int track, std::string_view name) {
      event(fmt::format(R"("ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}})", what, process, track,
                        json_text(name)));
    };
    named("process_name", kStreamsProcess, 0, "streams");
    named("process_name", kTensorsProcess, 0, "tensors");
    for (const StreamKind stream : {StreamKind::compute, StreamKind::d2h, StreamKind::h2d, StreamKind::comm}) {
      if (stream == StreamKind::comm && plan_.ranks == 1) continue;
      named("thread_name", kStreamsProcess, track_of(stream), to_string(stream));
      event(fmt::format(R"("ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}})",
                        kStreamsProcess, track_of(stream), track_of(stream)));
    }
  }

  void slice(StepId id) {
    const Step& step = plan_.steps[id];
    const int64_t start = trace_nanoseconds(step.start), end = trace_nanoseconds(step.end);
    std::string args = fmt::format("\"step\":{}", id.value);
    if (step.kind == StepKind::compute) {
      const PlanTask& task = plan_.tasks[step.task];
      args += fmt::format(R"(,"layer":{},"op":{})", json_text(task.layer), json_text(task.op));
      if (!step.algorithm.empty()) args += fmt::format(R"(,"algorithm":{})", json_text(step.algorithm));
      if (step.workspace.bytes > 0) args += fmt::format(R"(,"workspace_bytes":{})", step.workspace.bytes);
    } else {
      int64_t bytes = 0;
      for (const TensorId tensor : touched_by(plan_, step)) bytes += plan_.tensors[tensor].bytes;
      args += fmt::format(R"(,"bytes":{},"exposed_us":{:.3f})", bytes, facts_.exposed[id] * 1e6);
    }
    event(fmt::format(R"("ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}})",
                      json_text(facts_.step_names[id]), step.recompute ? "recompute" : to_string(step.kind),
                      kStreamsProcess, track_of(step.stream), microseconds(start),
                      microseconds(std::max<int64_t>(0, end - start)), args));
  }

  // A flow begins in the slice of the offload and ends in that of each prefetch of the same bytes.
  void flow(StepId id) {
    const Step& step = plan_.steps[id];
    if (step.kind == StepKind::offload) {
      out_[step.tensor.value] = id;
      return;
    }
    const auto from = step.kind == StepKind::prefetch ? out_.find(step.tensor.value) : out_.end();
    if (from == out_.end()) return;
    const Step& out = plan_.steps[from->second];
    const std::string name = json_text(plan_.tensors[step.tensor].name);
    event(fmt::format(R"("ph":"s","name":{},"cat":"host pool","id":{},"pid":{},"tid":{},"ts":{})", name, id.value,
                      kStreamsProcess, track_of(out.stream), microseconds(trace_nanoseconds(out.start))));
    event(fmt::format(R"("ph":"f","bp":"e","name":{},"cat":"host pool","id":{},"pid":{},"tid":{},"ts":{})", name,
                      id.value, kStreamsProcess, track_of(step.stream), microseconds(trace_nanoseconds(step.start))));
  }

  void residency(size_t i) {
    const Residency& residency = plan_.residencies[i];
    const PlanTensor& tensor = plan_.tensors[residency.tensor];
    const Lifetime life = lifetime_of(plan_, facts_, residency);
    const std::string common = fmt::format(R"("name":{},"cat":"{}","id":"{:#x}","pid":{},"tid":0)",
                                           json_text(tensor.name), to_string(tensor.kind), i + 1, kTensorsProcess);
    event(fmt::format(R"("ph":"b",{},"ts":{},"args":{{"bytes":{},"offset":{}}})", common,
                      microseconds(trace_nanoseconds(life.from)), residency.bytes, residency.offset));
    event(fmt::format(R"("ph":"e",{},"ts":{})", common, microseconds(trace_nanoseconds(std::max(life.from, life.to)))));
  }

  const Plan& plan_;
  const PlanFacts& facts_;
  std::string events_;
  std::unordered_map<int32_t, StepId> out_;  // the step that evicted a tensor
};

}  // namespace

std::string report_trace(const Plan& plan, const PlanFacts& facts) { return Writer(plan, facts).run(); }

Result<MeasuredSteps> measured_from_trace(std::string_view text, const Plan& plan) {
  const auto wrong = [](std::string what) { return Error{ExitCode::invalid_model, "trace: " + std::move(what)}; };
  JsonReader read("trace", ExitCode::invalid_model, "a trainer writes it: train --trace FILE");
  const Json document = read.parse(text);
  if (read.error()) return *read.error();
  const Json* events = &document;
  if (document.is_object()) {
    const auto found = document.find("traceEvents");
    if (found == document.end()) return wrong("it has no traceEvents");
    events = &*found;
    // Two plans of one model may have the same number of steps.
    if (const auto about = document.find("otherData"); about != document.end() && about->is_object())
      if (const auto arena = about->find("arena_bytes");
          arena != about->end() && arena->is_number_integer() && arena->get<int64_t>() != plan.summary.arena_bytes)
        return wrong(fmt::format("its plan has an arena of {} bytes, but this plan has {}; is it a trace of this plan?",
                                 arena->dump(), plan.summary.arena_bytes));
  }
  if (!events->is_array()) return wrong("traceEvents is not a list");
  MeasuredSteps measured{.start = IdVector<StepId, double>(plan.steps.size(), -1),
                         .end = IdVector<StepId, double>(plan.steps.size(), -1)};
  const auto number = [](const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<double>() : -1.0;
  };
  double first = 0;
  bool seen = false;
  for (const Json& event : *events) {
    if (!event.is_object() || event.value("ph", Json()) != "X") continue;
    const auto args = event.find("args");
    if (args == event.end() || !args->is_object()) continue;
    const auto step = args->find("step");
    if (step == args->end()) continue;
    if (!step->is_number_integer() || step->get<int64_t>() < 0 ||
        step->get<int64_t>() >= static_cast<int64_t>(plan.steps.size()))
      return wrong(fmt::format("args.step is {}, but the plan has {}; is it a trace of this plan?", step->dump(),
                               counted(static_cast<int64_t>(plan.steps.size()), "step")));
    const StepId id(step->get<int64_t>());
    const double start = number(event, "ts"), duration = number(event, "dur");
    if (start < 0 || duration < 0) return wrong(fmt::format("the slice of step {} has no valid ts and dur", id.value));
    measured.start[id] = start * 1e-6;
    measured.end[id] = (start + duration) * 1e-6;
    seen = true;
  }
  if (!seen) return wrong("no slice has args.step; was it written by a trainer's --trace?");
  // The clock of the last round.
  first = -1;
  for (const StepId id : ids_of(plan.steps))
    if (measured.start[id] >= 0 && (first < 0 || measured.start[id] < first)) first = measured.start[id];
  for (const StepId id : ids_of(plan.steps)) {
    if (measured.start[id] < 0) continue;
    measured.start[id] -= first;
    measured.end[id] -= first;
    measured.seconds = std::max(measured.seconds, measured.end[id]);
  }
  return measured;
}

}  // namespace plimsoll
