// Copies between the arena and pinned memory, timed by the device's clock.
#include "runtime/profile/links.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "runtime/backend.h"
#include "runtime/cuda/device/handles.h"
#include "runtime/profile/device.h"
#include "runtime/profile/kernel_registry.h"
#include "runtime/profile/measure.h"

namespace plimsoll::profile {
namespace {

using cuda::check;
using nlohmann::json;

// Pieces of the size of tensors that are worth offloading.
constexpr int64_t kPiece = int64_t{16} << 20;
constexpr int kPieces = 16;

// A stream with an event at the beginning and the end of its work.
class Track {
 public:
  cudaStream_t stream() const { return stream_.get(); }
  void begin() { check(cudaEventRecord(began_.get(), stream_.get()), "cannot measure"); }
  void end() { check(cudaEventRecord(ended_.get(), stream_.get()), "cannot measure"); }
  double seconds() {
    check(cudaEventSynchronize(ended_.get()), "a copy failed");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, began_.get(), ended_.get()), "cannot measure");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cuda::Stream stream_ = cuda::Stream::make();
  cuda::Event began_ = cuda::Event::make_timed(), ended_ = cuda::Event::make_timed();
};

struct Copy {
  cudaMemcpyKind kind;
  std::byte *to, *from;
};

// Copies all the pieces in sequence, `rounds` times.
void copy_all(Track& track, const Copy& copy, int64_t piece, int rounds) {
  track.begin();
  for (int i = 0; i < rounds * kPieces; ++i) {
    const int64_t at = i % kPieces * piece;
    check(cudaMemcpyAsync(copy.to + at, copy.from + at, static_cast<size_t>(piece), copy.kind, track.stream()),
          "cannot copy");
  }
  track.end();
}

double bytes_per_second(int64_t piece, int rounds, double seconds) {
  return static_cast<double>(piece) * kPieces * rounds / seconds;
}

// The best of three: other traffic on the link only makes a copy slower.
double alone(Track& track, const Copy& copy) {
  double best = 0;
  for (int turn = 0; turn < 4; ++turn) {
    copy_all(track, copy, kPiece, 4);
    const double seconds = track.seconds();
    if (turn > 0) best = std::max(best, bytes_per_second(kPiece, 4, seconds));
  }
  return best;
}

// A memory-bound kernel, run repeatedly, so that a concurrent copy slows it down measurably.
class Busy {
 public:
  Busy()
      : arena_(bytes_to_measure(call_.operands, 0)), kernel_(make_kernel(call_, algorithms_of(call_).front().name)) {}
  double seconds(int runs) {
    std::byte* const operands[] = {arena_.data(), arena_.data() + call_.operands[0].tensor.bytes()};
    watch_.start();
    for (int i = 0; i < runs; ++i) kernel_->run({.stream = stream()}, operands, nullptr);
    return watch_.stop();
  }

 private:
  const KernelCall call_{.name = "ReluForward", .operands = {read(f32({64 << 20})), write(f32({64 << 20}))}};
  backend::Arena arena_;
  std::unique_ptr<Kernel> kernel_;
  Stopwatch watch_;
};

}  // namespace

json measure_links(const std::string&) {
  const backend::Arena arena(2 * kPiece * kPieces);
  const cuda::PinnedMemory pool(2 * kPiece * kPieces, "cannot pin memory");
  if (!pool) throw std::runtime_error("this machine does not give pinned memory: see `ulimit -l`");
  Track out, in;
  const Copy store{cudaMemcpyDeviceToHost, pool.data(), arena.data()};
  // To the other half, as in a plan: the two directions never share a byte.
  const Copy fetch{cudaMemcpyHostToDevice, arena.data() + kPiece * kPieces, pool.data() + kPiece * kPieces};
  json ram;
  ram["alone"] = {{"d2h_bytes_per_second", alone(out, store)}, {"h2d_bytes_per_second", alone(in, fetch)}};

  // The copies must outlast the kernels that run concurrently: as many kernels as fit in half their time.
  Busy busy;
  constexpr int kRounds = 8;
  busy.seconds(3);
  const double one = busy.seconds(10) / 10;
  const double expected =
      static_cast<double>(kPiece) * kPieces * kRounds / ram["alone"]["d2h_bytes_per_second"].get<double>();
  const int runs = std::max(4, static_cast<int>(0.5 * expected / one));
  copy_all(out, store, kPiece, kRounds);
  copy_all(in, fetch, kPiece, kRounds);
  const double beside = busy.seconds(runs) / runs;
  ram["beside"] = {{"d2h_bytes_per_second", bytes_per_second(kPiece, kRounds, out.seconds())},
                   {"h2d_bytes_per_second", bytes_per_second(kPiece, kRounds, in.seconds())},
                   {"slowdown", std::max(0.0, beside / one - 1)}};

  copy_all(out, store, 256, 16);
  return {{"ram", ram}, {"latency_seconds", out.seconds() / (16 * kPieces)}};
}

}  // namespace plimsoll::profile
