// Ranks over NCCL, one GPU each. Reductions run on the plan's comm stream and may be recorded with the round (CUDA
// graphs). NCCL allocates its own buffers, which plans do not count; algorithm and protocol are pinned, because the
// bits of a sum depend on them.
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdlib>
#include <mutex>
#include <string>

#include "runtime/dist/meeting.h"
#include "runtime/dist/ranks.h"

namespace plimsoll::dist {
namespace {

// NCCL's own explanation of its last error: which library or interface it could not load or open.
std::string with_explanation(ncclResult_t code) {
  const char* const why = ncclGetLastError(nullptr);
  return std::string(ncclGetErrorString(code)) + (why && *why != '\0' ? std::string(": ") + why : "");
}

void check(ncclResult_t code, const char* call) {
  if (code != ncclSuccess) throw RanksError(std::string(call) + ": " + with_explanation(code));
}

// Makes the n-th visible device the only one. Call this before the first CUDA call.
void take_device(int64_t local) {
  const char* const seen = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string mine = std::to_string(local);
  if (seen && *seen != '\0') {
    std::string list = seen;
    for (int64_t i = 0; i < local; ++i) {
      const size_t comma = list.find(',');
      if (comma == std::string::npos)
        throw RanksError("rank " + std::to_string(local) + " of this machine has no device: CUDA_VISIBLE_DEVICES is " +
                         seen);
      list.erase(0, comma + 1);
    }
    mine = list.substr(0, list.find(','));
  }
  setenv("CUDA_VISIBLE_DEVICES", mine.c_str(), 1);
}

class ByNccl final : public Ranks {
 public:
  ByNccl(int64_t expected, const Place& place, int64_t patience)
      : meeting_(expected, place, pulse_, patience, [this] { return failure(); }) {
    rank_ = place.rank;
    size_ = place.size;
    take_device(place.local);
    setenv("NCCL_ALGO", "Ring", 0);
    setenv("NCCL_PROTO", "Simple", 0);
    ncclUniqueId id{};
    if (rank_ == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    meeting_.broadcast(&id, sizeof id);
    ncclComm_t comm = nullptr;
    check(ncclCommInitRank(&comm, static_cast<int>(size_), id, static_cast<int>(rank_)), "ncclCommInitRank");
    const std::lock_guard lock(watched_);
    comm_ = comm;
  }

  ~ByNccl() override {
    const std::lock_guard lock(watched_);
    if (comm_) ncclCommAbort(comm_);  // the other ranks may be gone
    comm_ = nullptr;  // the lifeline still queries it
  }

  const char* engine() const override { return "NCCL"; }

  void add_up(std::span<const Stretch> stretches, std::byte*, int64_t, void* stream) override {
    const Pulse::Wait wait(pulse_);  // the first call of each kind connects
    check(ncclGroupStart(), "ncclGroupStart");
    for (const Stretch& stretch : stretches)
      check(ncclAllReduce(stretch.data, stretch.data, static_cast<size_t>(stretch.bytes) / sizeof(float), ncclFloat32,
                          ncclSum, comm_, static_cast<cudaStream_t>(stream)),
            "ncclAllReduce");
    check(ncclGroupEnd(), "ncclGroupEnd");
  }

  void broadcast(void* data, int64_t bytes) override { meeting_.broadcast(data, bytes); }
  void gather(const void* mine, int64_t bytes, void* all) override { meeting_.gather(mine, bytes, all); }

  void leave() override {
    meeting_.leave();
    check(ncclCommDestroy(comm_), "ncclCommDestroy");
    comm_ = nullptr;
  }

 private:
  // A broken link between devices leaves kernels that never end, without an error from any call here: NCCL must be
  // queried.
  std::string failure() {
    const std::unique_lock lock(watched_, std::try_to_lock);
    if (!lock || !comm_) return "";
    ncclResult_t found = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(comm_, &found);
    if (asked != ncclSuccess) found = asked;
    return found == ncclSuccess || found == ncclInProgress ? "" : "NCCL: " + with_explanation(found);
  }

  std::mutex watched_;
  ncclComm_t comm_ = nullptr;
  Meeting meeting_;  // its lifeline queries the members above
};

}  // namespace

std::unique_ptr<Ranks> join(int64_t ranks, int64_t patience) {
  return std::make_unique<ByNccl>(ranks, place_in_environment(), patience);
}

}  // namespace plimsoll::dist
