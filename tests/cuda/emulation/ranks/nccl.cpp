// Sums over emulated devices, over TCP: work in a stream like any other, recorded with the round or not. A rank that
// sums in another order or other amounts than the rest is detected. If a rank is gone, a sum never ends, as on devices.
// With $NCCL_BREAKS, sums never end from that reduction on although all ranks are alive, and a query returns the
// reason. Destroying a communicator while a recording holds one of its sums is an error: it would wait for the end of
// the recording, and forever if the same thread has to end it.
#include <nccl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "../emulation.h"
#include "runtime/dist/star.h"

struct ncclComm {
  int rank;
  std::vector<plimsoll::dist::Spoke> spokes;
  int64_t reductions = 0;
  std::atomic<bool> broken{false};
  std::shared_ptr<int> sums = std::make_shared<int>(0);  // held by each sum that was issued or recorded
};

namespace {

plimsoll::dist::Door door;
int depth = 0;  // of nested groups
std::vector<std::function<void()>> grouped;

struct Head {
  int64_t number = 0, count = 0;
  friend bool operator==(const Head&, const Head&) = default;
};

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "emulated NCCL: %s\n", what);
  std::abort();
}

[[noreturn]] void hang() {
  for (;;) pause();
}

void add_up(ncclComm& comm, const float* from, float* to, size_t count) {
  using namespace plimsoll::dist;
  const Head mine{++comm.reductions, static_cast<int64_t>(count)};
  static const char* const breaks = std::getenv("NCCL_BREAKS");
  if (breaks && comm.reductions == std::atoll(breaks)) {
    comm.broken = true;
    hang();
  }
  const auto live = [](bool sent) {
    if (!sent) hang();
  };
  const size_t bytes = count * sizeof(float);
  std::vector<float> sum(from, from + count), part(count);
  for (const Spoke& spoke : comm.spokes) {
    Head other = mine;
    if (comm.rank > 0) {
      live(send_whole(spoke.socket, &mine, sizeof mine) && send_whole(spoke.socket, sum.data(), bytes));
    } else {
      live(receive_whole(spoke.socket, &other, sizeof other));
      must(other == mine, "ranks do not add up the same");
      live(receive_whole(spoke.socket, part.data(), bytes));
      for (size_t i = 0; i < count; ++i) sum[i] += part[i];
    }
  }
  for (const Spoke& spoke : comm.spokes)
    live(comm.rank == 0 ? send_whole(spoke.socket, sum.data(), bytes) : receive_whole(spoke.socket, sum.data(), bytes));
  std::memcpy(to, sum.data(), bytes);
}

}  // namespace

const char* ncclGetErrorString(ncclResult_t) { return "an error of the emulation"; }
const char* ncclGetLastError(ncclComm_t) { return "its explanation"; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  door = plimsoll::dist::open_door(0, false);
  std::memcpy(id->internal, &door.port, sizeof door.port);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  if (rank > 0) std::memcpy(&door.port, id.internal, sizeof door.port);
  *comm = new ncclComm{.rank = rank, .spokes = plimsoll::dist::meet(rank, ranks, "127.0.0.1", door)};
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* found) {
  *found = comm->broken ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  must(comm->sums.use_count() == 1, "its end waits for a graph that holds a sum");
  for (const plimsoll::dist::Spoke& spoke : comm->spokes) close(spoke.socket);
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) { return ncclCommDestroy(comm); }

ncclResult_t ncclGroupStart() { return ++depth, ncclSuccess; }

// The operations of a group are issued to their streams when the group ends.
ncclResult_t ncclGroupEnd() {
  if (depth == 0) return ncclInvalidUsage;
  if (--depth > 0) return ncclSuccess;
  for (const std::function<void()>& issue : grouped) issue();
  grouped.clear();
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  if (type != ncclFloat32 || op != ncclSum || !comm) return ncclInvalidUsage;
  grouped.push_back([=] {
    emulation::issue_work(stream, [=, held = comm->sums] {
      add_up(*comm, static_cast<const float*>(send), static_cast<float*>(receive), count);
    });
  });
  ++depth;
  return ncclGroupEnd();
}
