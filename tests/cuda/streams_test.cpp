// A round that is recorded and replayed reads changed values: samples at other addresses, learning rate, and state.
#include "runtime/streams.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/kernels.h"
#include "runtime/program.h"
#include "emulation/cuda_runtime.h"

namespace plimsoll::test {
namespace {

constexpr int64_t kX = 0, kY = 256, kW = 512, kArena = 768;

// loads x, y = relu(x), reports y[0] as the loss, and updates w by y.
struct Small {
  Program program{.model = "small", .generator = "test", .arena_bytes = kArena};
  KernelSet kernels{2};
  Round round;
  backend::Arena arena{kArena};

  Small() {
    kernels.add<ReluForward>(0, {}, {read(f32({4})), write(f32({4}))}, "", 0, "relu");
    kernels.add<SgdUpdate>(1, {}, {update(f32({4})), read(f32({4}))}, "", 0, "w");
    round.load(0, kX, 4).mark(0);
    round.after({0}).run(0, {kX, kY});
    round.read_loss(kY);
    round.end_forward();
    round.update(1, {kW, kY});
  }
  float weight() const {
    float w = 0;
    backend::copy_out(nullptr, reinterpret_cast<std::byte*>(&w), arena.data() + kW, sizeof w);
    return w;
  }
};

backend::StagingBuffer staged(float value) {
  backend::StagingBuffer buffer(16);
  const float values[] = {value, value, value, value};
  std::memcpy(buffer.data(), values, sizeof values);
  return buffer;
}

}  // namespace

TEST_CASE("a recorded round reads what has changed") {
  for (const bool may_record : {false, true}) {
    Small small;
    backend::Streams streams(small.program, small.round, small.arena, nullptr);
    const std::vector<float> values = {1, 2, -3, 5, 8};
    std::vector<backend::StagingBuffer> buffers;
    for (const float value : values) buffers.push_back(staged(value));
    double w = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const std::byte* const samples[] = {buffers[i].data()};
      const double rate = 0.5 + static_cast<double>(i);
      const bool last = i != 3;  // otherwise nothing is updated
      const RoundResult result = streams.play({.kernels = &small.kernels, .staged = samples,
                                               .context = {.iteration = static_cast<int64_t>(i), .learning_rate = rate},
                                               .samples = 4, .last = last, .may_record = may_record});
      const double y = values[i] > 0 ? static_cast<double>(values[i]) : 0;
      if (last) w -= rate * y;
      INFO("round " << i << (may_record ? ", recorded" : ""));
      CHECK(result.loss == y);
      CHECK(static_cast<double>(small.weight()) == w);
    }
    // Evaluation plays only the forward part.
    const std::byte* const samples[] = {buffers[1].data()};
    for (int time = 0; time < 3; ++time) {
      CHECK(streams.play({.kernels = &small.kernels, .staged = samples, .context = {.training = false}, .samples = 4,
                          .last = true, .may_record = may_record}).loss == 2);
      CHECK(static_cast<double>(small.weight()) == w);
    }
  }
}

namespace {

// A library's ReLU that cannot be recorded.
struct NeverRecorded {
  using Attrs = ReluForward::Attrs;
  static constexpr std::string_view kName = ReluForward::kName;
  static std::vector<Algorithm> algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
    return ReluForward::algorithms(attrs, operands);
  }
  static std::unique_ptr<Kernel> make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                      std::string_view algorithm) {
    return std::make_unique<Issued>(ReluForward::make(attrs, operands, algorithm));
  }

 private:
  struct Issued final : Kernel {
    explicit Issued(std::unique_ptr<Kernel> relu) : relu_(std::move(relu)) {}
    void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
      cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
      const cudaGraphNode_t* behind = nullptr;
      size_t count = 0;
      cudaStreamGetCaptureInfo(static_cast<cudaStream_t>(context.stream), &status, nullptr, nullptr, &behind, nullptr,
                               &count);
      if (status == cudaStreamCaptureStatusActive) throw KernelError("it cannot be recorded");
      relu_->run(context, operands, workspace);
    }
    std::unique_ptr<Kernel> relu_;
  };
};

// Rounds of whole iterations with a learning rate of 1, each with its own samples, and the expected result of each.
struct Stepping {
  const Small& small;
  backend::Streams streams{small.program, small.round, small.arena, nullptr};
  float w = 0;

