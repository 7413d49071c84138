// Filling the lowest place first, after Burke, Kendall and Whitwell, "A New Placement Heuristic for the Orthogonal
// Stock-Cutting Problem" (2004), and Sekiyama et al., "Profile-guided memory optimization for deep neural networks" (2018).
// Private to passes/place/.
//
//        +---+     +--+        The skyline is the height reached at each time. The lowest stretch between two times
//     +--+ y |     |z |        takes the first of the order that lives within it; where nothing does, the stretch is
//     |x |   +-----+  |        raised to the lower of its neighbours, and what lies below is lost.
//     +--+      ↑  +--+
//             lowest
#pragma once

#include <cstdint>
#include <vector>

#include "passes/place/compact.h"

namespace plimsoll::placement {

class Skyline {
 public:
  explicit Skyline(const Compact& problem);

  // Offsets of the items when they are preferred in this order; `order` names every item once.
  std::vector<int64_t> fill(const std::vector<uint32_t>& order);
  // Entries looked at so far: the measure of effort, the same on every machine.
  int64_t scanned() const { return scanned_; }

 private:
  struct Node {
    uint32_t rank;  // the lowest below here
    int32_t upper;  // the least below here
  };
  struct Stretch {
    int32_t upper, before;  // where it ends, and where the stretch before it begins
    int64_t height;
  };

  void remove(uint32_t place);
  uint32_t first_within(int32_t lower, int32_t upper);
  void search(uint32_t node, uint32_t width_lower, uint32_t width_upper);

  const Compact& problem_;
  std::vector<uint32_t> places_;   // items by lower
  std::vector<uint32_t> place_of_; // of items
  std::vector<uint32_t> first_at_; // of times: the first place whose item begins there or later
  uint32_t leaves_ = 1;
  std::vector<Node> tree_;         // over places; 1 is the root
  std::vector<Stretch> stretches_; // by the time where they begin
  int64_t scanned_ = 0;
};

}  // namespace plimsoll::placement
