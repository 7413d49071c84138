#include <catch2/catch.hpp>

#include <limits>
#include <thread>

#include "runtime/machine/subnormals.h"

using namespace plimsoll;

namespace {

volatile float smallest_normal = std::numeric_limits<float>::min();
volatile float half = 0.5F, eight = 8.0F;

float halved() { return smallest_normal * half; }
float multiplied() {
  volatile float subnormal = std::numeric_limits<float>::denorm_min();
  return subnormal * eight;
}

}  // namespace

// In a thread of its own, because other tests may run in this process.
TEST_CASE("a thread that flushes subnormal numbers, and those that it starts, compute 0 instead of them") {
  float own = -1, inherited = -1, read = -1;
  std::thread outer([&] {
    flush_subnormals();
    own = halved();
    std::thread([&] { inherited = halved(), read = multiplied(); }).join();
  });
  outer.join();
  CHECK(own == 0);
  CHECK(inherited == 0);
  CHECK(read == 0);
  CHECK(halved() > 0);
  CHECK(multiplied() > 0);
}