  explicit Stepping(const Small& net) : small(net) {}
  RoundResult step(float value) {
    const backend::StagingBuffer buffer = staged(value);
    const std::byte* const samples[] = {buffer.data()};
    RoundResult result = streams.play(
        {.kernels = &small.kernels, .staged = samples, .context = {.learning_rate = 1}, .samples = 4, .last = true});
    w -= value;
    CHECK(result.loss == static_cast<double>(value));
    CHECK(small.weight() == w);
    return result;
  }
};

}  // namespace

TEST_CASE("a round with a kernel that cannot be recorded is issued step by step, and says why") {
  Small small;
  small.kernels.add<NeverRecorded>(0, {}, {read(f32({4})), write(f32({4}))}, "", 0, "relu");
  Stepping net(small);
  for (int i = 0; i < 4; ++i)
    CHECK(net.step(static_cast<float>(i)).not_recorded == (i == 0 ? "" : "it cannot be recorded"));
}

TEST_CASE("a recording that the driver refuses is issued step by step, and says why") {
  const bool at_instantiation = GENERATE(false, true);
  Small small;
  Stepping net(small);
  CHECK(net.step(0).not_recorded.empty());  // the first round of a kind is not recorded yet
  if (at_instantiation) emulation::refuse_next_instantiation(cudaErrorNotSupported);
  else emulation::refuse_next_capture(cudaErrorStreamCaptureInvalidated);
  for (int i = 1; i < 4; ++i) {
    const std::string why(net.step(static_cast<float>(i)).not_recorded);
    INFO(why);
    CHECK(why.starts_with(at_instantiation ? "cudaGraphInstantiateWithFlags of a round: " : "cudaStreamEndCapture: "));
    CHECK(why.ends_with(at_instantiation ? "(801)" : "(901)"));
  }
}

TEST_CASE("recordings that are given back are made anew") {
  Small small;
  Stepping net(small);
  for (int i = 1; i < 7; ++i) {
    CHECK(net.step(static_cast<float>(i)).not_recorded.empty());
    if (i == 3) net.streams.forget_recordings();
  }
}

namespace {

// The loss is x; then five parameters of different sizes are updated by their own gradients, the last two by another
// rule. An offload of the second parameter is issued in between, and waits for its update.
struct Several {
  static constexpr int64_t kSizes[] = {5, 4096, 3, 9000, 1};
  Program program{.model = "several", .generator = "test", .arena_bytes = 256};
  KernelSet kernels{5};
  Round round;
  std::vector<int64_t> weights, gradients;
  backend::Arena arena;

  // The arena's size is known after its tensors are placed.
  explicit Several(bool clears) : arena((place(), program.arena_bytes)) {
    const auto access = clears ? update : read;
    for (size_t i = 0; i < 5; ++i)
      kernels.add<SgdUpdate>(i, {.weight_decay = i < 3 ? 0.25 : 0.5},
                             {update(f32({kSizes[i]})), access(f32({kSizes[i]}))}, "", 0, "w");
    round.load(0, 0, 4).mark(0);
    round.after({0}).read_loss(0);
    round.end_forward();
    for (size_t i = 0; i < 5; ++i) {
      round.update(i, {weights[i], gradients[i]});
      if (i == 1) round.mark(2).after({2}).offload(weights[1], 0, 4 * kSizes[1]);
    }
    std::vector<float> values(10000);
    for (size_t i = 0; i < values.size(); ++i) values[i] = 0.25F + 0.001F * static_cast<float>(i);
    for (size_t i = 0; i < 5; ++i)
      for (const int64_t to : {weights[i], gradients[i]})
        backend::copy_in(nullptr, arena.data() + to, reinterpret_cast<const std::byte*>(values.data() + i),
                         4 * kSizes[i]);
  }
  void place() {
    for (const int64_t size : kSizes)
      for (std::vector<int64_t>* const offsets : {&weights, &gradients}) {
        offsets->push_back(program.arena_bytes);
        program.arena_bytes += (4 * size + 255) / 256 * 256;
      }
  }
  std::vector<std::byte> contents() const {
    std::vector<std::byte> all(static_cast<size_t>(program.arena_bytes));
    backend::copy_out(nullptr, all.data(), arena.data(), program.arena_bytes);
    return all;
  }
};

}  // namespace

