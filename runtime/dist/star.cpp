#include "runtime/dist/star.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "runtime/dist/ranks.h"

namespace plimsoll::dist {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};
constexpr int32_t kGreeting = 0x506c696d;  // "Plim"

struct Hello {
  int32_t greeting = kGreeting, rank = 0;
};

[[noreturn]] void fail(const std::string& call) {
  throw RanksError("ranks do not find each other: " + call + ": " + std::strerror(errno));
}

void without_delay(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// A machine that does not respond would block a caller for minutes.
int try_to_connect(const std::string& host, int port) {
  addrinfo wish{}, *found = nullptr;
  wish.ai_family = AF_INET;
  wish.ai_socktype = SOCK_STREAM;
  if (const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wish, &found); failed != 0)
    throw RanksError("ranks do not find each other: '" + host + "': " + gai_strerror(failed));
  int connected = -1;
  for (const addrinfo* each = found; each && connected < 0; each = each->ai_next) {
    connected = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval soon{.tv_sec = 5, .tv_usec = 0};
    setsockopt(connected, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
    if (connected < 0 || connect(connected, each->ai_addr, each->ai_addrlen) == 0) continue;
    const int why = errno == EINPROGRESS ? ETIMEDOUT : errno;
    close(connected);
    connected = -1;
    errno = why;
  }
  freeaddrinfo(found);
  return connected;
}

// Rank 0 may start later.
Spoke knock(int64_t rank, const std::string& host, int port) {
  const Clock::time_point until = Clock::now() + kPatience;
  int connected;
  while ((connected = try_to_connect(host, port)) < 0) {
    if (Clock::now() > until) fail("connect to " + host + ", port " + std::to_string(port));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  without_delay(connected);
  const timeval never{};
  setsockopt(connected, SOL_SOCKET, SO_SNDTIMEO, &never, sizeof never);
  const Hello hello{.rank = static_cast<int32_t>(rank)};
  if (!send_whole(connected, &hello, sizeof hello)) fail("send");
  return {0, connected};
}

std::vector<Spoke> receive_all(int64_t size, int listening) {
  std::vector<Spoke> spokes;
  const Clock::time_point until = Clock::now() + kPatience;
  while (static_cast<int64_t>(spokes.size()) < size - 1) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd waiting{.fd = listening, .events = POLLIN, .revents = 0};
    if (left <= 0 || poll(&waiting, 1, static_cast<int>(left)) == 0)
      throw RanksError("only " + std::to_string(spokes.size() + 1) + " of " + std::to_string(size) +
                       " ranks have come");
    const int socket = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    // An unknown client may never send anything.
    const timeval soon{.tv_sec = 5, .tv_usec = 0};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
    Hello hello{.greeting = 0};
    const bool told = receive_whole(socket, &hello, sizeof hello) && hello.greeting == kGreeting && hello.rank >= 1 &&
                      hello.rank < size;
    const bool known =
        std::any_of(spokes.begin(), spokes.end(), [&](const Spoke& spoke) { return spoke.rank == hello.rank; });
    if (!told || known) {
      close(socket);
      continue;
    }
    const timeval never{};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &never, sizeof never);
    without_delay(socket);
    spokes.push_back({hello.rank, socket});
  }
  std::sort(spokes.begin(), spokes.end(), [](const Spoke& a, const Spoke& b) { return a.rank < b.rank; });
  return spokes;
}

}  // namespace

Door open_door(int port, bool beyond) {
  Door door{.listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .port = port};
  if (door.listening < 0) fail("socket");
  const int again = 1;  // the port may have been used by a previous run
  setsockopt(door.listening, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(beyond ? INADDR_ANY : INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (bind(door.listening, reinterpret_cast<sockaddr*>(&address), length) != 0)
    fail("bind to port " + std::to_string(port));
  if (listen(door.listening, SOMAXCONN) != 0) fail("listen");
  if (getsockname(door.listening, reinterpret_cast<sockaddr*>(&address), &length) != 0) fail("getsockname");
  door.port = ntohs(address.sin_port);
  return door;
}

std::vector<Spoke> meet(int64_t rank, int64_t size, const std::string& host, Door door) {
  if (rank > 0) return {knock(rank, host, door.port)};
  std::vector<Spoke> spokes = receive_all(size, door.listening);
  close(door.listening);
  return spokes;
}

bool send_whole(int to, const void* data, size_t bytes) {
  for (size_t sent = 0; sent < bytes;) {
    const ssize_t now = send(to, static_cast<const char*>(data) + sent, bytes - sent, MSG_NOSIGNAL);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return false;
    sent += static_cast<size_t>(now);
  }
  return true;
}

bool receive_whole(int from, void* data, size_t bytes) {
  for (size_t had = 0; had < bytes;) {
    const ssize_t now = recv(from, static_cast<char*>(data) + had, bytes - had, 0);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return false;
    had += static_cast<size_t>(now);
  }
  return true;
}

}  // namespace plimsoll::dist
