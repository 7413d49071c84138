// The device's streams: kernels on the first, offloads on the second, prefetches and loads on the third, reductions
// over ranks on the fourth, with an event for each step that another stream waits for. A round begins with a fork and
// ends with a join:
//
//   compute  ─┬─ changing ── 0 ── 1 ─────●── 2 ── 3 ── … ──┬─ loss ─►
//   d2h       ├──────────────────────────┴ offload ────────┤            ● event, recorded after the step
//   h2d       └─ load ── prefetch … ───────────────────────┘
//
// Streams run in order, so of several waits for one stream only the last is issued. Steps that evaluation or a round
// without updates skips still wait and record their events: another stream's wait for one of them stands for the steps
// before it, too.
//
// A repeated round is recorded as a CUDA graph: thousands of launches become one. Values that change between replays
// are not in the recording: seed, iteration, round and rate are read from device memory that the first node fills; the
// samples' addresses are updated if they have changed. Rounds are issued step by step in these cases: the first round
// of each kind, because libraries load their code on first use; timed rounds, with an event before and after each step;
// rounds that cannot be recorded; and rounds for whose graph the device has too little free memory.
//
// If the plan has room for the next round's inputs, they are copied while a round computes (inputs_ahead.h).
//
// Consecutive updates on the compute stream without waits in between are combined into one launch if their kernels
// allow it. The launch takes the position of the first update. Other streams cannot tell the difference, because
// waiting for one of the updates means waiting for all.
#include "runtime/streams.h"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/device/changing.h"
#include "runtime/cuda/device/combined.h"
#include "runtime/cuda/device/handles.h"
#include "runtime/cuda/inputs_ahead.h"
#include "runtime/program.h"

namespace plimsoll::backend {
namespace {

using cuda::check;

// The names of layers on the timeline of an attached profiling tool; almost free without one.
class NamedRange {
 public:
  explicit NamedRange(const char* name) { nvtxRangePushA(name); }
  ~NamedRange() { nvtxRangePop(); }
  NamedRange(const NamedRange&) = delete;
  NamedRange& operator=(const NamedRange&) = delete;
};

// The values that host and device exchange in a round; pinned, so that neither waits for the other.
constexpr size_t kReadings = 64;  // per round; every known network has one

struct Exchange {
  cuda::Changing changing;                      // host → device
  float loss[kReadings], correct[kReadings], factor;  // device → host
};

// Rounds that issue the same commands on the same kernels are of one kind.
struct Kind {
  const KernelSet* kernels;
  bool training, first, last;  // first: only if that makes a difference
  int64_t samples;
  friend auto operator<=>(const Kind&, const Kind&) = default;
};

struct Load {
  bool of_next;  // of the next round's samples
  size_t input;
  cudaGraphNode_t node;
  const std::byte* from;
  std::byte* to;
  int64_t bytes;
};

struct Recording {
  bool warm = false;    // was issued step by step once
  std::string why_not;   // the reason if it cannot be recorded: it is then always issued step by step
  cuda::Graph graph;
  std::vector<Load> loads;
  size_t losses = 0, corrects = 0;  // readings per round
};

// The events around a timed step.
struct Timed {
  cuda::Event began, ended;
  bool ran = false;
};

}  // namespace

class Streams::Player final : CommandRunner {
 public:
  Player(const Program& program, const Round& round, const Arena& arena, HostPool* pool, Overlap overlap)
      : program_(overlap == Overlap::none ? &program : nullptr),
        arena_(arena.data()),
        pool_(pool),
        ahead_(program, arena.data()),
        names_(program.step_names),
        round_(round),
        changing_(cuda::changing_on_device()),
        operands_of_(round.commands().size()),
        issued_(round.commands().size()) {
    for (const Command& command : round.commands()) {
      if (command.is_step()) used_[static_cast<size_t>(command.stream())] = true;
      begins_with_zeros_ = begins_with_zeros_ || command.from_zero;
    }
    resolve();
    members_.reserve(round.commands().size());
  }

