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
#include "passes/place/first_within.h"

namespace plimsoll::placement {

// `Items` finds the item of a stretch: first_within.h has two such classes. The result is the same with either.
template <class Items>
class Skyline {
 public:
  explicit Skyline(const Compact& problem);

  // Places the items by this order of preference and returns their offsets. `order` contains every item once. Stops as
  // soon as an item reaches the height `below`; the result is then empty.
  std::vector<int64_t> fill(const std::vector<uint32_t>& order,
                            int64_t below = std::numeric_limits<int64_t>::max());
  // Entries scanned so far: a measure of effort that is the same on every machine.
  int64_t scanned() const { return scanned_ + items_.scanned(); }

 private:
  struct Stretch {
    int32_t upper, before;  // its end, and the beginning of the stretch before it
    int64_t height;
  };

  Stretch& stretch_at(int32_t time) { return stretches_[static_cast<size_t>(time)]; }

  const Compact& problem_;
  Items items_;
  std::vector<Stretch> stretches_; // by beginning
  int64_t scanned_ = 0;
};

}  // namespace plimsoll::placement
