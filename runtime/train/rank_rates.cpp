#include "runtime/train/rank_rates.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/backend.h"
#include "runtime/train/error.h"
#include "runtime/train/file.h"
#include "runtime/train/reporter.h"

namespace plimsoll::train {
namespace {

// From the smallest reduction, the loss, to more than caches hold; with a workspace like a plan's.
constexpr int64_t kSmall = 8, kLarge = int64_t{16} << 20, kWorkspace = int64_t{2} << 20;
constexpr int kSmallRuns = 51, kLargeRuns = 7;

// For one rank, as in the compiler's model: a latency, and 2 (n - 1) / n of the bytes sent and received.
struct Rates {
  double bytes_per_second = 0, latency_seconds = 0;
};

// Loads the cores as kernels do during a reduction: every thread of the plan streams through memory and multiplies.
class Busy {
 public:
  explicit Busy(int64_t threads) {
    for (int64_t i = 0; i < threads; ++i) threads_.emplace_back([this] { walk(); });
  }
  ~Busy() {
    end_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  void walk() const {
    std::vector<float> values(size_t{1} << 20, 1.0F);
    while (!end_)
      for (float& value : values) value = value * 0.999F + 0.001F;
  }
  std::atomic<bool> end_{false};
  std::vector<std::thread> threads_;
};

class Measurement {
 public:
  explicit Measurement(Team& team) : team_(team), arena_(kLarge + kWorkspace) {}

  Rates run() {
    const double latency = median_seconds(kSmall, kSmallRuns), large = median_seconds(kLarge, kLargeRuns);
    const auto ranks = static_cast<double>(team_.size());
    const double moved = 2 * (ranks - 1) / ranks * static_cast<double>(kLarge - kSmall);
    return {moved / std::max(1e-9, large - latency), latency};
  }

 private:
  double median_seconds(int64_t bytes, int runs) {
    std::vector<double> seconds;
    for (int i = -2; i < runs; ++i) {  // the first two connect and touch memory
      team_.highest(0);                // a barrier: waiting for a late rank is not measured
      const double began = now_seconds();
      const dist::Stretch stretch{arena_.data(), bytes};
      team_.ranks()->add_up({&stretch, 1}, arena_.data() + kLarge, kWorkspace, nullptr);
      backend::finish(nullptr);
      if (i >= 0) seconds.push_back(now_seconds() - began);
    }
    std::nth_element(seconds.begin(), seconds.begin() + runs / 2, seconds.end());
    return seconds[static_cast<size_t>(runs / 2)];
  }

  Team& team_;
  backend::Arena arena_;
};

std::string as_json(const Rates& rates) {
  char text[120];
  std::snprintf(text, sizeof text, "{\"bytes_per_second\":%.6g,\"latency_seconds\":%.6g}", rates.bytes_per_second,
                rates.latency_seconds);
  return text;
}

std::string as_words(const Rates& rates) {
  char text[80];
  std::snprintf(text, sizeof text, "%.2f GB/s and %.0f us", rates.bytes_per_second * 1e-9, rates.latency_seconds * 1e6);
  return text;
}

}  // namespace

void measure_ranks(const Program& program, Team& team, const std::string& path, bool quiet) {
  if (team.size() == 1)
    throw TrainerError(Exit::usage, "--measure-ranks requires a trainer of several ranks; this one has one");
  std::optional<OutputFile> file;
  team.together([&] {
    if (team.speaks()) file.emplace(path);  // fails before time is spent
    backend::start(program.threads);
  });
  Measurement measurement(team);
  const Rates alone = measurement.run();
  const Rates beside = [&] {
    const Busy busy(program.threads);
    return measurement.run();
  }();
  team.leave();
  if (!team.speaks()) return;
  const std::string ranks = std::to_string(team.size()), engine = team.ranks()->engine();
  const std::string text = "{\"schema\":1,\"ranks\":" + ranks + ",\"engine\":\"" + engine +
                           "\",\n\"alone\":" + as_json(alone) + ",\n\"beside\":" + as_json(beside) + "}\n";
  file->write(0, reinterpret_cast<const std::byte*>(text.data()), static_cast<int64_t>(text.size()));
  file->commit();
  if (!quiet)
    std::printf(
        "%s ranks by %s: %s alone, %s while cores are busy\nwrote %s; `plimsoll compile --ranks %s --rank-costs %s` "
        "plans "
        "with it\n",
        ranks.c_str(), engine.c_str(), as_words(alone).c_str(), as_words(beside).c_str(), path.c_str(), ranks.c_str(),
        path.c_str());
}

}  // namespace plimsoll::train
