// The host's streams. Kernels run on the calling thread with its OpenMP threads; copies run on one long-lived thread
// per direction, and reductions over ranks on another. A program that offloads nothing has no copy threads: its loads
// run between the kernels. A program for one rank has no reduction thread.
//
// A step has finished when its stream has counted it. Streams run in order, so one counter per stream describes all its
// steps:
//
//   compute   | 0 | 1 | 2 | … |     done = 3
//   d2h       | 0 | 1 | … |         done = 1: step 2 of compute may run if it waits only for the first step of d2h
//
// Steps that evaluation or a round without updates skips are counted all the same, including their waits.
#include "runtime/streams.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/host/watch.h"
#include "runtime/program.h"

namespace plimsoll::backend {
namespace {

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// An awaited step usually ends within microseconds; after this many spins, the waiting thread sleeps.
constexpr int kSpins = 2000;

// The counter may be further than the awaited step. A race detector is told of every required order explicitly, and
// must not infer one from the counter.
constexpr bool kToldOfOrder = host::Watch::told_of_order();
constexpr std::memory_order kAcquire = kToldOfOrder ? std::memory_order_relaxed : std::memory_order_acquire;
constexpr std::memory_order kRelease = kToldOfOrder ? std::memory_order_relaxed : std::memory_order_release;

// Only counts that a thread may sleep on need a wake-up, and the counting thread knows which these are.
class Counter {
 public:
  void reset() { value_.store(0, std::memory_order_relaxed); }
  void count_to(int32_t value, bool awaited) {
    value_.store(value, kRelease);
    if (awaited && !kToldOfOrder) value_.notify_all();
  }
  bool reached(int32_t value) const { return value_.load(kAcquire) >= value; }
  void wait_for(int32_t value) const {
    for (int i = 0; i < kSpins; ++i) {
      if (value_.load(kAcquire) >= value) return;
      pause_briefly();
    }
    for (int32_t now; (now = value_.load(kAcquire)) < value;) {
      if (kToldOfOrder) std::this_thread::yield();
      else value_.wait(now, kAcquire);
    }
  }

 private:
  alignas(64) std::atomic<int32_t> value_{0};
};

struct Wait {
  size_t stream;
  int32_t count;
};

struct Item {
  const Command* command;
  size_t first_operand;  // in Player::operands_; for a reduction, in Player::buckets_
  size_t first_wait, waits;
  bool awaited = false;
};

struct Lane {
  std::vector<Item> items;
  int32_t forward_items = 0;
  Counter done;
};

}  // namespace

class Streams::Player final : CommandRunner {
 public:
  Player(const Program& program, const Round& round, const Arena& arena, HostPool* pool, Overlap overlap)
      : program_(overlap == Overlap::none ? &program : nullptr),
        arena_(arena.data()),
        pool_(pool),
        watch_(program.lives, arena.data(), program.arena_bytes),
        beside_{false, program.host_pool_bytes > 0, program.host_pool_bytes > 0, program.ranks > 1} {
    if (host::Watch::in_order_of_issue() || program_) beside_ = {};
    fill(round);
    try {
      for (size_t lane = 1; lane < kStreams; ++lane)
        if (beside_[lane]) threads_.emplace_back([this, lane] { serve(lane); });
    } catch (...) {
      end_threads();
      throw;
    }
  }

  ~Player() { end_threads(); }

