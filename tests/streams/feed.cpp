// The feeder at work, for ThreadSanitizer: epochs of samples staged while the next are fetched, as a trainer does, with
// samples that are announced and not asked for, and a reading that fails.
//   feed_thread        nothing to be said
//   feed_thread late   reads what was staged before the last stage(): the set that the thread is filling by then
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "runtime/program.h"
#include "runtime/train/feeder.h"

using namespace plimsoll;
using namespace plimsoll::train;

namespace {

constexpr int64_t kSamples = 64, kBatch = 8, kWidth = 32;

// Sample i is i, all over; like a picture's place of cutting, what is read depends on the epoch's key.
class Numbers final : public Column {
 public:
  int64_t samples() const override { return kSamples; }
  void begin_epoch(uint64_t key) override { key_ = key; }
  void read(int64_t index, std::byte* to) override {
    if (fails_ && index == 5) throw std::runtime_error("sample 5 cannot be read");
    // Not memcpy: what the compiler puts in its place is seen by no sanitizer.
    float* const values = reinterpret_cast<float*>(to);
    for (int64_t i = 0; i < kWidth; ++i) values[i] = static_cast<float>(index) + (key_ == 0 ? 0.5f : 0);
  }
  void fail(bool fails) { fails_ = fails; }

 private:
  uint64_t key_ = 1;
  bool fails_ = false;
};

float first_of(const std::byte* staged) { return *reinterpret_cast<const float*>(staged); }

}  // namespace

int main(int argc, char** argv) {
  const bool late = argc > 1 && std::string_view(argv[1]) == "late";
  const ProgramInput input{"x", {.type = DataType::f32, .dims = {kBatch, kWidth}}};
  Program program{.model = "numbers", .generator = ""};
  program.batch = program.sub_batch = kBatch;
  program.inputs = {&input, 1};
  Dataset data{.name = "numbers", .columns = {}, .samples = kSamples};
  auto column = std::make_unique<Numbers>();
  Numbers& numbers = *column;
  data.columns.push_back(std::move(column));
  double sum = 0;
  {
    Feeder feeder(program, data, true, 7);
    for (int64_t epoch = 0; epoch < 20; ++epoch) {
      feeder.begin_epoch(epoch);
      const std::byte* before = nullptr;
      for (int64_t first = 0; first < kSamples; first += kBatch) {
        // Now and then something else is asked for than was announced; the last of an epoch announces nothing.
        const int64_t next = first % 24 == 0 ? 0 : first + kBatch;
        feeder.stage({first, kBatch}, next < kSamples ? Samples{next, kBatch} : Samples{});
        sum += first_of(feeder.staged()[0]);
        if (late && before) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the thread has begun, on any machine
          for (int64_t i = 0; i < kBatch; ++i)
            sum += first_of(before + i * kWidth * static_cast<int64_t>(sizeof(float)));
        }
        before = feeder.staged()[0];
      }
    }
    // It ends while its thread is reading.
    feeder.stage({0, kBatch}, {kBatch, kBatch});
  }
  Feeder feeder(program, data, false, 0);
  numbers.fail(true);
  int failures = 0;
  for (int64_t i = 0; i < 2 * kSamples; i += kBatch) {  // the second time it is the thread that stumbles
    try {
      feeder.stage({i % kSamples, kBatch}, {(i + kBatch) % kSamples, kBatch});
    } catch (const std::runtime_error&) {
      ++failures;
    }
  }
  std::printf("%.0f from samples, %d failures\n", sum, failures);
  return failures == 2 ? 0 : 1;
}
