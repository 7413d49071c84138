#include "runtime/dist/meeting.h"

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "runtime/dist/ranks.h"

namespace plimsoll::dist {
namespace {

// A lost rank breaks this connection and the lifeline's. The lifeline knows which rank it is, and ends this process if
// it is given time to do so.
void whole(bool done, int64_t rank) {
  if (done) return;
  std::this_thread::sleep_for(std::chrono::seconds(6));
  throw RanksError("the connection to rank " + std::to_string(rank) + " is broken");
}

// Rank 0 may be addressed by any name.
bool beyond_this_machine(const Place& place) { return place.host != "127.0.0.1" && place.host != "localhost"; }

std::vector<Spoke> meet_at(const Place& place, int port) {
  if (place.size == 1) return {};
  Door door{.port = port};
  if (place.rank == 0) door = open_door(port, beyond_this_machine(place));
  return meet(place.rank, place.size, place.host, door);
}

}  // namespace

Meeting::Meeting(int64_t expected, const Place& place, Pulse& pulse, int64_t patience,
                 Lifeline::EngineFailure engine_failure)
    : place_(place), pulse_(pulse) {
  expect_ranks(expected, place.size, place.rank);
  spokes_ = meet_at(place, place.port);
  lifeline_.emplace(Lifeline::Rank{.number = place.rank, .first_here = place.local == 0}, meet_again(), pulse, patience,
                    std::move(engine_failure));
}

Meeting::~Meeting() {
  for (const Spoke& spoke : spokes_) close(spoke.socket);
}

void Meeting::broadcast(void* data, int64_t bytes) const {
  const Pulse::Wait wait(pulse_);
  for (const Spoke& spoke : spokes_)
    whole(place_.rank == 0 ? send_whole(spoke.socket, data, static_cast<size_t>(bytes))
                           : receive_whole(spoke.socket, data, static_cast<size_t>(bytes)),
          spoke.rank);
}

void Meeting::gather(const void* mine, int64_t bytes, void* all) const {
  const Pulse::Wait wait(pulse_);
  auto* const parts = static_cast<std::byte*>(all);
  std::memmove(parts + place_.rank * bytes, mine, static_cast<size_t>(bytes));
  for (const Spoke& spoke : spokes_) {
    if (place_.rank == 0)
      whole(receive_whole(spoke.socket, parts + spoke.rank * bytes, static_cast<size_t>(bytes)), spoke.rank);
    else whole(send_whole(spoke.socket, mine, static_cast<size_t>(bytes)), spoke.rank);
  }
  broadcast(all, bytes * place_.size);
}

void Meeting::collect(const void* mine, void* part, int64_t bytes, const std::function<void()>& each) const {
  const Pulse::Wait wait(pulse_);
  for (const Spoke& spoke : spokes_) {
    if (place_.rank == 0) {
      whole(receive_whole(spoke.socket, part, static_cast<size_t>(bytes)), spoke.rank);
      each();
    } else {
      whole(send_whole(spoke.socket, mine, static_cast<size_t>(bytes)), spoke.rank);
    }
  }
}

void Meeting::leave() {
  std::string all(static_cast<size_t>(place_.size), ' ');
  gather(" ", 1, all.data());
  lifeline_->goodbye();
}

// A separate set of connections, so that messages do not wait for a sum.
std::vector<Spoke> Meeting::meet_again() const {
  int port = 0;
  Door door;
  if (place_.rank == 0) {
    door = open_door(0, beyond_this_machine(place_));
    port = door.port;
  }
  broadcast(&port, sizeof port);
  door.port = port;
  return meet(place_.rank, place_.size, place_.host, door);
}

}  // namespace plimsoll::dist
