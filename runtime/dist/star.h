// Connections of all ranks to rank 0, over TCP: for what is small and must not wait for an engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::dist {

// Where rank 0 can be reached.
struct Door {
  int listening = -1;  // a socket; rank 0 has it
  int port = 0;
};

// A connection to another rank: rank 0 has one to each, in the order of ranks; each other one to rank 0.
struct Spoke {
  int64_t rank = 0;
  int socket = -1;
};

// Port 0: any. `beyond`: also from other machines. Throws RanksError.
Door open_door(int port, bool beyond);

// By all ranks at once; returns when every rank has come, or throws RanksError after a minute. `host` is rank 0's name or
// address. The door is shut afterwards.
std::vector<Spoke> meet(int64_t rank, int64_t size, const std::string& host, Door door);

// All of it; false: the connection is broken.
bool send_whole(int to, const void* data, size_t bytes);
bool receive_whole(int from, void* data, size_t bytes);

}  // namespace plimsoll::dist