  RoundResult play(const RoundJob& job) {
    job_ = job;
    exchange_->changing = cuda::changing_values(job.context);
    exchange_->changing.guarded = job.guarded;
    exchange_->factor = 1;
    if (job.times) begin_times();
    if (takes_ahead()) ahead_.begin(job_, compute());
    const Kind kind{job.kernels, job.context.training, job.first && begins_with_zeros_, job.last, job.samples};
    Recording& recording = recordings_[kind];
    if (job.may_record && !program_ && recording.warm && !job.times && is_recorded(recording)) {
      bring_loads_up_to_date(recording);
      check(cudaGraphLaunch(recording.graph.get(), compute()), "cudaGraphLaunch of a round");
    } else {
      issue(recording, false);
      recording.warm = true;
    }
    finish(compute(), "a round (--no-overlap says which step)");
    if (takes_ahead()) ahead_.end();
    if (job.times) tell_times();
    RoundResult result{.factor = exchange_->factor, .not_recorded = recording.why_not};
    for (size_t i = 0; i < recording.losses; ++i) result.loss += exchange_->loss[i];
    for (size_t i = 0; i < recording.corrects; ++i) result.correct += exchange_->correct[i];
    return result;
  }

  void forget_recordings() {
    for (auto& [kind, recording] : recordings_) {
      recording.graph = {};
      recording.loads.clear();
    }
  }

 private:
  // The host cannot know whether the device works or waits for another rank's.
  void finish(cudaStream_t stream, const char* what) const {
    std::optional<dist::Pulse::Wait> wait;
    if (job_.ranks) wait.emplace(job_.ranks->pulse(), dist::Pulse::Doing::wait_for_device);
    check(cudaStreamSynchronize(stream), what);
  }

  cudaStream_t stream(size_t i) const { return streams_[i].get(); }
  cudaStream_t compute() const { return stream(0); }
  std::byte* at(int64_t offset) const { return offset == none ? nullptr : arena_ + offset; }

  // Resolves addresses, and creates an event for every command that a command of another stream waits for.
  void resolve() {
    const std::vector<Command>& commands = round_.commands();
    events_.resize(commands.size());
    for (size_t i = 0; i < commands.size(); ++i) {
      operands_of_[i] = addresses_.size();
      const std::span<const int64_t> operands = round_.operands(commands[i]);
      if (commands[i].adds_up()) {
        operands_of_[i] = buckets_.size();
        for (size_t k = 0; k < operands.size(); k += 2) buckets_.push_back({at(operands[k]), operands[k + 1]});
      } else {
        for (const int64_t offset : operands) addresses_.push_back(at(offset));
      }
      std::array<size_t, kStreams> latest;
      latest.fill(kNobody);
      for (const size_t other : round_.waits(commands[i])) {
        const size_t lane = static_cast<size_t>(commands[other].stream());
        if (lane == static_cast<size_t>(commands[i].stream())) continue;
        if (latest[lane] == kNobody || latest[lane] < other) latest[lane] = other;
      }
      first_wait_.push_back(waits_.size());
      for (const size_t other : latest) {
        if (other == kNobody) continue;
        waits_.push_back(other);
        if (!events_[other]) events_[other] = cuda::Event::make();
      }
    }
    first_wait_.push_back(waits_.size());
  }

  void wait(cudaStream_t on, const cuda::Event& event) const {
    check(cudaStreamWaitEvent(on, event.get(), 0), "cudaStreamWaitEvent");
  }
  void mark(cudaStream_t on, const cuda::Event& event) const {
    check(cudaEventRecord(event.get(), on), "cudaEventRecord");
  }

  // Issues the whole round, on streams that run or record.
  void issue(Recording& round, bool records) {
    round.losses = round.corrects = 0;
    std::fill(issued_.begin(), issued_.end(), false);
    check(cudaMemcpyAsync(changing_, &exchange_->changing, sizeof(cuda::Changing), cudaMemcpyHostToDevice, compute()),
          "cudaMemcpyAsync of what changes");
    if (job_.times) mark(compute(), round_began_);
    mark(compute(), begun_);
    for (size_t lane = 1; lane < kStreams; ++lane)
      if (used_[lane]) wait(stream(lane), begun_);
    const size_t count = job_.context.training ? round_.commands().size() : round_.forward_commands();
    if (program_) run_lines(round, count);
    const size_t last_load = takes_ahead() ? last_load_before(count) : kNobody;
    for (size_t i = 0; i < count && !program_; ++i) {
      if (!issued_[i]) issue_command(i, round, records);
      if (i == last_load) bring_next(round, records);
    }
    for (size_t lane = 1; lane < kStreams; ++lane) {
      if (!used_[lane]) continue;
      mark(stream(lane), ended_[lane]);
      wait(compute(), ended_[lane]);
    }
  }

