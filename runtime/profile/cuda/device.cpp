#include "runtime/profile/device.h"

#include <chrono>
#include <stdexcept>

#include "runtime/backend.h"

namespace plimsoll::profile {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

void use_described_device(const std::string&) {
  throw std::runtime_error("this version has own kernels only, whose workspaces are those of every device");
}
bool device_is_described() { return false; }
std::string description_of_device() { throw std::runtime_error("this version describes no device"); }

std::string device_name() { return backend::device_name(); }

// Workspaces are known where there is no device, too.
void start(int64_t threads) {
  try {
    backend::start(threads);
  } catch (const backend::DeviceError&) {
  }
}

nlohmann::json measure_overheads() { return nlohmann::json::object(); }
void hold_device() {}

void* stream() { return nullptr; }

Stopwatch::Stopwatch() = default;
Stopwatch::~Stopwatch() = default;
void Stopwatch::start() { began_at_ = now(); }
double Stopwatch::stop() {
  backend::finish(nullptr);
  return now() - began_at_;
}

int64_t interlude_bytes() { return int64_t{128} << 20; }

}  // namespace plimsoll::profile