TEST_CASE("updates that go together are one launch, with the bits of one for each") {
  for (const bool clears : {false, true}) {
    Several together(clears), apart(clears);
    backend::HostPool pool(4 * Several::kSizes[1], ""), other_pool(4 * Several::kSizes[1], "");
    backend::Streams streams(together.program, together.round, together.arena, &pool);
    backend::Streams others(apart.program, apart.round, apart.arena, &other_pool);
    const backend::StagingBuffer one = staged(1);
    const std::byte* const samples[] = {one.data()};
    RoundJob job{.kernels = &together.kernels,
                 .staged = samples,
                 .context = {.learning_rate = 0.5},
                 .samples = 1,
                 .last = true,
                 .may_record = false};
    const uint64_t before = emulation::kernels_launched();
    streams.play(job);
    CHECK(emulation::kernels_launched() - before == 1 + 2);  // the loss; three weights in one launch, two in another
    // Timed steps are launched separately.
    StepTimes times{.steps = std::vector<StepTimes::Span>(8)};
    job.times = &times;
    job.kernels = &apart.kernels;
    const uint64_t between = emulation::kernels_launched();
    others.play(job);
    CHECK(emulation::kernels_launched() - between == 1 + 5);
    CHECK(together.contents() == apart.contents());
    CHECK(std::memcmp(pool.data(), other_pool.data(), static_cast<size_t>(4 * Several::kSizes[1])) == 0);
    CHECK(std::memcmp(pool.data(), together.contents().data() + together.weights[1],
                      static_cast<size_t>(4 * Several::kSizes[1])) == 0);
    for (int32_t step = 0; step < 7; ++step) {
      INFO("step " << step);
      const StepTimes::Span span = times.steps[static_cast<size_t>(step)];
      CHECK(span.start >= 0);
      CHECK(span.end > span.start);
    }
    CHECK(times.steps[7].start < 0);
    CHECK(times.steps[3].start >= times.steps[2].end);
  }
}

TEST_CASE("a guarded round whose loss is no number moves no weight, recorded or not") {
  for (const bool may_record : {false, true}) {
    Several net(true);
    backend::HostPool pool(4 * Several::kSizes[1], "");
    backend::Streams streams(net.program, net.round, net.arena, &pool);
    const backend::StagingBuffer good = staged(1), bad = staged(NAN);
    const auto play = [&](const backend::StagingBuffer& buffer, bool guarded) {
      const std::byte* const samples[] = {buffer.data()};
      return streams.play({.kernels = &net.kernels, .staged = samples, .context = {.learning_rate = 0.5}, .samples = 1,
                           .last = true, .may_record = may_record, .guarded = guarded});
    };
    play(good, true);  // clears the gradients; only the decay remains
    play(good, true);
    const std::vector<std::byte> kept = net.contents();
    CHECK(std::isnan(play(bad, true).loss));
    CHECK(std::memcmp(net.contents().data() + 256, kept.data() + 256, kept.size() - 256) == 0);
    play(bad, false);
    CHECK(std::memcmp(net.contents().data() + 256, kept.data() + 256, kept.size() - 256) != 0);
    const std::vector<std::byte> moved = net.contents();
    play(good, true);
    CHECK(std::memcmp(net.contents().data() + 256, moved.data() + 256, moved.size() - 256) != 0);
  }
}

TEST_CASE("a device without the planned memory says how much it has") {
  try {
    const backend::Arena arena(int64_t{1} << 60);
    FAIL("an arena of an exabyte");
  } catch (const backend::NoMemory& error) {
    CHECK(std::string(error.what()).find("emulated GPU has 1048576.0 MiB free of 1048576.0 MiB") != std::string::npos);
    CHECK(std::string(error.what()).find("--budget") != std::string::npos);
  }
}

TEST_CASE("a machine that does not pin the planned host pool says how much it is, and where to look") {
  try {
    const backend::HostPool pool(int64_t{1} << 60, "");
    FAIL("a host pool of an exabyte");
  } catch (const backend::DeviceError& error) {
    CHECK(std::string(error.what()).find("1099511627776.0 MiB (1152921504606846976 bytes) of pinned memory") !=
          std::string::npos);
    CHECK(std::string(error.what()).find("`ulimit -l`") != std::string::npos);
  }
}