  bool takes_ahead() const { return ahead_.on() && !program_; }

  size_t last_load_before(size_t count) const {
    size_t last = kNobody;
    for (size_t i = 0; i < count; ++i)
      if (round_.commands()[i].kind == Command::Kind::load && wanted(round_.commands()[i])) last = i;
    return last;
  }

  void bring_next(Recording& round, bool records) {
    const cudaStream_t on = stream(static_cast<size_t>(Stream::h2d));
    ahead_.bring_next(on, [&](size_t input, const std::byte* from, std::byte* to, int64_t bytes) {
      if (records) round.loads.push_back({true, input, cuda::last_node(on), from, to, bytes});
    });
  }

  void run_lines(Recording& round, size_t count) {
    line_round_ = &round;
    line_count_ = count;
    lines_.begin_again();
    program_->forward(lines_);
    if (job_.context.training) program_->backward(lines_);
  }

  // Evaluation may end before the last line of the forward part.
  void run(size_t i) override {
    if (i >= line_count_) return;
    issue_command(i, *line_round_, false);
    finish(stream(static_cast<size_t>(round_.commands()[i].stream())), "a step");
  }

  void issue_command(size_t i, Recording& round, bool records) {
    const Command& command = round_.commands()[i];
    const cudaStream_t on = stream(static_cast<size_t>(command.stream()));
    for (size_t w = first_wait_[i]; w < first_wait_[i + 1]; ++w) wait(on, events_[waits_[w]]);
    if (wanted(command)) {
      const NamedRange range(name_of(command));
      if (command.kind == Command::Kind::update && !job_.times && !program_ && update_combined(i)) return;
      if (job_.times) act_timed(i, command, on, round);
      else act(i, command, on, round, records);
    }
    if (events_[i]) mark(on, events_[i]);
    if (job_.ranks) job_.ranks->pulse().beat();
  }

  // Launches the update `first` and the following ones that can be combined with it as one. False: none can, and
  // nothing was launched.
  bool update_combined(size_t first) {
    const std::vector<Command>& commands = round_.commands();
    const auto* const kernel = dynamic_cast<const cuda::Combinable*>(&(*job_.kernels)[commands[first].index]);
    if (!kernel) return false;
    members_.clear();
    size_t last = first;
    for (size_t i = first; i < commands.size(); ++i) {
      if (commands[i].stream() != Stream::compute) continue;
      if (commands[i].kind != Command::Kind::update || (i > first && first_wait_[i] != first_wait_[i + 1])) break;
      const Kernel& other = (*job_.kernels)[commands[i].index];
      if (i > first && (commands[i].numbers != commands[first].numbers || !kernel->combines_with(other))) break;
      members_.push_back({&other, addresses_.data() + operands_of_[i]});
      last = i;
    }
    if (members_.size() < 2) return false;
    RunContext context = job_.context;
    context.stream = compute();
    context.changing = changing_;
    context.numbers = commands[first].numbers;
    kernel->run_combined(context, members_);
    for (size_t i = first; i <= last; ++i) {
      if (commands[i].stream() != Stream::compute) continue;
      issued_[i] = true;
      if (events_[i]) mark(compute(), events_[i]);
    }
    return true;
  }

  // Timed rounds are rare: their events are created when the first is played.
  void begin_times() {
    job_.times->begin_round();
    if (!round_began_) round_began_ = cuda::Event::make_timed();
    timed_.resize(round_.commands().size());
    for (Timed& timed : timed_) timed.ran = false;
  }

