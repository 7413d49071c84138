// Ranks over MPI. One thread at a time calls it: the comm thread during a round, the training thread between rounds.
//
// Sums must not depend on the algorithm that the MPI library chooses for a message size. Therefore every rank receives
// its part of the bucket from all others, adds the parts in the order of ranks, and sends the sum to the others.
//
//   bucket of rank 0   | a0 | b0 |          alltoall          | a0 | a1 |   sum    | a |   allgather    | a | b |
//   bucket of rank 1   | a1 | b1 |        ───────────►        | b0 | b1 |  ─────►  | b |  ──────────►   | a | b |
//
// The bucket passes through the workspace in pieces; one half of the workspace is for sending, the other for receiving.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "runtime/dist/host/engines.h"
#include "runtime/dist/host/row.h"
#include "runtime/dist/lifeline.h"

namespace plimsoll::dist {
namespace {

using Clock = std::chrono::steady_clock;

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw RanksError(std::string(call) + ": " + std::string(text, static_cast<size_t>(length)));
}

// An MPI library polls while it waits, on cores that the kernels need, so long waits yield the processor.
void wait(MPI_Request& request, const char* call, Pulse& pulse) {
  const Pulse::Wait others(pulse);
  const Clock::time_point patient = Clock::now() + std::chrono::microseconds(50);
  for (int done = 0;;) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
    if (done) return;
    if (Clock::now() > patient) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

class ByMpi final : public Ranks {
 public:
  ByMpi(int64_t expected, int64_t patience) {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rank = 0, size = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    rank_ = rank;
    size_ = size;
    expect_ranks(expected, size, rank);
    if (provided < MPI_THREAD_SERIALIZED)
      throw RanksError("this MPI library does not let a second thread call it (MPI_THREAD_SERIALIZED)");
    if (size > 1) hold_on(patience);
  }

  const char* engine() const override { return "MPI"; }

  void add_up(std::span<const Stretch> stretches, std::byte* workspace, int64_t workspace_bytes, void*) override {
    const Row row(stretches);
    const int64_t room = workspace_bytes / 2 / static_cast<int64_t>(sizeof(float)) / size_ * size_;
    if (room == 0) throw RanksError("a reduction was planned without a workspace");
    float* const send = reinterpret_cast<float*>(workspace);
    float* const receive = reinterpret_cast<float*>(workspace + workspace_bytes / 2);
    for (int64_t first = 0; first < row.count(); first += room)
      add_up_piece(row, first, std::min(room, row.count() - first), send, receive);
  }

  void broadcast(void* data, int64_t bytes) override {
    const Pulse::Wait others(pulse_);
    constexpr int64_t kMost = int64_t{1} << 30;  // counts are int
    for (int64_t at = 0; at < bytes; at += kMost)
      check(MPI_Bcast(static_cast<std::byte*>(data) + at, static_cast<int>(std::min(kMost, bytes - at)), MPI_BYTE, 0,
                      MPI_COMM_WORLD),
            "MPI_Bcast");
  }

  void gather(const void* mine, int64_t bytes, void* all) override {
    MPI_Request request;
    check(MPI_Iallgather(mine, static_cast<int>(bytes), MPI_BYTE, all, static_cast<int>(bytes), MPI_BYTE,
                         MPI_COMM_WORLD, &request),
          "MPI_Iallgather");
    wait(request, "MPI_Iallgather", pulse_);
  }

  void leave() override {
    MPI_Request request;
    check(MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier");
    wait(request, "MPI_Ibarrier", pulse_);
    if (lifeline_) lifeline_->goodbye();
    check(MPI_Finalize(), "MPI_Finalize");
  }

 private:
  // Rank 0 opens a port, and tells the others by MPI.
  void hold_on(int64_t patience) {
    MPI_Comm machine;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine), "MPI_Comm_split_type");
    int here = 0, place = 0;
    MPI_Comm_size(machine, &here);
    MPI_Comm_rank(machine, &place);
    MPI_Comm_free(&machine);
    int alone = here == size_;  // all ranks are on one machine; all ranks must agree on this
    check(MPI_Bcast(&alone, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
    char host[256] = "127.0.0.1";
    if (!alone) gethostname(host, sizeof host - 1);
    Door door;
    if (rank_ == 0) door = open_door(0, !alone);
    broadcast(host, sizeof host);
    broadcast(&door.port, sizeof door.port);
    lifeline_.emplace(Lifeline::Rank{.number = rank_, .first_here = place == 0}, meet(rank_, size_, host, door), pulse_,
                      patience);
  }

  void add_up_piece(const Row& row, int64_t first, int64_t count, float* send, float* receive) {
    const int64_t part = (count + size_ - 1) / size_;
    row.take(first, count, send);
    std::fill(send + count, send + part * size_, 0.0F);
    MPI_Request request;
    check(MPI_Ialltoall(send, static_cast<int>(part), MPI_FLOAT, receive, static_cast<int>(part), MPI_FLOAT,
                        MPI_COMM_WORLD, &request),
          "MPI_Ialltoall");
    wait(request, "MPI_Ialltoall", pulse_);
    std::memcpy(send, receive, static_cast<size_t>(part) * sizeof(float));
    for (int64_t rank = 1; rank < size_; ++rank)
      for (int64_t i = 0; i < part; ++i) send[i] += receive[rank * part + i];
    check(MPI_Iallgather(send, static_cast<int>(part), MPI_FLOAT, receive, static_cast<int>(part), MPI_FLOAT,
                         MPI_COMM_WORLD, &request),
          "MPI_Iallgather");
    wait(request, "MPI_Iallgather", pulse_);
    row.put(first, count, receive);
  }

  std::optional<Lifeline> lifeline_;
};

}  // namespace

std::unique_ptr<Ranks> join_by_mpi(int64_t ranks, int64_t patience) { return std::make_unique<ByMpi>(ranks, patience); }

}  // namespace plimsoll::dist
