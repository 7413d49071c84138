#include "runtime/profile/device.h"

#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "runtime/backend.h"
#include "runtime/cuda/cudnn/device.h"
#include "runtime/cuda/device/check.h"
#include "runtime/profile/cuda/device_props.h"
#include "runtime/profile/kernel_registry.h"
#include "runtime/profile/measure.h"

namespace plimsoll::profile {
namespace {

using cuda::check;
using nlohmann::json;

// "" if the device is present.
std::string& described_name() {
  static std::string name;
  return name;
}

std::string text_of(const std::string& name_or_file) {
  if (name_or_file.ends_with(".json") || name_or_file.find('/') != std::string::npos) {
    std::ifstream in(name_or_file, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    if (!in) throw std::runtime_error("cannot read '" + name_or_file + "'");
    return text.str();
  }
  std::string known;
  for (const EmbeddedFile& file : device_props_files()) {
    const std::string_view base = file.path.substr(file.path.rfind('/') + 1);
    const std::string name(base.substr(0, base.rfind('.')));
    if (name == name_or_file) return std::string(file.contents);
    known += (known.empty() ? "" : ", ") + name;
  }
  throw std::runtime_error("cuDNN's view of a '" + name_or_file + "' is not known; known are " + known +
                           ", or a file that --dump-device-props wrote");
}

// The smallest possible kernel call.
const KernelCall& tiny() {
  static const KernelCall call{.name = "ReluForward", .operands = {read(f32({1})), write(f32({1}))}};
  return call;
}

// The time that each launch adds to a sequence of launches without other waits.
double launch_seconds() {
  constexpr int kLaunches = 2000;
  const backend::Arena arena(bytes_to_measure(tiny().operands, 0));
  const std::unique_ptr<Kernel> kernel = make_kernel(tiny(), algorithms_of(tiny()).front().name);
  std::byte* const operands[] = {arena.data(), arena.data() + 256};
  Stopwatch watch;
  double best = 0;
  for (int turn = 0; turn < 3; ++turn) {
    watch.start();
    for (int i = 0; i < kLaunches; ++i) kernel->run({.stream = stream()}, operands, nullptr);
    const double each = watch.stop() / kLaunches;
    best = turn == 0 ? each : std::min(best, each);
  }
  return best;
}

int64_t free_bytes() {
  size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "cannot ask for free memory");
  return static_cast<int64_t>(free);
}

// The device memory that a process takes for its context and libraries, measured by starting another instance of this
// program. 0: it could not be started.
int64_t process_bytes() {
  const int64_t before = free_bytes();
  int to[2], from[2];
  if (::pipe(to) != 0 || ::pipe(from) != 0) return 0;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(to[0], STDIN_FILENO);
    ::dup2(from[1], STDOUT_FILENO);
    for (const int end : {to[0], to[1], from[0], from[1]}) ::close(end);
    ::execl("/proc/self/exe", "plimsoll-profile-cuda", "--hold-device", nullptr);
    ::_exit(127);
  }
  ::close(to[0]);
  ::close(from[1]);
  char ready = 0;
  const bool held = child > 0 && ::read(from[0], &ready, 1) == 1;
  const int64_t taken = held ? before - free_bytes() : 0;
  ::close(to[1]);  // its stdin ends, so it exits
  ::close(from[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return std::max<int64_t>(taken, 0);
}

}  // namespace

void use_described_device(const std::string& name_or_file) {
  const std::string text = text_of(name_or_file);
  const json description = json::parse(text, nullptr, false);
  if (description.is_discarded() || !description.contains("deviceName") || !description["deviceName"].is_string())
    throw std::runtime_error("'" + name_or_file + "' describes no device as cuDNN does");
  cudnn::use_described_device(text);
  described_name() = description["deviceName"].get<std::string>();
}

bool device_is_described() { return !described_name().empty(); }

bool device_is_here() {
  int count = 0;
  const bool found = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  cudaGetLastError();  // clears the error: a missing device must not affect later calls
  return found;
}

std::string description_of_device() { return cudnn::description_of_device(); }

std::string device_name() { return device_is_described() ? described_name() : backend::device_name(); }

double waited_for_processors() { return 0; }

void start(int64_t threads) {
  if (device_is_described()) return;
  if (!device_is_here())
    throw std::runtime_error(
        "there is no GPU to profile; --device-props NAME lists the workspaces of one that is elsewhere");
  backend::start(threads);
}

json measure_overheads() {
  json figures = {{"launch_seconds", launch_seconds()}};
  if (const int64_t bytes = process_bytes(); bytes > 0) figures["process_bytes"] = bytes;
  return figures;
}

// Runs one kernel of each library, because libraries load their code on first use. The arenas are freed at once.
void hold_device() {
  backend::start(1);
  const KernelCall convolution{
      .name = "ConvForward",
      .attributes = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}},
      .operands = {read(f32({8, 16, 16, 16})), read(f32({16, 16, 3, 3})), absent(), write(f32({8, 16, 16, 16}))}};
  const KernelCall product{.name = "MatMul",
                           .operands = {read(f32({64, 64})), read(f32({64, 64})), absent(), write(f32({64, 64}))}};
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (const KernelCall* const call : {&tiny(), &convolution, &product}) {
    const Algorithm algorithm = algorithms_of(*call).front();
    const backend::Arena arena(bytes_to_measure(call->operands, algorithm.workspace_bytes));
    kernels.push_back(make_kernel(*call, algorithm.name));
    time_of(*kernels.back(), call->operands, {}, Workpiece(call->operands, arena), nullptr);
  }
  std::fputc('1', stdout);
  std::fflush(stdout);
  while (std::getchar() != EOF) {}
}

void* stream() {
  static cudaStream_t stream = [] {
    cudaStream_t made = nullptr;
    check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cannot make a stream");
    return made;
  }();
  return stream;
}

Stopwatch::Stopwatch() {
  for (void** event : {&began_, &ended_}) {
    cudaEvent_t made = nullptr;
    check(cudaEventCreate(&made), "cannot make an event");
    *event = made;
  }
}

Stopwatch::~Stopwatch() {
  for (void* const event : {began_, ended_}) cudaEventDestroy(static_cast<cudaEvent_t>(event));
}

void Stopwatch::start() {
  check(cudaEventRecord(static_cast<cudaEvent_t>(began_), static_cast<cudaStream_t>(stream())), "cannot measure");
}

double Stopwatch::stop() {
  const auto ended = static_cast<cudaEvent_t>(ended_);
  check(cudaEventRecord(ended, static_cast<cudaStream_t>(stream())), "cannot measure");
  check(cudaEventSynchronize(ended), "a measured kernel failed");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(began_), ended), "cannot measure");
  return 1e-3 * static_cast<double>(milliseconds);
}

int64_t interlude_bytes() {
  int device = 0, cache = 0;
  check(cudaGetDevice(&device), "there is no device");
  check(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device), "the device tells nothing of its cache");
  // The pass must also take longer than issuing the kernels measured after it: otherwise these would start late, by the
  // device's clock.
  return std::max<int64_t>(int64_t{4} * cache, int64_t{64} << 20);
}

// The interlude covers more bytes than all caches: every task finds its operands in memory.
Caches caches() { return {}; }
void touch(std::byte*, int64_t) {}

}  // namespace plimsoll::profile
