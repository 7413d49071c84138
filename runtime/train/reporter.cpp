#include "runtime/train/reporter.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace plimsoll::train {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int64_t peak_resident_bytes() {
  // Not getrusage: its peak includes the program before exec, for example a Python launcher with a whole framework
  // loaded.
  char text[4096];
  if (const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC); file >= 0) {
    const ssize_t bytes = ::read(file, text, sizeof text - 1);
    ::close(file);
    text[std::max<ssize_t>(0, bytes)] = '\0';
    if (const char* const peak = std::strstr(text, "\nVmHWM:"))
      return std::strtoll(peak + sizeof "\nVmHWM:" - 1, nullptr, 10) * 1024;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

Reporter::Reporter(bool quiet, const std::vector<std::string>& metrics, const Program& program,
                   int64_t iterations_per_epoch, int64_t epochs)
    : quiet_(quiet), predicted_seconds_(program.predicted_seconds), iterations_per_epoch_(iterations_per_epoch),
      epochs_(epochs) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  bar_ = !quiet && isatty(STDERR_FILENO) && terminal && std::strcmp(terminal, "dumb") != 0;
  color_ = !no_color || !*no_color;
  for (const std::string& path : metrics) metrics_.emplace_back(path, program);
}

Reporter::~Reporter() { clear_bar(); }

void Reporter::also_write(const std::string& page, const std::string& events, const Program& program, int64_t steps) {
  if (!page.empty())
    page_.emplace(page, program,
                  RunPage::Length{.per_epoch = iterations_per_epoch_, .epochs = epochs_, .steps = steps});
  if (!events.empty()) events_.emplace(events);
}

void Reporter::start_at(int64_t iteration, int64_t allocated_bytes) {
  if (page_) page_->start_at(iteration, allocated_bytes);
  if (events_) events_->start_at(iteration, allocated_bytes);
  for (Metrics& one : metrics_) {
    one.start_at(iteration);
    one.set_allocated(allocated_bytes);
  }
}

void Reporter::clear_bar() {
  if (bar_shown_) std::fputs("\r\033[K", stderr);
  bar_shown_ = false;
}

void Reporter::iteration(const IterationResult& result) {
  for (Metrics& one : metrics_) one.iteration(result);
  if (page_) page_->iteration(result);
  if (events_) events_->iteration(result);
  if (!bar_) return;
  const double now = now_seconds();
  const int64_t done = result.iteration % iterations_per_epoch_ + 1;
  if (now - bar_drawn_at_ < 0.1 && done != iterations_per_epoch_) return;
  bar_drawn_at_ = now;
  constexpr int kWidth = 24;
  char cells[kWidth + 1] = {};
  for (int i = 0; i < kWidth; ++i) cells[i] = i * iterations_per_epoch_ < done * kWidth ? '#' : '.';
  std::fprintf(stderr, "\repoch %lld/%lld %s[%s]%s %lld/%lld  loss %.4f  %.1f ms/iteration",
               static_cast<long long>(result.epoch + 1), static_cast<long long>(epochs_), color_ ? "\033[36m" : "",
               cells, color_ ? "\033[0m" : "", static_cast<long long>(done),
               static_cast<long long>(iterations_per_epoch_), result.loss, result.seconds * 1e3);
  if (predicted_seconds_ > 0) std::fprintf(stderr, " (predicted %.1f)", predicted_seconds_ * 1e3);
  std::fputs("\033[K", stderr);
  std::fflush(stderr);
  bar_shown_ = true;
}

void Reporter::evaluation(int64_t iteration, int64_t epoch, const Evaluation& result, bool in_epoch_line) {
  for (Metrics& one : metrics_) one.evaluation(iteration, epoch, result);
  if (page_) page_->evaluation(iteration, result);
  if (events_) events_->evaluation(iteration, result);
  if (in_epoch_line || quiet_) return;
  clear_bar();
  std::printf("iteration %lld  test loss %.6f", static_cast<long long>(iteration + 1), result.loss);
  if (result.accuracy >= 0) std::printf("  test accuracy %.2f%%", 100 * result.accuracy);
  std::printf(" of %lld\n", static_cast<long long>(result.samples));
  std::fflush(stdout);
}

void Reporter::epoch(const EpochResult& result) {
  if (page_) page_->write();
  clear_bar();
  if (quiet_) return;
  std::printf("epoch %lld  ", static_cast<long long>(result.epoch + 1));
  if (result.skipped) std::printf("every iteration was skipped");
  else std::printf("loss %.6f", result.loss);
  if (result.accuracy >= 0 && !result.skipped) std::printf("  accuracy %.2f%%", 100 * result.accuracy);
  if (const Evaluation& test = result.evaluation; test.samples > 0) {
    std::printf("  test loss %.6f", test.loss);
    if (test.accuracy >= 0) std::printf("  test accuracy %.2f%%", 100 * test.accuracy);
    std::printf(" of %lld", static_cast<long long>(test.samples));
  }
  std::printf("  %.1f s, %.1f samples/s\n", result.seconds,
              static_cast<double>(result.samples) / std::fmax(result.seconds, 1e-9));
  std::fflush(stdout);
}

void Reporter::say(const std::string& line) {
  clear_bar();
  if (quiet_) return;
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void Reporter::warn(const std::string& line) {
  if (silent_) return;
  clear_bar();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void Reporter::close() {
  clear_bar();
  for (Metrics& one : metrics_) one.close();
  if (events_) events_->close();
  if (page_) page_->close();
}

}  // namespace plimsoll::train
