#include "runtime/profile/links.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/backend.h"
#include "runtime/profile/host/clock.h"
#include "runtime/profile/kernel_registry.h"
#include "runtime/profile/measure.h"

namespace plimsoll::profile {
namespace {

using nlohmann::json;

// Pieces of the size of tensors that are worth offloading; more of them than the private caches of a core hold.
constexpr int64_t kPiece = int64_t{4} << 20, kPieces = 16;
constexpr double kSeconds = 0.15;

// The host side of the copies: `store` copies a piece out of the arena, `fetch` copies it back.
struct Pool {
  std::function<void(int64_t offset, const std::byte* from)> store;
  std::function<void(int64_t offset, std::byte* to)> fetch;
};

Pool in_memory(const backend::Arena& memory) {
  return {
      [&](int64_t offset, const std::byte* from) { backend::copy_out(nullptr, memory.data() + offset, from, kPiece); },
      [&](int64_t offset, std::byte* to) { backend::copy_in(nullptr, to, memory.data() + offset, kPiece); }};
}

// An unlinked file that disappears with its descriptor.
class SpillFile {
 public:
  explicit SpillFile(const std::string& directory) {
    std::string path = directory + "/plimsoll-links-XXXXXX";
    file_ = ::mkostemp(path.data(), O_CLOEXEC);
    if (file_ < 0) throw std::runtime_error("cannot write to '" + directory + "': " + std::strerror(errno));
    ::unlink(path.c_str());
    if (const int error = ::posix_fallocate(file_, 0, kPiece * kPieces); error != 0) {
      ::close(file_);
      throw std::runtime_error("cannot write to '" + directory + "': " + std::strerror(error));
    }
  }
  ~SpillFile() { ::close(file_); }
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  Pool pool() const {
    return {[this](int64_t offset, const std::byte* from) {
              all([&](int64_t done) { return ::pwrite(file_, from + done, size_t(kPiece - done), offset + done); });
            },
            [this](int64_t offset, std::byte* to) {
              all([&](int64_t done) { return ::pread(file_, to + done, size_t(kPiece - done), offset + done); });
            }};
  }

 private:
  template <class Some>
  static void all(const Some& some) {
    for (int64_t done = 0; done < kPiece;) {
      const ssize_t moved = some(done);
      if (moved <= 0 && errno != EINTR)
        throw std::runtime_error(std::string("the spill file: ") + std::strerror(errno));
      done += std::max<ssize_t>(moved, 0);
    }
  }
  int file_ = -1;
};

// Copies piece after piece until told to stop; returns the number of bytes.
int64_t copy_until(const std::atomic<bool>& end, const std::function<void(int64_t piece)>& copy) {
  int64_t copied = 0;
  for (int64_t piece = 0; !end.load(std::memory_order_relaxed); piece = (piece + 1) % kPieces, copied += kPiece)
    copy(piece);
  return copied;
}

double alone(const std::function<void(int64_t piece)>& copy) {
  for (int64_t piece = 0; piece < kPieces; ++piece) copy(piece);  // faults in the pages of the pool
  int64_t copied = 0;
  const double began = now();
  double spent = 0;
  for (int64_t piece = 0; spent < kSeconds; piece = (piece + 1) % kPieces, spent = now() - began) {
    copy(piece);
    copied += kPiece;
  }
  return static_cast<double>(copied) / spent;
}

// A kernel that keeps every core busy, and the number of its runs.
class Busy {
 public:
  Busy()
      : arena_(bytes_to_measure(call_.operands, workspace())),
        kernel_(make_kernel(call_, algorithms_of(call_).front().name)) {
    per_run_ = time_of(*kernel_, call_.operands, {}, workpiece_, nullptr).median;
  }
  // The average increase of a run's time.
  double slowdown_over(double seconds) {
    const double began = now();
    int64_t runs = 0;
    double spent = 0;
    for (; spent < seconds; ++runs, spent = now() - began) {
      kernel_->run({}, workpiece_.addresses.data(), workpiece_.workspace);
      backend::finish(nullptr);
    }
    return std::max(0.0, spent / static_cast<double>(runs) / per_run_ - 1);
  }

 private:
  int64_t workspace() const { return algorithms_of(call_).front().workspace_bytes; }

  const KernelCall call_{.name = "MatMul", .operands = {read(f32({512, 512})), read(f32({512, 512})), absent(),
                                                        write(f32({512, 512}))}};
  backend::Arena arena_;
  Workpiece workpiece_{call_.operands, arena_};
  std::unique_ptr<Kernel> kernel_;
  double per_run_ = 0;
};

json measure_link(const Pool& pool, const backend::Arena& arena, Busy& busy) {
  const auto store = [&](int64_t piece) { pool.store(piece * kPiece, arena.data() + piece * kPiece); };
  // To the other half of the arena, as in a plan: the two directions never share a byte.
  const auto fetch = [&](int64_t piece) { pool.fetch(piece * kPiece, arena.data() + (kPieces + piece) * kPiece); };
  json link;
  link["alone"] = {{"d2h_bytes_per_second", alone(store)}, {"h2d_bytes_per_second", alone(fetch)}};
  std::atomic<bool> end{false};
  int64_t stored = 0, fetched = 0;
  const double began = now();
  std::thread out([&] { stored = copy_until(end, store); });
  std::thread in([&] { fetched = copy_until(end, fetch); });
  const double slowdown = busy.slowdown_over(2 * kSeconds);
  end = true;
  out.join();
  in.join();
  const double spent = now() - began;
  link["beside"] = {{"d2h_bytes_per_second", static_cast<double>(std::max(stored, kPiece)) / spent},
                    {"h2d_bytes_per_second", static_cast<double>(std::max(fetched, kPiece)) / spent},
                    {"slowdown", slowdown}};
  return link;
}

// Half of a round trip of a message.
double handover_seconds() {
  constexpr int kTimes = 200;
  std::atomic<int> ball{0};
  std::thread other([&] {
    for (int i = 0; i < kTimes; ++i) {
      ball.wait(2 * i);
      ball = 2 * i + 2;
      ball.notify_one();
    }
  });
  std::vector<double> seconds;
  for (int i = 0; i < kTimes; ++i) {
    const double began = now();
    ball = 2 * i + 1;
    ball.notify_one();
    ball.wait(2 * i + 1);
    seconds.push_back((now() - began) / 2);
  }
  other.join();
  std::nth_element(seconds.begin(), seconds.begin() + kTimes / 2, seconds.end());
  return seconds[kTimes / 2];
}

}  // namespace

json measure_links(const std::string& spill_directory) {
  const backend::Arena arena(2 * kPiece * kPieces), memory(kPiece * kPieces);
  const SpillFile file(spill_directory);
  Busy busy;
  return {{"ram", measure_link(in_memory(memory), arena, busy)},
          {"spill", measure_link(file.pool(), arena, busy)},
          {"latency_seconds", handover_seconds()}};
}

}  // namespace plimsoll::profile
