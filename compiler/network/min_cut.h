// The cheapest assignment of one of two labels to each item, with prices for labels and for disagreeing pairs, computed
// as a minimum cut.
//
//   a label has a price            source ──price of B──► i ──price of A──► sink        A: the source's side of the cut
//   A before B has a price         i ──price──► j                                       paid if i is A and j is B
//
// Sources: Dinic, "Algorithm for solution of a problem of maximum flow in networks with power estimation", 1970 (the
// algorithm); Picard, Ratliff, "Minimum cuts and related problems", 1975 (pairwise labels as cuts).
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
  // Paid if `a` is labelled A and `b` is labelled B. kNever forbids it.
  void add_disagreement(size_t a, size_t b, int64_t price);

  // By item: whether it is B. Among cheapest assignments, the one with the fewest items B.
  std::vector<bool> cheapest();

 private:
  // One direction of an edge; edge ^ 1 is the other.
  struct Edge {
    size_t to;
    int64_t capacity;
  };
  static constexpr size_t kSource = 0, kSink = 1, kFirst = 2;

  void edge(size_t from, size_t to, int64_t capacity);
  bool find_levels();
  void push_flow();

  std::vector<Edge> edges_;
  std::vector<std::vector<size_t>> of_ = std::vector<std::vector<size_t>>(kFirst);  // outgoing edges by node
  std::vector<int32_t> level_;
};

}  // namespace plimsoll
