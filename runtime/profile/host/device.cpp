#include "runtime/profile/device.h"

#include <stdexcept>

#include "runtime/backend.h"
#include "runtime/machine/processors.h"
#include "runtime/profile/host/clock.h"

namespace plimsoll::profile {
namespace {

constexpr int64_t kLine = 64;  // bytes

}  // namespace

void use_described_device(const std::string&) {
  throw std::runtime_error("oneDNN lists no kernels for a machine that is elsewhere; profile there");
}
bool device_is_described() { return false; }
bool device_is_here() { return true; }
std::string description_of_device() { throw std::runtime_error("oneDNN knows no description of a machine"); }

std::string device_name() { return backend::device_name(); }
void start(int64_t threads) { backend::start(threads); }

nlohmann::json measure_overheads() { return nlohmann::json::object(); }
void hold_device() {}

double waited_for_processors() { return queued_seconds(); }

void* stream() { return nullptr; }

Stopwatch::Stopwatch() = default;
Stopwatch::~Stopwatch() = default;
void Stopwatch::start() { began_at_ = now(); }
double Stopwatch::stop() {
  backend::finish(nullptr);
  return now() - began_at_;
}

// The process's share of the last-level cache is a guess: others use it, too, and it may be very large.
int64_t interlude_bytes() { return int64_t{128} << 20; }
Caches caches() { return {.own = int64_t{2} << 20, .all = int64_t{32} << 20}; }

// By all threads: an idle thread would fall asleep, and the next measured kernel would pay for waking it.
void touch(std::byte* from, int64_t bytes) {
  volatile std::byte* const line = from;
#pragma omp parallel for schedule(static)
  for (int64_t at = 0; at < bytes; at += kLine) line[at] = line[at];
}

}  // namespace plimsoll::profile
