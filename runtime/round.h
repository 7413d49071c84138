// The steps of one round as data: what the generated functions record, step by step, when they are called at start-up.
// A backend then plays them, round after round (runtime/streams.h).
//
//   r.run(conv_forward_0, {t0, t1, none, t2}, 0).mark(2);    a step that others wait for is marked with its number
//   r.after({2}).offload(t2, h2, 3072).mark(3);              waits until step 2 has finished
//   r.after({3}).training().again(relu_forward_1, {t2, t4});  skipped in evaluation
//   r.after({9}).reduce({{t7, 512}, {t8, 64}}, 4096, 1024);   with several ranks: sums over ranks, in place
//   r.training().last().prefetch(t9, h9, 512).mark(10);       of what resides in the host pool: only in the last round
//   r.training().from_zero().prefetch(t8, h8, 512);           of a gradient: the first round writes zeros instead
//   r.training().for_next().offload(t8, h8, 512);             of a gradient: skipped in the last round
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace plimsoll {

struct UpdateNumbers;

// The offset of an absent operand or workspace.
inline constexpr int64_t none = -1;

// Steps of one stream run in order; different streams run concurrently, except for waits.
enum class Stream : uint8_t { compute, d2h, h2d, comm };
inline constexpr size_t kStreams = 4;

// A tensor of a bucket, in the arena.
struct BucketPart {
  int64_t offset = none;
  int64_t bytes = 0;
};

struct Command {
  enum class Kind : uint8_t {
    run, again, update, load, offload, prefetch, reduce, total,  // steps
    read_loss, read_correct, read_factor,                        // readings
  };
  Kind kind = Kind::run;
  bool training_only = false;  // skipped in evaluation
  bool with_updates = false;   // of a copy: skipped in rounds without updates
  bool from_zero = false;      // of a prefetch: in the first round of an iteration, writes zeros instead
  bool whole = false;          // of a load: the input is the same for all samples
  bool for_next = false;       // of an offload: skipped in the last round of an iteration
  int32_t step = 0;            // its number in the plan; for a reading, that of the preceding step
  size_t index = 0;            // of the kernel, or of the input
  Stream read_on = Stream::compute;  // of a reading: the stream of the preceding step
  int64_t offset = none;       // in the arena: of the workspace, or of the tensor
  int64_t host_offset = none;  // in the host pool
  int64_t bytes = 0;  // of a copy; of one sample, for a load that is not whole; of the workspace, for a reduction
  size_t first_operand = 0, operands = 0;  // in Round::operands(); for a reduction: offset, bytes, offset, bytes …
  size_t first_wait = 0, waits = 0;        // in Round::waits()
  const UpdateNumbers* numbers = nullptr;  // of an update: RunContext::numbers

  Stream stream() const {
    switch (kind) {
      case Kind::offload: return Stream::d2h;
      case Kind::load:
      case Kind::prefetch: return Stream::h2d;
      case Kind::reduce:
      case Kind::total: return Stream::comm;
      case Kind::read_loss:
      case Kind::read_correct:
      case Kind::read_factor: return read_on;
      default: return Stream::compute;
    }
  }
  int64_t load_bytes(int64_t samples) const { return whole ? bytes : bytes * samples; }
  bool adds_up() const { return kind == Kind::reduce || kind == Kind::total; }
  // Steps that only the last round of an iteration has.
  bool of_last_round() const {
    return with_updates || kind == Kind::update || kind == Kind::reduce || kind == Kind::read_factor;
  }
  // Whether a round runs the step; `last`: it is the last round of its iteration.
  bool wanted(bool training, bool last) const {
    return (training || !training_only) && (last ? !for_next : !of_last_round());
  }
  bool is_step() const { return kind < Kind::read_loss; }
};

// Executes each command when it is recorded.
class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  virtual void run(size_t command) = 0;  // its number, in the order of issue
};

class Round {
 public:
  Round() = default;
  // Stores no commands: `runner` executes each when it is recorded, so a debugger stops in a line of the program when
  // that line runs. The order of issue satisfies every wait. Does not allocate.
  explicit Round(CommandRunner& runner) : runner_(&runner) {}

