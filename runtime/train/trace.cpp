#include "runtime/train/trace.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <map>
#include <vector>

#include "runtime/train/error.h"
#include "runtime/train/file.h"

namespace plimsoll::train {
namespace {

constexpr int kStreamsProcess = 1, kTensorsProcess = 2;

std::string quoted(const char* text) {
  std::string json = "\"";
  for (const char* c = text; *c != '\0'; ++c) {
    const auto byte = static_cast<unsigned char>(*c);
    char escaped[8];
    if (byte == '"' || byte == '\\') (json += '\\') += *c;
    else if (byte < 0x20 || byte == 0x7f) std::snprintf(escaped, sizeof escaped, "\\u%04x", byte), json += escaped;
    else json += *c;
  }
  return json + "\"";
}

// Both ends of a slice are rounded the same way, so slices that do not overlap stay separate.
int64_t nanoseconds(double seconds) { return static_cast<int64_t>(seconds * 1e9 + 0.5); }

std::string microseconds(int64_t nanoseconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%" PRId64 ".%03" PRId64, nanoseconds / 1000, nanoseconds % 1000);
  return text;
}

class Writer {
 public:
  Writer(const Program& program, const Round& round, const StepTimes& times)
      : program_(program), round_(round), times_(times) {
    for (const StepTimes::Span& span : times.steps) end_ = std::max(end_, span.end);
  }

  std::string run() {
    track(kStreamsProcess, "process_name", 0, "streams");
    track(kTensorsProcess, "process_name", 0, "tensors");
    for (const auto& [number, name] : {std::pair{1, "compute"}, {2, "d2h"}, {3, "h2d"}, {4, "comm"}})
      if (number < 4 || program_.ranks > 1) track(kStreamsProcess, "thread_name", number, name);
    for (const Command& command : round_.commands())
      if (command.is_step()) step(command);
    lives();
    return "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"model\":" + quoted(program_.model) +
           ",\"source\":\"run\",\"budget_bytes\":" + std::to_string(program_.budget_bytes) +
           ",\"arena_bytes\":" + std::to_string(program_.arena_bytes) + "},\n\"traceEvents\":[\n" + events_ + "\n]}\n";
  }

 private:
  void event(const std::string& fields) { events_ += (events_.empty() ? "{" : ",\n{") + fields + "}"; }

  void track(int process, const char* what, int number, const char* name) {
    event("\"ph\":\"M\",\"name\":\"" + std::string(what) + "\",\"pid\":" + std::to_string(process) + ",\"tid\":" +
          std::to_string(number) + ",\"args\":{\"name\":\"" + name + "\"}");
  }

  const StepTimes::Span* span_of(int32_t step) const {
    const size_t at = static_cast<size_t>(step);
    return step >= 0 && at < times_.steps.size() && times_.steps[at].start >= 0 ? &times_.steps[at] : nullptr;
  }
  std::string name_of(int32_t step) const {
    const size_t at = static_cast<size_t>(step);
    return quoted(step >= 0 && at < program_.step_names.size() ? program_.step_names[at] : "persistent");
  }
  static const char* kind_of(Command::Kind kind) {
    switch (kind) {
      case Command::Kind::again: return "recompute";
      case Command::Kind::load: return "load";
      case Command::Kind::offload: return "offload";
      case Command::Kind::prefetch: return "prefetch";
      case Command::Kind::reduce:
      case Command::Kind::total: return "reduce";
      default: return "compute";
    }
  }
  static std::string place(const Command& command, double seconds) {
    return "\"pid\":" + std::to_string(kStreamsProcess) +
           ",\"tid\":" + std::to_string(static_cast<int>(command.stream()) + 1) +
           ",\"ts\":" + microseconds(nanoseconds(seconds));
  }

  int64_t bytes_of(const Command& command) const {
    if (!command.adds_up()) return command.bytes;
    int64_t bytes = 0;
    for (size_t i = 1; i < command.operands; i += 2) bytes += round_.operands(command)[i];
    return bytes;
  }

  void step(const Command& command) {
    const StepTimes::Span* const span = span_of(command.step);
    if (!span) return;
    std::string args = "\"step\":" + std::to_string(command.step);
    if (command.stream() != Stream::compute) args += ",\"bytes\":" + std::to_string(bytes_of(command));
    const int64_t length = nanoseconds(span->end) - nanoseconds(span->start);
    event("\"ph\":\"X\",\"name\":" + name_of(command.step) + ",\"cat\":\"" + kind_of(command.kind) + "\"," +
          place(command, span->start) + ",\"dur\":" + microseconds(length) + ",\"args\":{" + args + "}");
    if (command.kind == Command::Kind::offload) out_[command.host_offset] = &command;
    if (command.kind == Command::Kind::prefetch) flow(command, *span);
  }

  // An arrow from the offload that wrote these bytes.
  void flow(const Command& prefetch, const StepTimes::Span& span) {
    const auto found = out_.find(prefetch.host_offset);
    const StepTimes::Span* const from = found == out_.end() ? nullptr : span_of(found->second->step);
    if (!from) return;
    const std::string common =
        "\"name\":\"host pool\",\"cat\":\"host pool\",\"id\":" + std::to_string(prefetch.step) + ",";
    event("\"ph\":\"s\"," + common + place(*found->second, from->start));
    event("\"ph\":\"f\",\"bp\":\"e\"," + common + place(prefetch, span.start));
  }

  // A tensor is named after the step that writes it.
  void lives() {
    std::map<int64_t, int64_t> changes = {{0, 0}};  // bytes by time
    int64_t id = 0;
    for (const ProgramLife& life : program_.lives) {
      const StepTimes::Span *const first = span_of(life.first_step), *const last = span_of(life.last_step);
      const int64_t from = first ? nanoseconds(first->start) : 0,
                    to = std::max(from, nanoseconds(last ? last->end : end_));
      const std::string common = "\"name\":" + name_of(life.first_step) + ",\"cat\":\"tensor\",\"id\":\"" +
                                 std::to_string(++id) + "\",\"pid\":" + std::to_string(kTensorsProcess) +
                                 ",\"tid\":0,\"ts\":";
      event("\"ph\":\"b\"," + common + microseconds(from) + ",\"args\":{\"bytes\":" + std::to_string(life.bytes) +
            ",\"offset\":" + std::to_string(life.offset) + "}");
      event("\"ph\":\"e\"," + common + microseconds(to));
      changes[from] += life.bytes;
      changes[to] -= life.bytes;
    }
    int64_t live = 0;
    for (const auto& [at, bytes] : changes)
      event("\"ph\":\"C\",\"name\":\"memory\",\"cat\":\"memory\",\"pid\":" + std::to_string(kStreamsProcess) +
            ",\"ts\":" + microseconds(at) + ",\"args\":{\"live\":" + std::to_string(live += bytes) + "}");
  }

  const Program& program_;
  const Round& round_;
  const StepTimes& times_;
  double end_ = 0;
  std::string events_;
  std::map<int64_t, const Command*> out_;  // the last offload to each offset of the host pool
};

}  // namespace

void check_trace(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, unknown))
    throw TrainerError(Exit::unwritable_output, "cannot write '" + path + "': there is no such directory");
}

void write_trace(const std::string& path, const Program& program, const Round& round, const StepTimes& times) {
  const std::string text = Writer(program, round, times).run();
  OutputFile file(path);
  file.write(0, reinterpret_cast<const std::byte*>(text.data()), static_cast<int64_t>(text.size()));
  file.commit();
}

}  // namespace plimsoll::train