  RoundResult play(const RoundJob& job) {
    job_ = job;
    result_ = {};
    watch_.begin_round();
    if (job_.times) job_.times->begin_round();
    begin_round();
    if (program_) run_lines();
    else run_lane(0);
    for (size_t lane = 1; lane < kStreams; ++lane) {
      if (!beside_[lane]) continue;
      lanes_[lane].done.wait_for(length(lanes_[lane]) + 1);
      watch_.awaited(&lanes_[lane]);
    }
    if (failed_) {
      failed_ = false;
      failing_.clear();
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    return result_;
  }

 private:
  std::byte* at(int64_t offset) const { return offset == none ? nullptr : arena_ + offset; }

  // Resolves everything that a round needs, once.
  void fill(const Round& round) {
    const std::vector<Command>& commands = round.commands();
    std::vector<Wait> places(commands.size());
    for (size_t i = 0; i < commands.size(); ++i) {
      const Command& command = commands[i];
      const size_t own = static_cast<size_t>(command.stream()), stream = beside_[own] ? own : 0;
      Lane& lane = lanes_[stream];
      Item item{&command, command.adds_up() ? buckets_.size() : operands_.size(), waits_.size(), 0};
      const std::span<const int64_t> operands = round.operands(command);
      for (size_t k = 0; command.adds_up() && k < operands.size(); k += 2)
        buckets_.push_back({at(operands[k]), operands[k + 1]});
      for (size_t k = 0; !command.adds_up() && k < operands.size(); ++k) operands_.push_back(at(operands[k]));
      for (const size_t other : round.waits(command)) {
        const Wait& place = places[other];
        if (place.stream == stream) continue;
        waits_.push_back(place);
        lanes_[place.stream].items[static_cast<size_t>(place.count - 1)].awaited = true;
      }
      item.waits = waits_.size() - item.first_wait;
      lane.items.push_back(item);
      places[i] = {stream, static_cast<int32_t>(lane.items.size())};
      if (i < round.forward_commands()) lane.forward_items = places[i].count;
    }
  }

  // Before: every thread has reported that it has finished, so no thread reads the counters or the job.
  void begin_round() {
    for (Lane& lane : lanes_) lane.done.reset();
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }

  void serve(size_t lane) {
    for (uint32_t seen = 0;;) {
      round_.wait(seen, std::memory_order_acquire);
      seen = round_.load(std::memory_order_acquire);
      if (ending_) return;
      run_lane(lane);
      const int32_t end = length(lanes_[lane]) + 1;  // one more: finished with the round
      watch_.finished(&lanes_[lane]);
      lanes_[lane].done.count_to(end, true);
    }
  }

  void end_threads() {
    ending_ = true;
    begin_round();
    for (std::thread& thread : threads_) thread.join();
  }

  int32_t length(const Lane& lane) const {
    return job_.context.training ? static_cast<int32_t>(lane.items.size()) : lane.forward_items;
  }

  void run_lines() {
    lines_.begin_again();
    program_->forward(lines_);
    if (job_.context.training) program_->backward(lines_);
  }

  // All commands are then in the first lane, in the order of issue. Evaluation may end before the last line of the
  // forward part.
  void run(size_t command) override {
    if (command < static_cast<size_t>(length(lanes_[0]))) run_item(0, static_cast<int32_t>(command));
  }

  // After a failure the lanes run to their end without doing anything, so that waiting threads continue.
  void run_lane(size_t stream) {
    const int32_t items = length(lanes_[stream]);
    for (int32_t i = 0; i < items; ++i) run_item(stream, i);
  }

  void run_item(size_t stream, int32_t i) {
    Lane& lane = lanes_[stream];
    const Item& item = lane.items[static_cast<size_t>(i)];
    for (size_t w = 0; w < item.waits; ++w) {
      const Wait& wait = waits_[item.first_wait + w];
      if (!lanes_[wait.stream].done.reached(wait.count)) stall(stream, lanes_[wait.stream].done, wait.count);
      watch_.awaited(&lanes_[wait.stream].items[static_cast<size_t>(wait.count - 1)]);
    }
    watch_.begin_step(*item.command, *job_.kernels);
    if (wanted(*item.command) && !failed_.load(std::memory_order_relaxed)) {
      try {
        if (job_.times && item.command->is_step()) act_timed(item);
        else act(item);
      } catch (...) {
        if (!failing_.test_and_set()) {
          failure_ = std::current_exception();
          failed_.store(true, std::memory_order_release);
        }
      }
    }
    watch_.end_step(*item.command, *job_.kernels);
    if (job_.ranks) job_.ranks->pulse().beat();
    if (item.awaited) watch_.finished(&item);
    lane.done.count_to(i + 1, item.awaited);
  }

  void stall(size_t stream, const Counter& counter, int32_t count) {
    const auto began = std::chrono::steady_clock::now();
    counter.wait_for(count);
    if (stream == static_cast<size_t>(Stream::compute))
      result_.stall_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

  bool wanted(const Command& command) const { return command.wanted(job_.context.training, job_.last); }

  void act_timed(const Item& item) {
    const StepTimes::Clock::time_point began = StepTimes::Clock::now();
    act(item);
    job_.times->ran(item.command->step, began, StepTimes::Clock::now());
  }

  void act(const Item& item) {
    const Command& command = *item.command;
    std::byte* const tensor = at(command.offset);
    switch (command.kind) {
      case Command::Kind::run:
      case Command::Kind::again:
      case Command::Kind::update: {
        RunContext context = job_.context;
        context.recompute = command.kind == Command::Kind::again;
        context.numbers = command.numbers;
        if (command.kind == Command::Kind::update && job_.guarded && !std::isfinite(result_.loss))
          context.discard = true;
        std::byte* const* operands = operands_.data() + item.first_operand;
        watch_.touch(command, *job_.kernels, operands, tensor);
        (*job_.kernels)[command.index].run(context, operands, tensor);
        break;
      }
      case Command::Kind::load:
        copy_in(nullptr, tensor, job_.staged[command.index], command.load_bytes(job_.samples));
        break;
      case Command::Kind::offload: pool_->store(command.host_offset, tensor, command.bytes); break;
      case Command::Kind::prefetch:
        if (command.from_zero && job_.first) std::memset(tensor, 0, static_cast<size_t>(command.bytes));
        else pool_->fetch(command.host_offset, tensor, command.bytes);
        break;
      case Command::Kind::reduce:
      case Command::Kind::total: {
        const auto began = std::chrono::steady_clock::now();
        job_.ranks->add_up(std::span(buckets_).subspan(item.first_operand, command.operands / 2), tensor, command.bytes,
                           nullptr);
        result_.reduce_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        break;
      }
      case Command::Kind::read_loss: result_.loss += *reinterpret_cast<const float*>(tensor); break;
      case Command::Kind::read_correct: result_.correct += *reinterpret_cast<const float*>(tensor); break;
      case Command::Kind::read_factor: result_.factor = *reinterpret_cast<const float*>(tensor); break;
    }
  }

  const Program* const program_;  // its lines execute their steps themselves; null: streams overlap
  Round lines_{static_cast<CommandRunner&>(*this)};
  std::byte* const arena_;
  HostPool* const pool_;
  host::Watch watch_;
  std::array<bool, kStreams> beside_;  // which streams have their own threads
  std::array<Lane, kStreams> lanes_;
  std::vector<std::byte*> operands_;
  std::vector<dist::Stretch> buckets_;
  std::vector<Wait> waits_;

  RoundJob job_;
  RoundResult result_;
  std::atomic<uint32_t> round_{0};
  bool ending_ = false;
  std::atomic_flag failing_;
  std::exception_ptr failure_;  // the first failure; written before `failed_`
  std::atomic<bool> failed_{false};
  std::vector<std::thread> threads_;
};

Streams::Streams(const Program& program, const Round& round, const Arena& arena, HostPool* pool, Overlap overlap)
    : player_(std::make_unique<Player>(program, round, arena, pool, overlap)) {}

Streams::~Streams() = default;

RoundResult Streams::play(const RoundJob& job) { return player_->play(job); }

void Streams::forget_recordings() {}

}  // namespace plimsoll::backend
