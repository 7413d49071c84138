// The cheapest way to give each of many things one of two labels, where things that disagree cost something: a minimum cut.
//
//   a label has its price          source ──price of B──► i ──price of A──► sink        A: the source's side of the cut
//   A before B has a price         i ──price──► j                                       paid where i is A and j is B
//
// Source: Dinic, "Algorithm for solution of a problem of maximum flow in networks with power estimation", 1970; that pairs of labels
// are cuts: Picard, Ratliff, "Minimum cuts and related problems", 1975.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll {

class TwoLabels {
 public:
  static constexpr int64_t kNever = int64_t{1} << 60;

  size_t add() { return add(0, 0); }
  size_t add(int64_t price_of_a, int64_t price_of_b);
  void add_prices(size_t thing, int64_t price_of_a, int64_t price_of_b);
  // Paid where `a` is labelled A and `b` B. kNever: that cannot be.
  void add_disagreement(size_t a, size_t b, int64_t price);

  // By thing: whether it is B. Of several cheapest ways the one with the fewest of B.
  std::vector<bool> cheapest();

 private:
  // Half of an edge, beside the other half: edge ^ 1 goes back.
  struct Edge {
    size_t to;
    int64_t capacity;
  };
  static constexpr size_t kSource = 0, kSink = 1, kFirst = 2;

  void edge(size_t from, size_t to, int64_t capacity);
  bool find_levels();
  void push_flow();

  std::vector<Edge> edges_;
  std::vector<std::vector<size_t>> of_ = std::vector<std::vector<size_t>>(kFirst);  // edges by where they begin
  std::vector<int32_t> level_;
};

}  // namespace plimsoll
