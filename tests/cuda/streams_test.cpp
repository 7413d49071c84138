// A round that is recorded and played again reads what has changed: samples that lie elsewhere, rate, and state.
#include "runtime/streams.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "runtime/kernels.h"
#include "runtime/program.h"

namespace plimsoll::test {
namespace {

constexpr int64_t kX = 0, kY = 256, kW = 512, kArena = 768;

// loads x, y = relu(x), reports y[0] as the loss, and steps w by y.
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
      const bool last = i != 3;  // without it nothing is updated
      const RoundResult result = streams.play({.kernels = &small.kernels, .staged = samples,
                                               .context = {.iteration = static_cast<int64_t>(i), .learning_rate = rate},
                                               .samples = 4, .last = last, .may_record = may_record});
      const double y = values[i] > 0 ? static_cast<double>(values[i]) : 0;
      if (last) w -= rate * y;
      INFO("round " << i << (may_record ? ", recorded" : ""));
      CHECK(result.loss == y);
      CHECK(static_cast<double>(small.weight()) == w);
    }
    // Evaluation plays the forward part alone.
    const std::byte* const samples[] = {buffers[1].data()};
    for (int time = 0; time < 3; ++time) {
      CHECK(streams.play({.kernels = &small.kernels, .staged = samples, .context = {.training = false}, .samples = 4,
                          .last = true, .may_record = may_record}).loss == 2);
      CHECK(static_cast<double>(small.weight()) == w);
    }
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

}  // namespace plimsoll::test