  // These apply to the next step: it waits for these marked steps; it is skipped in evaluation; it is skipped in every
  // round but the last of an iteration; a prefetch writes zeros in the first; an offload is skipped in the last.
  Round& after(std::initializer_list<int32_t> steps);
  Round& training();
  Round& last();
  Round& from_zero();
  Round& for_next();
  // The number of the step recorded last.
  Round& mark(int32_t step);

  // A task, on operands and a workspace at these offsets.
  Round& run(size_t kernel, std::initializer_list<int64_t> operands, int64_t workspace = none);
  // Recomputes a task of this round: its value is needed again, its side effects are omitted.
  Round& again(size_t kernel, std::initializer_list<int64_t> operands, int64_t workspace = none);
  // An update: only in the last round, when the gradients are complete.
  Round& update(size_t kernel, std::initializer_list<int64_t> operands, int64_t workspace = none);
  // Copies the samples of input number `input` to `offset`; `sample_bytes` is the size of one.
  Round& load(size_t input, int64_t offset, int64_t sample_bytes);
  // Copies an input that is the same for all samples.
  Round& load_whole(size_t input, int64_t offset, int64_t bytes);
  // Copies a tensor to the host pool, and back to the same or another address.
  Round& offload(int64_t offset, int64_t host_offset, int64_t bytes);
  Round& prefetch(int64_t offset, int64_t host_offset, int64_t bytes);
  // With several ranks: replaces these tensors by their sums over all ranks, using a workspace. Gradients are reduced
  // in the last round, when they are complete; a total is computed in every round and in evaluation.
  Round& reduce(std::initializer_list<BucketPart> bucket, int64_t workspace = none, int64_t workspace_bytes = 0);
  Round& total(std::initializer_list<BucketPart> bucket, int64_t workspace = none, int64_t workspace_bytes = 0);
  // Reads the round's share of the loss, and of the correctly classified samples, before their bytes are reused.
  Round& read_loss(int64_t offset);
  Round& read_correct(int64_t offset);
  // In the last round: reads the factor of all gradients, which an update has computed.
  Round& read_factor(int64_t offset);

  // With a runner: the next command is again the first of a round.
  void begin_again() { told_ = 0; }

  // Records any command, as data.
  Round& tell(Command command, std::span<const int64_t> operands = {});

  // For a command that is an update: the numbers that its kernel uses. They must outlive the round.
  void set_numbers(size_t command, const UpdateNumbers* numbers) { commands_[command].numbers = numbers; }

  // The commands recorded so far are all that evaluation needs.
  void end_forward() { forward_ = commands_.size(); }
  // The same, up to this step; commands recorded after it are dropped.
  void end_forward_at(int32_t step);

  const std::vector<Command>& commands() const { return commands_; }  // in the order of issue
  size_t forward_commands() const { return forward_; }
  std::span<const int64_t> operands(const Command& command) const {
    return std::span(operands_).subspan(command.first_operand, command.operands);
  }
  // The commands that this command waits for.
  std::span<const size_t> waits(const Command& command) const {
    return std::span(waits_).subspan(command.first_wait, command.waits);
  }

 private:
  Round& add_up(Command::Kind kind, std::initializer_list<BucketPart> bucket, int64_t workspace,
                int64_t workspace_bytes);
  // The stream that computes the loss: a kernel's, or that of the sum over ranks after it.
  Stream stream_of_loss() const {
    return !commands_.empty() && commands_.back().stream() == Stream::comm ? Stream::comm : Stream::compute;
  }

  std::vector<Command> commands_;
  std::vector<int64_t> operands_;
  std::vector<size_t> waits_;
  std::vector<size_t> marked_;  // by step: its command
  size_t forward_ = 0;
  int32_t steps_ = 0;
  size_t waits_told_ = 0;
  CommandRunner* runner_ = nullptr;
  size_t told_ = 0;  // commands passed to the runner
  bool training_only_ = false, with_updates_ = false, from_zero_ = false, for_next_ = false;
};

}  // namespace plimsoll
