#include <pthread.h>
#include <catch2/catch.hpp>

#include <random>

#include "passes/place/partial.h"
#include "passes/place/search.h"

namespace plimsoll::placement {
namespace {

Problem any_problem(std::mt19937& random, int buffers) {
  Problem problem;
  for (int i = 0; i < buffers; ++i) {
    const int64_t lower = static_cast<int64_t>(random() % 40);
    problem.buffers.push_back({std::to_string(i), lower, lower + 1 + static_cast<int64_t>(random() % 15),
                               1 + static_cast<int64_t>(random() % 4)});
  }
  return problem;
}

// All that a search reads of the items of a range.
struct Seen {
  std::vector<uint32_t> order, below;
  std::vector<int64_t> floors, tops;
  friend bool operator==(const Seen&, const Seen&) = default;
};

Seen see(Partial& partial, Partial::Range range) {
  Seen seen;
  for (const uint32_t item : partial.items(range)) {
    seen.order.push_back(item);
    seen.below.push_back(partial.below(item));
    seen.floors.push_back(partial.floor_of(item));
  }
  REQUIRE(partial.pile(range, {0, partial.sections() - 1}));
  for (int32_t s = 0; s < partial.sections(); ++s) seen.tops.push_back(partial.top_at(s));
  return seen;
}

// The floor of an item by definition: no lower than the placed items that it meets.
int64_t floor_by_definition(const Compact& problem, const std::vector<int64_t>& offsets, uint32_t item) {
  int64_t floor = 0;
  for (uint32_t other = 0; other < problem.items.size(); ++other)
    if (offsets[other] >= 0 && problem.items[other].meets(problem.items[item]))
      floor = std::max(floor, offsets[other] + problem.items[other].size);
  return floor;
}

TEST_CASE("placements and refusals are undone, in any mixture") {
  std::mt19937 random(5);
  int returned = 0, forgotten = 0;  // times that the tops are as they were, and times that some are not
  for (int round = 0; round < 100; ++round) {
    const Compact problem = compact(any_problem(random, 3 + static_cast<int>(random() % 30)));
    Partial partial(problem, std::numeric_limits<int64_t>::max() / 2);
    partial.clear();
    struct Level {
      Partial::Range range;
      size_t mark;
      Seen seen;
    };
    std::vector<Level> levels;
    Partial::Range range = partial.everything().range;
    for (int step = 0; step < 200; ++step) {
      if (!levels.empty() && (random() % 3 == 0 || range.empty())) {
        const size_t back = random() % levels.size();
        range = levels[back].range;
        const Partial::Span lost = partial.undo(range, levels[back].mark, false);
        bool as_before = true;
        for (int32_t s = 0; s < partial.sections(); ++s)
          as_before &= lost.meets({s, s}) || partial.top_at(s) == levels[back].seen.tops[static_cast<size_t>(s)];
        REQUIRE(as_before);
        (lost.last < 0 ? returned : forgotten) += 1;
        REQUIRE(see(partial, range) == levels[back].seen);
        levels.resize(back);
        continue;
      }
      if (range.empty()) break;
      levels.push_back({range, partial.mark(), see(partial, range)});
      const uint32_t item = partial.items(range)[random() % range.size()];
      if (random() % 3 == 0) {
        const int64_t floor = partial.floor_of(item);
        // An item may be refused only where it is the lowest that is left, as a search does.
        if (item != partial.items(range).front() || !partial.refuse(range, item)) levels.pop_back();
        else CHECK(partial.floor_of(item) > floor);
      } else {
        range = partial.place(range, item).rest;
      }
    }
  }
  CHECK(returned > 100);
  CHECK(forgotten > 100);
}

TEST_CASE("without refusals, a floor is the highest top among the placed items that an item meets") {
  std::mt19937 random(6);
  for (int round = 0; round < 50; ++round) {
    const Compact problem = compact(any_problem(random, 25));
    Partial partial(problem, std::numeric_limits<int64_t>::max() / 2);
    partial.clear();
    std::vector<int64_t> offsets(problem.items.size(), -1);
    Partial::Range range = partial.everything().range;
    while (!range.empty()) {
      const uint32_t item = partial.items(range)[random() % range.size()];
      offsets[item] = partial.floor_of(item);
      range = partial.place(range, item).rest;
      for (const uint32_t other : partial.items(range))
        REQUIRE(partial.floor_of(other) == floor_by_definition(problem, offsets, other));
    }
    CHECK(partial.offsets() == offsets);
  }
}

// A search that called itself once per buffer needed some megabytes of stack here.
TEST_CASE("the search of a long chain needs no stack of its depth") {
  struct Search {
    bool found = false;
    static void* run(void* self) {
      Problem problem;
      for (int i = 0; i < 20'000; ++i) problem.buffers.push_back({std::to_string(i), i, i + 2, 1 + i % 3});
      int64_t nodes = 100'000;
      static_cast<Search*>(self)->found = search(compact(problem), 5, nodes).has_value();
      return nullptr;
    }
  } depth;
  pthread_attr_t attributes;
  pthread_t thread;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  REQUIRE(pthread_create(&thread, &attributes, Search::run, &depth) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  CHECK(depth.found);
}

}  // namespace
}  // namespace plimsoll::placement
