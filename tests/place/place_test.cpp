#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include "passes/place/csv.h"
#include "passes/place/search.h"
#include "passes/place/solve.h"
#include "tools/bench/placement/greedy.h"
#include "tools/bench/placement/traces.h"

namespace plimsoll::placement {
namespace {

constexpr Greedy kGreedy[] = {Greedy::by_size, Greedy::by_area, Greedy::by_lifetime, Greedy::best_fit};

//  12 +-----+
//     |  c  |
//   8 +--+--+--+
//     |  b  | d|        d begins when b ends: lifetimes are half-open
//   4 +-----+--+--+
//     |     a     |
//   0 +-----------+
//     0  1  2  3  4
TEST_CASE("what does not meet in time shares bytes") {
  const Problem problem{{{"a", 0, 4, 4}, {"b", 0, 2, 4}, {"c", 0, 2, 4}, {"d", 2, 4, 4}}};
  CHECK(lower_bound(problem) == 12);
  const Solution solution = solve(problem);
  CHECK(validate(problem, solution).ok());
  CHECK(solution.height == 12);
}

// An example from minimalloc, which fits 12.
//
//  12 +--+-----+-----------+
//     |b1|  b2 |           |
//   8 +--+-----+    b4     |
//     |   b3   |           |
//   4 +--------+-----------+
//     |         b5         |
//   0 +--------------------+
//     0  3     9           21
TEST_CASE("lifetimes that follow each other share a row") {
  const Problem problem{{{"b1", 0, 3, 4}, {"b2", 3, 9, 4}, {"b3", 0, 9, 4}, {"b4", 9, 21, 4}, {"b5", 0, 21, 4}}};
  const Solution solution = solve(problem);
  CHECK(validate(problem, solution).ok());
  CHECK(solution.height == 12);
}

TEST_CASE("no buffers, and buffers of no bytes") {
  CHECK(solve({}).height == 0);
  const Problem nothing{{{"a", 0, 4, 0}, {"b", 2, 3, 0}}};
  const Solution solution = solve(nothing);
  CHECK(solution.height == 0);
  CHECK(validate(nothing, solution).ok());
}

TEST_CASE("the validator names what overlaps, and what lies outside") {
  const Problem problem{{{"a", 0, 2, 4}, {"b", 1, 3, 4}}};
  CHECK(validate(problem, {{0, 4}, 8}).ok());
  CHECK(validate(problem, {{0, 3}, 8}).error().message ==
        "buffer b at [3, 7) in [1, 3) overlaps buffer a at [0, 4) in [0, 2)");
  CHECK(validate(problem, {{4, 0}, 8}).ok());
  CHECK(validate(problem, {{3, 0}, 8}).error().message ==
        "buffer b at [0, 4) in [1, 3) overlaps buffer a at [3, 7) in [0, 2)");
  CHECK(validate(problem, {{0, 0}, 8}).error().message ==
        "buffer b at [0, 4) in [1, 3) overlaps buffer a at [0, 4) in [0, 2)");
  CHECK(validate(problem, {{0, 5}, 8}).error().message == "buffer b at [5, 9) in [1, 3) lies outside [0, 8)");
  CHECK(!validate(problem, {{0, -1}, 8}).ok());
  CHECK(validate(problem, {{0}, 8}).error().message == "1 offsets for 2 buffers");
  const Problem apart{{{"a", 0, 2, 4}, {"b", 2, 3, 4}}};
  CHECK(validate(apart, {{0, 0}, 4}).ok());
}

// Nested lifetimes, like a chain's activations, plus short-lived gradients on top.
Problem nested(int layers, std::mt19937& random) {
  Problem problem;
  for (int i = 0; i < layers; ++i) {
    const int64_t size = 256 * (1 + static_cast<int64_t>(random() % 1000));
    problem.buffers.push_back({"y" + std::to_string(i), i, 2 * layers - i, size});
    problem.buffers.push_back({"dy" + std::to_string(i), 2 * layers - i - 1, 2 * layers - i + 1, size});
  }
  return problem;
}

TEST_CASE("nested lifetimes pile up to within a few per cent of the bound, fifty thousand of them in moments") {
  std::mt19937 random(7);
  for (const int layers : {5, 50, 500, 25000}) {
    const Problem problem = nested(layers, random);
    const Solution solution = solve(problem);
    REQUIRE(validate(problem, solution).ok());
    CHECK(static_cast<double>(solution.height) <= 1.05 * static_cast<double>(lower_bound(problem)));
  }
}

TEST_CASE("many buffers may be filled by their beginnings first, few are filled as always") {
  std::mt19937 random(7);
  for (const int many : {500, 12000}) {
    Problem problem;
    for (int i = 0; i < many; ++i) {
      const auto lower = static_cast<int64_t>(random() % 1000), lifetime = 1 + static_cast<int64_t>(random() % 100);
      problem.buffers.push_back({std::to_string(i), lower, lower + lifetime, 256});
    }
    Effort effort = kProbe;
    effort.capacity = 256 * many;  // so the first order is taken
    const Solution by_lifetime = solve(problem, effort);
    effort.by_beginning = true;
    const Solution by_beginning = solve(problem, effort);
    REQUIRE(validate(problem, by_beginning).ok());
    CHECK((by_beginning.offsets == by_lifetime.offsets) == (many == 500));
  }
}

TEST_CASE("random problems are solved validly and alike each time") {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    Problem problem;
    const int many = 1 + static_cast<int>(random() % 60);
    for (int i = 0; i < many; ++i) {
      const int64_t lower = static_cast<int64_t>(random() % 30) - 10;
      problem.buffers.push_back({std::to_string(i), lower, lower + 1 + static_cast<int64_t>(random() % 12),
                                 static_cast<int64_t>(random() % 9)});
    }
    const int64_t bound = lower_bound(problem);
    const Solution solution = solve(problem);
    REQUIRE(validate(problem, solution).ok());
    CHECK(solution.height >= bound);
    CHECK(solve(problem).offsets == solution.offsets);
    for (const Greedy greedy : kGreedy) {
      const Solution other = place_greedily(problem, greedy);
      REQUIRE(validate(problem, other).ok());
      CHECK(solution.height <= other.height);
    }
  }
}

std::string content(const std::string& name) {
  std::ifstream file(std::string(PLIMSOLL_TEST_DIR) + "/minimalloc/" + name + ".1048576.csv");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The eleven problems of minimalloc's "challenging" set; each fits 1048576. A plan stops earlier: these are the heights
// that the quick effort reaches; they may only decrease.
TEST_CASE("the challenging problems of minimalloc") {
  const auto [name, height] = GENERATE(table<std::string, int64_t>({{"A", 1086464},
                                                                  {"B", 1048576},
                                                                  {"C", 1039360},
                                                                  {"D", 1068032},
                                                                  {"E", 1147904},
                                                                  {"F", 1175552},
                                                                  {"G", 1149952},
                                                                  {"H", 1048576},
                                                                  {"I", 1103872},
                                                                  {"J", 1054720},
                                                                  {"K", 1048576}}));
  CAPTURE(name);
  const Result<Problem> problem = parse_csv(content(name));
  REQUIRE(problem.ok());
  const Solution solution = solve(*problem);
  CHECK(validate(*problem, solution).ok());
  CHECK(solution.height <= height);
}

// Greedy orders exceed the capacity by a third.
TEST_CASE("at their capacity the search solves all eleven, in half a million placements") {
  const std::string name = GENERATE("A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K");
  CAPTURE(name);
  const Result<Problem> problem = parse_csv(content(name));
  REQUIRE(problem.ok());
  const Solution solution = solve(*problem, {.scans = 0, .nodes = 500'000, .capacity = 1048576});
  CHECK(validate(*problem, solution).ok());
  CHECK(solution.height <= 1048576);
}

// Whether any placement fits the capacity, by brute force: buffers in the order of their offsets, each as low as the
// earlier ones allow. `tops` is -1 for unplaced buffers.
bool fits(const Problem& problem, int64_t capacity, std::vector<int64_t>& tops, int64_t last) {
  bool all = true;
  for (size_t i = 0; i < tops.size(); ++i) {
    if (tops[i] >= 0) continue;
    all = false;
    const Buffer& buffer = problem.buffers[i];
    int64_t floor = 0;
    for (size_t k = 0; k < tops.size(); ++k)
      if (tops[k] >= 0 && problem.buffers[k].lower < buffer.upper && buffer.lower < problem.buffers[k].upper)
        floor = std::max(floor, tops[k]);
    if (floor < last || floor + buffer.size > capacity) continue;
    tops[i] = floor + buffer.size;
    if (fits(problem, capacity, tops, floor)) return true;
    tops[i] = -1;
  }
  return all;
}

// Full at all times: a buffer that ends is replaced by the same number of bytes, divided differently.
Problem full(int buffers, int64_t capacity, std::mt19937& random) {
  Problem problem;
  std::vector<size_t> live;
  int64_t time = 0;
  const auto cut = [&](int64_t bytes) {
    while (bytes > 0) {
      const int64_t size = 1 + static_cast<int64_t>(random()) % std::min(bytes, capacity / 2);
      live.push_back(problem.buffers.size());
      problem.buffers.push_back({std::to_string(live.back()), time, 0, size});
      bytes -= size;
    }
  };
  cut(capacity);
  while (static_cast<int>(problem.buffers.size()) < buffers) {
    ++time;
    int64_t freed = 0;
    for (size_t k = live.size(); k-- > 0;) {
      if (random() % 3 != 0) continue;
      problem.buffers[live[k]].upper = time;
      freed += problem.buffers[live[k]].size;
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(k));
    }
    cut(freed);
  }
  for (const size_t i : live) problem.buffers[i].upper = time + 1;
  return problem;
}

TEST_CASE("the search finds what there is where no byte is to spare") {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const Problem problem = full(10, 6 + round % 3 * 3, random);
    const int64_t bound = lower_bound(problem);
    std::vector<int64_t> tops(problem.buffers.size(), -1);
    const bool there_is_one = fits(problem, bound, tops, 0);
    const Solution solution = solve(problem, {.scans = 0, .nodes = 20'000});
    CHECK(validate(problem, solution).ok());
    CHECK((solution.height == bound) == there_is_one);
    // The search alone, because greedy orders may have found a solution before it.
    int64_t nodes = 20'000;
    CHECK(search(compact(problem), bound, nodes).has_value() == there_is_one);
    nodes = 20'000;
    CHECK(!search(compact(problem), bound - 1, nodes).has_value());
  }
}

TEST_CASE("what plans make of a budget is placed near its live bytes, and never above a greedy order") {
  const int layers = GENERATE(20, 60, 120);
  const double share = GENERATE(0.5, 0.25);
  const std::vector<Traced> tensors = trace_tensors(layers, 5);
  for (const bool tight : {false, true}) {
    CAPTURE(layers, share, tight);
    const Problem problem = tight ? make_tight(tensors, share) : make_planned(tensors, share, 5);
    const Solution solution = solve(problem);
    REQUIRE(validate(problem, solution).ok());
    for (const Greedy greedy : kGreedy) CHECK(solution.height <= place_greedily(problem, greedy).height);
    CHECK(static_cast<double>(solution.height) <= (tight ? 1.2 : 1.02) * static_cast<double>(lower_bound(problem)));
  }
}

TEST_CASE("a file is read, solved and written") {
  const Result<Problem> problem = parse_csv("size,id,upper,lower\r\n4,a,2,0\r\n\r\n4, b ,3,1\n");
  REQUIRE(problem.ok());
  CHECK(problem->buffers[1].id == "b");
  const Solution solution = solve(*problem);
  const std::string text = to_csv(*problem, solution);
  CHECK(text == "id,lower,upper,size,offset\na,0,2,4,0\nb,1,3,4,4\n");
  const Result<Problem> again = parse_csv(text);
  REQUIRE(again.ok());
  CHECK(to_csv(*again, solution) == text);
}

TEST_CASE("a bad file is refused with the line") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"", "line 1: the file is empty; a header is id,lower,upper,size[,offset]"},
      {"id,lower,upper\n", "line 1: missing column 'size'; a header is id,lower,upper,size[,offset]"},
      {"id,lower,upper,size,color\n", "line 1: unknown column 'color'; a header is id,lower,upper,size[,offset]"},
      {"id,lower,upper,size,id\n", "line 1: duplicate column 'id'"},
      {"id,lower,upper,size\na,0,1\n", "line 2: 3 fields, but the header has 4"},
      {"id,lower,upper,size\na,0,1,x\n", "line 2: size 'x' is not a 64-bit integer"},
      {"id,lower,upper,size\na,0,1,\n", "line 2: size '' is not a 64-bit integer"},
      {"id,lower,upper,size\na,0,1,99999999999999999999\n",
       "line 2: size '99999999999999999999' is not a 64-bit integer"},
      {"id,lower,upper,size\na,0,1,2\na,0,1,2\n", "line 3: duplicate buffer 'a'"},
      {"id,lower,upper,size\na,1,1,2\n", "buffer a lives in [1, 1), which is empty"},
      {"id,lower,upper,size\na,0,1,-2\n", "buffer a has size -2"},
      {"id,lower,upper,size\na,0,1,4611686018427387904\nb,0,1,1\n",
       "the sizes up to buffer b sum to more than 2^62 bytes"},
  }));
  const Result<Problem> problem = parse_csv(text);
  REQUIRE(!problem.ok());
  CHECK(problem.error().code == ExitCode::unreadable_input);
  CHECK(problem.error().message == message);
}

}  // namespace
}  // namespace plimsoll::placement