  void act_timed(size_t i, const Command& command, cudaStream_t on, Recording& round) {
    Timed& timed = timed_[i];
    if (!timed.began) timed = {cuda::Event::make_timed(), cuda::Event::make_timed()};
    mark(on, timed.began);
    act(i, command, on, round, false);
    mark(on, timed.ended);
    timed.ran = true;
  }

  // Before: the streams have finished.
  void tell_times() {
    for (size_t i = 0; i < timed_.size(); ++i) {
      const Command& command = round_.commands()[i];
      const size_t step = static_cast<size_t>(command.step);
      if (!timed_[i].ran || !command.is_step() || step >= job_.times->steps.size()) continue;
      job_.times->steps[step] = {since_begin(timed_[i].began), since_begin(timed_[i].ended)};
    }
  }

  double since_begin(const cuda::Event& event) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, round_began_.get(), event.get()), "cudaEventElapsedTime of a step");
    return 1e-3 * static_cast<double>(milliseconds);
  }

  const char* name_of(const Command& command) const {
    const size_t step = static_cast<size_t>(command.step);
    return step < names_.size() ? names_[step] : "step";
  }

  bool wanted(const Command& command) const { return command.wanted(job_.context.training, job_.last); }

  void act(size_t i, const Command& command, cudaStream_t on, Recording& round, bool records) {
    std::byte* const tensor = at(command.offset);
    switch (command.kind) {
      case Command::Kind::run:
      case Command::Kind::again:
      case Command::Kind::update: {
        RunContext context = job_.context;
        context.stream = on;
        context.recompute = command.kind == Command::Kind::again;
        context.changing = changing_;
        context.numbers = command.numbers;
        (*job_.kernels)[command.index].run(context, addresses_.data() + operands_of_[i], tensor);
        break;
      }
      case Command::Kind::load: {
        const int64_t bytes = command.load_bytes(job_.samples);
        if (takes_ahead()) {
          ahead_.load(command.index, tensor, bytes, on);
          break;
        }
        const Load load{false, command.index, nullptr, job_.staged[command.index], tensor, bytes};
        check(cudaMemcpyAsync(load.to, load.from, static_cast<size_t>(load.bytes), cudaMemcpyHostToDevice, on),
              "cudaMemcpyAsync of a load");
        if (records) {
          round.loads.push_back(load);
          round.loads.back().node = cuda::last_node(on);
        }
        break;
      }
      case Command::Kind::offload:
        check(cudaMemcpyAsync(pool_->data() + command.host_offset, tensor, static_cast<size_t>(command.bytes),
                              cudaMemcpyDeviceToHost, on), "cudaMemcpyAsync of an offload");
        break;
      case Command::Kind::prefetch:
        if (command.from_zero && job_.first) {
          check(cudaMemsetAsync(tensor, 0, static_cast<size_t>(command.bytes), on), "cudaMemsetAsync of a gradient");
          break;
        }
        check(cudaMemcpyAsync(tensor, pool_->data() + command.host_offset, static_cast<size_t>(command.bytes),
                              cudaMemcpyHostToDevice, on), "cudaMemcpyAsync of a prefetch");
        break;
      case Command::Kind::reduce:
      case Command::Kind::total:
        job_.ranks->add_up(std::span(buckets_).subspan(operands_of_[i], command.operands / 2), tensor, command.bytes,
                           on);
        break;
      case Command::Kind::read_loss:
        read(&exchange_->loss[next(round.losses)], tensor, on);
        if (job_.last && job_.context.training) cuda::watch_loss(on, changing_, reinterpret_cast<const float*>(tensor));
        break;
      case Command::Kind::read_correct: read(&exchange_->correct[next(round.corrects)], tensor, on); break;
      case Command::Kind::read_factor: read(&exchange_->factor, tensor, on); break;
    }
  }

  static size_t next(size_t& readings) {
    if (readings == kReadings)
      throw KernelError("a round reads its loss more than " + std::to_string(kReadings) + " times");
    return readings++;
  }

  void read(float* to, const std::byte* from, cudaStream_t on) const {
    check(cudaMemcpyAsync(to, from, sizeof(float), cudaMemcpyDeviceToHost, on), "cudaMemcpyAsync of the loss");
  }

  bool is_recorded(Recording& recording) {
    if (!recording.graph && recording.why_not.empty()) record(recording);
    return static_cast<bool>(recording.graph);
  }

  // A recording is an optimization. If any part of it fails, the round is issued step by step, with the reason; a fault
  // of the device itself recurs there and ends training.
  void record(Recording& recording) {
    recording.loads.clear();
    try {
      recording.graph = cuda::Graph::instantiate(captured(recording), compute());
      if (!recording.graph)
        recording.why_not = "the device has no memory left for its graph; something else has taken what was free";
    } catch (const std::exception& error) {
      recording.why_not = error.what();
    }
  }

  // The other streams join the recording through the events that they wait for.
  cudaGraph_t captured(Recording& recording) {
    check(cudaStreamBeginCapture(compute(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      issue(recording, true);
      check(cudaStreamEndCapture(compute(), &graph), "cudaStreamEndCapture");
    } catch (...) {
      // A library kernel that cannot be recorded, or a recording that the driver refuses. After a failed
      // cudaStreamEndCapture the stream records no longer, and a second call changes nothing.
      if (!graph) cudaStreamEndCapture(compute(), &graph);
      cudaGetLastError();
      if (graph) cudaGraphDestroy(graph);
      throw;
    }
    return graph;
  }

  void bring_loads_up_to_date(Recording& recording) {
    for (Load& load : recording.loads) {
      const std::byte* const now = load.of_next ? ahead_.next_staged(load.input) : job_.staged[load.input];
      if (now == load.from) continue;
      check(cudaGraphExecMemcpyNodeSetParams1D(recording.graph.get(), load.node, load.to, now,
                                               static_cast<size_t>(load.bytes), cudaMemcpyHostToDevice),
            "cudaGraphExecMemcpyNodeSetParams1D of a load");
      load.from = now;
    }
  }

  static constexpr size_t kNobody = static_cast<size_t>(-1);

  const Program* const program_;  // its lines execute their steps themselves; null: streams overlap
  Round lines_{static_cast<CommandRunner&>(*this)};
  Recording* line_round_ = nullptr;
  size_t line_count_ = 0;
  std::byte* const arena_;
  HostPool* const pool_;
  cuda::InputsAhead ahead_;
  const std::span<const char* const> names_;
  const Round& round_;
  cuda::Changing* const changing_;
  std::array<bool, kStreams> used_{};
  bool begins_with_zeros_ = false;            // the first round of an iteration issues other commands
  std::array<cuda::Stream, kStreams> streams_{cuda::Stream::make(), cuda::Stream::make(), cuda::Stream::make(),
                                              cuda::Stream::make()};
  std::vector<cuda::Event> events_;  // by command; empty if no command waits for it
  cuda::Event begun_ = cuda::Event::make();
  std::array<cuda::Event, kStreams> ended_{cuda::Event::make(), cuda::Event::make(), cuda::Event::make(),
                                           cuda::Event::make()};
  std::vector<std::byte*> addresses_;
  std::vector<size_t> operands_of_;           // by command, in addresses_; for a reduction, in buckets_
  std::vector<dist::Stretch> buckets_;
  std::vector<size_t> first_wait_, waits_;    // by command, in waits_: commands
  std::vector<bool> issued_;                  // by command: in one launch with a preceding command
  std::vector<cuda::Combinable::Member> members_;
  cuda::Event round_began_;                   // for a timed round
  std::vector<Timed> timed_;                  // by command
  cuda::Pinned<Exchange> exchange_;
  std::map<Kind, Recording> recordings_;
  RoundJob job_;
};

Streams::Streams(const Program& program, const Round& round, const Arena& arena, HostPool* pool, Overlap overlap)
    : player_(std::make_unique<Player>(program, round, arena, pool, overlap)) {}

Streams::~Streams() = default;

RoundResult Streams::play(const RoundJob& job) { return player_->play(job); }

void Streams::forget_recordings() { player_->forget_recordings(); }

}  // namespace plimsoll::backend
