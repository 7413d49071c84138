// Learning-rate schedules; tests/e2e/optimizers.sh compares them with PyTorch's.
#include <catch2/catch.hpp>

#include "runtime/train/schedule.h"

using namespace plimsoll::train;

TEST_CASE("schedules begin with the warm-up, run as their kind says, and end where they shall") {
  Schedule constant{.rate = 0.5};
  CHECK(rate_at(constant, 0) == 0.5);
  CHECK(rate_at(constant, 1000000) == 0.5);
  constant.warmup = 4;
  CHECK(rate_at(constant, 0) == 0.125);
  CHECK(rate_at(constant, 2) == 0.375);
  CHECK(rate_at(constant, 3) == 0.5);
  CHECK(rate_at(constant, 4) == 0.5);

  const Schedule step{.kind = ScheduleKind::step, .rate = 1, .warmup = 2, .every = 3, .gamma = 0.5};
  CHECK(rate_at(step, 2) == 1);
  CHECK(rate_at(step, 4) == 1);
  CHECK(rate_at(step, 5) == 0.5);
  CHECK(rate_at(step, 8) == 0.25);

  for (const ScheduleKind kind : {ScheduleKind::cosine, ScheduleKind::linear}) {
    const Schedule down{.kind = kind, .rate = 1, .warmup = 10, .least = 0.2, .iterations = 110};
    CHECK(rate_at(down, 9) == 1);
    CHECK(rate_at(down, 10) == 1);
    CHECK(rate_at(down, 60) == Approx(0.6));
    CHECK(rate_at(down, 110) == Approx(0.2));
    for (int64_t i = 10; i < 109; ++i) CHECK(rate_at(down, i) > rate_at(down, i + 1));
  }
  // A run that consists only of warm-up does not divide by zero.
  CHECK(rate_at({.kind = ScheduleKind::cosine, .rate = 1, .warmup = 5, .iterations = 5}, 4) == 1);
}

TEST_CASE("schedules that give other rates are told apart") {
  const Schedule all{.kind = ScheduleKind::cosine, .rate = 0.1, .warmup = 5, .least = 0.01, .iterations = 100};
  Schedule other = all;
  CHECK(describe(all) == describe(other));
  other.iterations = 101;
  CHECK(describe(all) != describe(other));
  other = all, other.least = 0.02;
  CHECK(describe(all) != describe(other));
  other = all, other.kind = ScheduleKind::linear;
  CHECK(describe(all) != describe(other));
  CHECK(describe({.rate = 0.1}) != describe({.rate = 0.1, .warmup = 1}));
  CHECK(describe({.kind = ScheduleKind::step, .every = 2}) != describe({.kind = ScheduleKind::step, .every = 3}));
}
