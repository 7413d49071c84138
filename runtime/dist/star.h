// TCP connections of all ranks to rank 0, for small messages that must not wait for an engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::dist {

// The address of rank 0's listening socket.
struct Door {
  int listening = -1;  // a socket; only on rank 0
  int port = 0;
};

// A connection to another rank: rank 0 has one to each, in rank order; every other rank has one to rank 0.
struct Spoke {
  int64_t rank = 0;
  int socket = -1;
};

// Port 0: any. `beyond`: also accept connections from other machines. Throws RanksError.
Door open_door(int port, bool beyond);

// Call this on all ranks at once; it returns when every rank has connected, or throws RanksError after a minute. `host`
// is rank 0's name or address. Closes the listening socket.
std::vector<Spoke> meet(int64_t rank, int64_t size, const std::string& host, Door door);

// Sends everything; false: the connection is broken.
bool send_whole(int to, const void* data, size_t bytes);
bool receive_whole(int from, void* data, size_t bytes);

}  // namespace plimsoll::dist
