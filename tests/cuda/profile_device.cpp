// The profiler's backend functions on the emulation: workspaces are the same for every device, and times are not
// meaningful.
#include <stdexcept>

#include "runtime/backend.h"
#include "runtime/profile/device.h"
#include "runtime/profile/links.h"

namespace plimsoll::profile {

void use_described_device(const std::string&) {}
bool device_is_described() { return true; }
bool device_is_here() { return false; }
std::string description_of_device() { return "{}"; }
std::string device_name() { return backend::device_name(); }
void start(int64_t threads) { backend::start(threads); }
nlohmann::json measure_overheads() { return nlohmann::json::object(); }
nlohmann::json measure_links(const std::string&) { throw std::runtime_error("an emulation has no links"); }
void hold_device() {}
double waited_for_processors() { return 0; }
void* stream() { return nullptr; }
Stopwatch::Stopwatch() = default;
Stopwatch::~Stopwatch() = default;
void Stopwatch::start() {}
double Stopwatch::stop() { throw std::runtime_error("an emulation has no time"); }
int64_t interlude_bytes() { return 0; }
Caches caches() { return {}; }
void touch(std::byte*, int64_t) {}

}  // namespace plimsoll::profile
