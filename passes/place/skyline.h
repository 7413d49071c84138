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
  struct Stretch {
    int32_t upper, before;  // its end, and the beginning of the stretch before it
    int64_t height;
  };

  // Of the items in a subtree: the latest beginning, the earliest end, the shortest lifetime.
  struct Node {
    int32_t lower = -1, upper = std::numeric_limits<int32_t>::max(), lifetime = std::numeric_limits<int32_t>::max();
    friend bool operator==(const Node&, const Node&) = default;
  };
  static Node either(const Node& a, const Node& b);

  Stretch& stretch_at(int32_t time) { return stretches_[static_cast<size_t>(time)]; }
  void start(const std::vector<uint32_t>& order);
  // The lowest rank of an item that lives within [lower, upper); kNoRank: there is none.
  uint32_t first_within(int32_t lower, int32_t upper);
  void remove(uint32_t rank);

  const Compact& problem_;
  std::vector<Stretch> stretches_;  // by beginning
  uint32_t leaves_ = 1;
  std::vector<Node> tree_;  // of items not placed yet, over their ranks; 1 is the root
  int64_t scanned_ = 0;
};

}  // namespace plimsoll::placement