namespace {

// A small program with room for the next round's input. Each round knows which samples may come next.
struct Ahead {
  static constexpr int64_t kAhead = kArena;
  const ProgramInput input{.name = "x", .desc = f32({4})};
  Small small;
  backend::Arena arena{kArena + 256};
  Program program{.model = "small",
                  .generator = "test",
                  .arena_bytes = kArena + 256,
                  .inputs_ahead = kAhead,
                  .inputs = {&input, 1}};
  backend::Streams streams;
  std::vector<backend::StagingBuffer> sets;
  int waits = 0;

  explicit Ahead(backend::Overlap overlap) : streams(program, small.round, arena, nullptr, overlap) {
    for (int i = 0; i < 2; ++i) sets.push_back(staged(NAN));
  }
  static void fill(backend::StagingBuffer& set, float value) {
    const float values[] = {value, value, value, value};
    std::memcpy(set.data(), values, sizeof values);
  }
};

}  // namespace

TEST_CASE("the next round's samples are brought while a round runs, and other samples than those bring themselves") {
  const bool may_record = GENERATE(false, true);
  Ahead net(backend::Overlap::streams);
  // What is played, and what is announced as the next; 0: nothing.
  const std::pair<float, float> rounds[] = {{1, 2}, {2, 3}, {3, 4}, {4, 9}, {5, 6},
                                            {6, 0}, {7, 8}, {8, 0}, {8, 2}, {2, 0}};
  uint64_t number = 0, announced = 0;
  float expected = 0;
  size_t at_hand = 0;
  for (const auto& [now, next] : rounds) {
    INFO(now << ", then " << next << (may_record ? ", recorded" : ""));
    const bool expected_it = announced != 0 && now == expected;
    if (expected_it) at_hand = 1 - at_hand;
    const uint64_t mine = expected_it ? announced : ++number;
    Ahead::fill(net.sets[at_hand], expected_it ? NAN : now);  // the device has what was expected
    // The trainer's thread has not staged the next samples when the round is issued; wait() does it here.
    struct Late {
      Ahead& net;
      size_t set;
      float value;
    } late{net, 1 - at_hand, next};
    Ahead::fill(net.sets[1 - at_hand], NAN);
    const std::byte *const samples[] = {net.sets[at_hand].data()}, *const ahead[] = {net.sets[1 - at_hand].data()};
    RoundJob job{.kernels = &net.small.kernels,
                 .staged = samples,
                 .number = mine,
                 .context = {.learning_rate = 1},
                 .samples = 4,
                 .last = true,
                 .may_record = may_record};
    announced = 0;
    if (next != 0) {
      expected = next;
      announced = ++number;
      job.next = {.staged = ahead,
                  .number = announced,
                  .wait =
                      [](const void* of) {
        const Late& it = *static_cast<const Late*>(of);
        ++it.net.waits;
        Ahead::fill(it.net.sets[it.set], it.value);
                  },
                  .waits_for = &late};
    }
    CHECK(net.streams.play(job).loss == static_cast<double>(now));
    if (next == 0) continue;
    float there = 0;
    backend::copy_out(nullptr, reinterpret_cast<std::byte*>(&there), net.arena.data() + Ahead::kAhead, sizeof there);
    CHECK(there == next);
  }
  CHECK(net.waits == 7);
}

TEST_CASE("step by step, a round loads its own samples") {
  Ahead net(backend::Overlap::none);
  net.program.forward = [](Round& r) { r.load(0, kX, 4).mark(0).after({0}).run(0, {kX, kY}).read_loss(kY); };
  net.program.backward = [](Round& r) { r.update(1, {kW, kY}); };
  Ahead::fill(net.sets[0], 3);
  const std::byte *const samples[] = {net.sets[0].data()}, *const ahead[] = {net.sets[1].data()};
  for (int i = 0; i < 3; ++i)
    CHECK(net.streams
              .play({.kernels = &net.small.kernels,
                     .staged = samples,
                     .number = 1,
                     .next = {.staged = ahead, .number = 1},
                     .samples = 4,
                     .last = true})
              .loss == 3);
}

TEST_CASE("a host pool begins with zeros, to its last byte, whatever pinned memory begins with") {
  for (const int64_t bytes : {int64_t{1}, int64_t{4097}, (int64_t{150} << 20) + 13}) {  // by one thread, by several
    INFO(bytes);
    const backend::HostPool pool(bytes, "");
    const std::byte* const data = pool.data();
    CHECK(std::all_of(data, data + bytes, [](std::byte one) { return one == std::byte{0}; }));
  }
}

}  // namespace plimsoll::test
