#include "runtime/train/reporter.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "runtime/train/error.h"

namespace plimsoll::train {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

Reporter::Reporter(bool quiet, const std::string& metrics_path, int64_t batch, int64_t iterations_per_epoch,
                   int64_t epochs)
    : quiet_(quiet), metrics_path_(metrics_path), batch_(batch), iterations_per_epoch_(iterations_per_epoch),
      epochs_(epochs) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  bar_ = !quiet && isatty(STDERR_FILENO) && terminal && std::strcmp(terminal, "dumb") != 0;
  color_ = !no_color || !*no_color;
  if (metrics_path.empty()) return;
  metrics_ = std::fopen(metrics_path.c_str(), "w");
  if (!metrics_)
    throw TrainerError(Exit::unwritable_output, "cannot write '" + metrics_path + "': " + std::strerror(errno));
}

Reporter::~Reporter() {
  clear_bar();
  if (metrics_) std::fclose(metrics_);
}

void Reporter::clear_bar() {
  if (bar_shown_) std::fputs("\r\033[K", stderr);
  bar_shown_ = false;
}

void Reporter::iteration(const IterationResult& result) {
  if (metrics_) {
    // JSON has no word for what is not a number.
    std::fprintf(metrics_, "{\"iteration\":%lld,\"epoch\":%lld,\"loss\":", static_cast<long long>(result.iteration),
                 static_cast<long long>(result.epoch));
    if (std::isfinite(result.loss)) std::fprintf(metrics_, "%.9g", result.loss);
    else std::fputs("null", metrics_);
    if (result.correct >= 0) std::fprintf(metrics_, ",\"correct\":%.0f", result.correct);
    std::fprintf(metrics_, ",\"samples\":%lld,\"lr\":%.9g,\"seconds\":%.6f}\n", static_cast<long long>(batch_),
                 result.learning_rate, result.seconds);
    std::fflush(metrics_);
  }
  if (!bar_) return;
  const double now = now_seconds();
  const int64_t done = result.iteration % iterations_per_epoch_ + 1;
  if (now - bar_drawn_at_ < 0.1 && done != iterations_per_epoch_) return;
  bar_drawn_at_ = now;
  constexpr int kWidth = 24;
  char cells[kWidth + 1] = {};
  for (int i = 0; i < kWidth; ++i) cells[i] = i * iterations_per_epoch_ < done * kWidth ? '#' : '.';
  std::fprintf(stderr, "\repoch %lld/%lld %s[%s]%s %lld/%lld  loss %.4f  %.1f ms/iteration\033[K",
               static_cast<long long>(result.epoch + 1), static_cast<long long>(epochs_), color_ ? "\033[36m" : "", cells,
               color_ ? "\033[0m" : "", static_cast<long long>(done), static_cast<long long>(iterations_per_epoch_),
               result.loss, result.seconds * 1e3);
  std::fflush(stderr);
  bar_shown_ = true;
}

void Reporter::epoch(const EpochResult& result) {
  clear_bar();
  if (quiet_) return;
  std::printf("epoch %lld  loss %.6f", static_cast<long long>(result.epoch + 1), result.loss);
  if (result.accuracy >= 0) std::printf("  accuracy %.2f%%", 100 * result.accuracy);
  if (result.tested) {
    std::printf("  test loss %.6f", result.test_loss);
    if (result.test_accuracy >= 0) std::printf("  test accuracy %.2f%%", 100 * result.test_accuracy);
    std::printf(" of %lld", static_cast<long long>(result.test_samples));
  }
  std::printf("  %.1f s, %.1f samples/s\n", result.seconds,
              static_cast<double>(result.iterations * batch_) / std::fmax(result.seconds, 1e-9));
  std::fflush(stdout);
}

void Reporter::close() {
  if (!metrics_) return;
  const bool good = std::fflush(metrics_) == 0 && !std::ferror(metrics_);
  const bool closed = std::fclose(metrics_) == 0;
  metrics_ = nullptr;
  if (!good || !closed)
    throw TrainerError(Exit::unwritable_output, "cannot write '" + metrics_path_ + "': the disk may be full");
}

}  // namespace plimsoll::train
