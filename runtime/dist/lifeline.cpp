#include "runtime/dist/lifeline.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace plimsoll::dist {
namespace {

using Clock = std::chrono::steady_clock;

// Ticks, not the clock: whoever was stopped himself has not been waiting.
constexpr std::chrono::milliseconds kTick{1000};
// A rank that ends with an error often is not the only one, and the others say the same themselves.
constexpr int kEndingTicks = 3;

enum : int { kBeat = 1, kEnding, kGoodbye, kLost };

}  // namespace

// One byte order: ranks run one and the same program.
struct Lifeline::Message {
  int32_t kind = 0, rank = 0;
  int64_t iteration = 0;
};

Lifeline::Lifeline(int64_t rank, const std::vector<Spoke>& spokes, int64_t patience) : rank_(rank), patience_(patience) {
  for (const Spoke& spoke : spokes) peers_.push_back({.rank = spoke.rank, .socket = spoke.socket});
  thread_ = std::thread([this] { serve(); });
}

Lifeline::~Lifeline() {
  if (!friendly_) {
    leaving_ = true;
    thread_.join();
    for (Peer& peer : peers_) say(peer, kEnding, rank_, iteration_);
  }
  for (const Peer& peer : peers_) close(peer.socket);
}

void Lifeline::goodbye() {
  friendly_ = true;
  leaving_ = true;
  thread_.join();
  for (Peer& peer : peers_) {
    say(peer, kGoodbye, rank_, iteration_);
    shutdown(peer.socket, SHUT_WR);
  }
  // To close a connection that still holds something to be heard would tear it, and take the goodbye with it.
  for (Peer& peer : peers_) {
    const timeval soon{.tv_sec = 2, .tv_usec = 0};
    setsockopt(peer.socket, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
    for (char heard[256]; recv(peer.socket, heard, sizeof heard, 0) > 0;) {}
  }
}

void Lifeline::say(Peer& peer, int kind, int64_t rank, int64_t iteration) {
  const Message message{.kind = kind, .rank = static_cast<int32_t>(rank), .iteration = iteration};
  // A connection that is broken tells so when it is listened to.
  [[maybe_unused]] const ssize_t sent = send(peer.socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Lifeline::serve() {
  std::vector<pollfd> waiting(peers_.size());
  Clock::time_point next = Clock::now() + kTick;
  while (!leaving_) {
    for (size_t i = 0; i < peers_.size(); ++i)
      waiting[i] = {.fd = peers_[i].gone ? -1 : peers_[i].socket, .events = POLLIN, .revents = 0};
    constexpr int kLook = 100;  // milliseconds, at whether this rank leaves
    poll(waiting.data(), waiting.size(), kLook);
    for (size_t i = 0; i < peers_.size(); ++i)
      if (waiting[i].revents != 0) hear(peers_[i]);
    if (Clock::now() < next) continue;
    next = Clock::now() + kTick;
    tick();
  }
}

void Lifeline::tick() {
  for (Peer& peer : peers_) {
    if (peer.gone) continue;
    say(peer, kBeat, rank_, iteration_);
    if (++peer.silent > patience_ && patience_ > 0)
      lost(peer.rank, peer.iteration, "nothing was heard of it for " + std::to_string(patience_) + " s");
    if (peer.ending >= 0 && ++peer.ending > kEndingTicks) lost(peer.rank, peer.iteration, "it ended with an error");
  }
}

void Lifeline::hear(Peer& peer) {
  Message message;
  if (!receive_whole(peer.socket, &message, sizeof message)) {
    if (peer.ending < 0) lost(peer.rank, peer.iteration, "its process ended");
    pollfd nothing{};
    poll(&nothing, 0, 10);  // its end is known, and its grace runs
    return;
  }
  peer.silent = 0;
  switch (message.kind) {
    case kEnding:
      peer.iteration = message.iteration;
      peer.ending = 0;
      break;
    case kGoodbye: peer.gone = true; break;
    case kLost: lost(message.rank, message.iteration, ""); break;
    default: peer.iteration = message.iteration;
  }
}

// Rank 0 says it, or the first of the others where it is rank 0.
void Lifeline::lost(int64_t rank, int64_t iteration, const std::string& how) {
  iteration = std::max(iteration, iteration_.load());  // ranks go side by side, and this one knows its own
  for (Peer& peer : peers_)
    if (peer.rank != rank && !peer.gone) say(peer, kLost, rank, iteration);
  if (rank_ == (rank == 0 ? 1 : 0)) {
    const std::string when = iteration < 0 ? "before its first iteration" : "in iteration " + std::to_string(iteration);
    std::fprintf(stderr, "error: rank %lld is gone, %s%s%s; all others end\n", static_cast<long long>(rank), when.c_str(),
                 how.empty() ? "" : ": ", how.c_str());
  }
  _exit(kExitRankLost);
}

}  // namespace plimsoll::dist
