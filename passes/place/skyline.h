// The best-fit skyline heuristic: Burke, Kendall and Whitwell, "A New Placement Heuristic for the Orthogonal
// Stock-Cutting Problem" (2004), and Sekiyama et al., "Profile-guided memory optimization for deep neural networks"
// (2018).
// Private to passes/place/.
//
//        +---+     +--+        The skyline is the height reached at each time. The lowest stretch takes the first item
//     +--+ y |     |z |        of the order that lives within it. If there is none, the stretch is raised to the lower
//     |x |   +-----+  |        of its neighbours, and the space below is lost.
//     +--+      ↑  +--+
//             lowest
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "passes/place/compact.h"

namespace plimsoll::placement {

class Skyline {
 public:
  explicit Skyline(const Compact& problem);

  // Places the items by this order of preference and returns their offsets. `order` contains every item once. Stops as
  // soon as an item reaches the height `below`; the result is then empty.
  std::vector<int64_t> fill(const std::vector<uint32_t>& order,
                            int64_t below = std::numeric_limits<int64_t>::max());
  // Entries scanned so far: a measure of effort that is the same on every machine.
  int64_t scanned() const { return scanned_; }

 private:
  struct Node {
    uint32_t rank;  // the lowest rank in this subtree
    int32_t upper;  // the earliest end in this subtree
  };
  struct Stretch {
    int32_t upper, before;  // its end, and the beginning of the stretch before it
    int64_t height;
  };

  static Node lowest_of(const Node& a, const Node& b);
  Stretch& stretch_at(int32_t time) { return stretches_[at(time)]; }
  void remove(uint32_t place);
  uint32_t first_within(int32_t lower, int32_t upper);

  const Compact& problem_;
  std::vector<uint32_t> place_of_; // of each item: its place in the order of the beginnings
  std::vector<uint32_t> first_at_; // of each time: the first place whose item begins then or later
  uint32_t leaves_ = 1;
  std::vector<Node> tree_;         // over places; 1 is the root
  std::vector<Stretch> stretches_; // by beginning
  int64_t scanned_ = 0;
};

}  // namespace plimsoll::placement
