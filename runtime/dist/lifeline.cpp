#include "runtime/dist/lifeline.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

namespace plimsoll::dist {
namespace {

using Clock = std::chrono::steady_clock;

// Ticks instead of clock time, because a rank that was stopped itself has not been waiting.
constexpr std::chrono::milliseconds kTick{1000};
// If a rank ends with an error, the others often end with the same error and report it themselves.
constexpr int kEndingTicks = 3;
// No rank is at fault: all wait for each other.
constexpr int64_t kNobody = -1;

}  // namespace

Lifeline::Lifeline(const Rank& rank, const std::vector<Spoke>& spokes, const Pulse& pulse, int64_t patience,
                   EngineFailure engine_failure)
    : rank_(rank), pulse_(pulse), patience_(patience), engine_failure_(std::move(engine_failure)) {
  for (const Spoke& spoke : spokes) peers_.push_back({.rank = spoke.rank, .socket = spoke.socket});
  thread_ = std::thread([this] { serve(); });
}

Lifeline::~Lifeline() {
  if (!friendly_) {
    leaving_ = true;
    thread_.join();
    for (const Peer& peer : peers_) say(peer, here(Kind::ending));
  }
  for (const Peer& peer : peers_) close(peer.socket);
}

void Lifeline::goodbye() {
  friendly_ = true;
  leaving_ = true;
  thread_.join();
  for (const Peer& peer : peers_) {
    say(peer, here(Kind::goodbye));
    shutdown(peer.socket, SHUT_WR);
  }
  // Closing a connection with unread data would reset it, and the goodbye would be lost.
  for (const Peer& peer : peers_) {
    const timeval soon{.tv_sec = 2, .tv_usec = 0};
    setsockopt(peer.socket, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
    for (char heard[256]; recv(peer.socket, heard, sizeof heard, 0) > 0;) {}
  }
}

Lifeline::Message Lifeline::here(Kind kind) const {
  return {.kind = kind,
          .rank = static_cast<int32_t>(rank_.number),
          .iteration = pulse_.iteration(),
          .beats = pulse_.beats(),
          .doing = pulse_.doing()};
}

void Lifeline::say(const Peer& peer, const Message& message) const {
  // A broken connection is detected when it is read.
  [[maybe_unused]] const ssize_t sent = send(peer.socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Lifeline::serve() {
  std::vector<pollfd> waiting(peers_.size());
  Clock::time_point next = Clock::now() + kTick;
  while (!leaving_) {
    for (size_t i = 0; i < peers_.size(); ++i)
      waiting[i] = {.fd = peers_[i].gone ? -1 : peers_[i].socket, .events = POLLIN, .revents = 0};
    constexpr int kLook = 100;  // milliseconds between checks whether this rank leaves
    poll(waiting.data(), waiting.size(), kLook);
    for (size_t i = 0; i < peers_.size(); ++i)
      if (waiting[i].revents != 0) hear(peers_[i]);
    if (Clock::now() < next) continue;
    next = Clock::now() + kTick;
    tick();
  }
}

void Lifeline::State::told(const Message& message) {
  const bool same = message.iteration >= 0 && message.beats == beats && message.doing == doing;
  unchanged = same ? unchanged + 1 : 0;
  iteration = message.iteration;
  beats = message.beats;
  doing = message.doing;
}

bool Lifeline::is_idle(const State& state, Pulse::Doing doing) const {
  return patience_ > 0 && state.doing == doing && state.unchanged >= patience_;
}

// Only rank 0 hears from all ranks.
bool Lifeline::all_wait() const {
  constexpr Pulse::Doing kWait = Pulse::Doing::wait_for_ranks;
  return rank_.number == 0 && is_idle(mine_, kWait) && std::all_of(peers_.begin(), peers_.end(), [&](const Peer& peer) {
           return !peer.gone && is_idle(peer.state, kWait);
         });
}

void Lifeline::tick() {
  const Message message = here(Kind::beat);
  mine_.told(message);
  for (Peer& peer : peers_) {
    if (peer.gone) continue;
    say(peer, message);
    if (++peer.silent > patience_ && patience_ > 0) lost(peer.rank, peer.state.iteration, How::silent, false);
    if (peer.ending >= 0 && ++peer.ending > kEndingTicks) lost(peer.rank, peer.state.iteration, How::failed, false);
  }
  if (all_wait()) lost(kNobody, mine_.iteration, How::all_wait, false);
  if (const std::string failure = engine_failure_ ? engine_failure_() : ""; !failure.empty()) {
    std::fprintf(stderr, "error: on rank %lld: %s\n", static_cast<long long>(rank_.number), failure.c_str());
    lost(rank_.number, mine_.iteration, How::engine_failed, false);
  }
}

void Lifeline::hear(Peer& peer) {
  Message message;
  if (!receive_whole(peer.socket, &message, sizeof message)) {
    if (peer.ending < 0) lost(peer.rank, peer.state.iteration, How::ended, false);
    pollfd nothing{};
    poll(&nothing, 0, 10);  // its end is known, and its grace period has started
    return;
  }
  peer.silent = 0;
  switch (message.kind) {
    case Kind::ending:
      peer.state.iteration = message.iteration;
      peer.ending = 0;
      break;
    case Kind::goodbye: peer.gone = true; break;
    case Kind::lost: lost(message.rank, message.iteration, message.how, true); break;
    case Kind::beat:
      peer.state.told(message);
      if (is_idle(peer.state, Pulse::Doing::work)) lost(peer.rank, peer.state.iteration, How::idle, false);
  }
}

// Rank 0 reports the loss, or rank 1 if rank 0 is lost. If rank 0 is on another machine, this machine may be cut off
// from all others, so its first rank reports what it knows.
void Lifeline::lost(int64_t rank, int64_t iteration, How how, bool told) {
  iteration = std::max(iteration, pulse_.iteration());  // ranks run in lockstep, and this one knows its own iteration
  Message message = here(Kind::lost);
  message.rank = static_cast<int32_t>(rank);
  message.iteration = iteration;
  message.how = how;
  // Includes the lost rank: it may be alive but stuck.
  for (const Peer& peer : peers_)
    if (!peer.gone) say(peer, message);
  if (rank_.number == (rank == 0 ? 1 : 0) || (rank == 0 && rank_.first_here && !told)) {
    const std::string who = rank == kNobody ? "no rank makes progress" : "rank " + std::to_string(rank) + " is lost";
    const std::string when = iteration < 0 ? "before its first iteration" : "in iteration " + std::to_string(iteration);
    const std::string seconds = " for " + std::to_string(patience_) + " s";
    const std::string why = how == How::ended    ? "its process ended"
                            : how == How::silent ? "nothing was heard from it" + seconds
                            : how == How::failed ? "it ended with an error"
                            : how == How::idle   ? "it is alive, but made no progress" + seconds
                            : how == How::engine_failed ? "the reduction over the ranks failed there"
                                                        : "all have waited for each other" + seconds;
    std::fprintf(stderr, "error: %s %s: %s; %s end\n", who.c_str(), when.c_str(), why.c_str(),
                 rank == kNobody ? "all" : "all others");
  }
  _exit(kExitRankLost);
}

}  // namespace plimsoll::dist
