// The single allocation.
#include <catch2/catch.hpp>

#include <algorithm>

#include "runtime/backend.h"

using namespace plimsoll;

TEST_CASE("the arena is zero, aligned, and no larger than asked for but for the rest of a page") {
  for (const int64_t bytes :
       {int64_t{1}, int64_t{4096}, int64_t{4097}, (int64_t{2} << 20) - 1, (int64_t{5} << 20) + 300}) {
    const backend::Arena arena(bytes);
    CHECK(arena.bytes() == bytes);
    CHECK(arena.allocated_bytes() >= bytes);
    CHECK(arena.allocated_bytes() < bytes + 4096);
    CHECK(reinterpret_cast<uintptr_t>(arena.data()) % 256 == 0);
    CHECK(std::all_of(arena.data(), arena.data() + bytes, [](std::byte b) { return b == std::byte{0}; }));
    std::fill(arena.data(), arena.data() + arena.allocated_bytes(), std::byte{1});
  }
}
