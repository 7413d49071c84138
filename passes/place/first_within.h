// The items that a skyline has not placed yet, by the order in which it prefers them.
//
// ItemsByRank is the faster of the two where an order prefers many items that do not fit, as long lifetimes first.
// ItemsByBeginning counts the entries that it scans, and a search of a limited effort depends on that number.
// Private to passes/place/.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "passes/place/compact.h"

namespace plimsoll::placement {

inline constexpr uint32_t kNoRank = std::numeric_limits<uint32_t>::max();

// A tree over the ranks.
class ItemsByRank {
 public:
  explicit ItemsByRank(const Compact& problem) : problem_(problem) {}

  // All items, by this order of preference.
  void start(const std::vector<uint32_t>& order);
  // The lowest rank of an item that lives within [lower, upper); kNoRank: there is none.
  uint32_t first_within(int32_t lower, int32_t upper) const;
  void remove(uint32_t rank);
  int64_t scanned() const { return 0; }

 private:
  // Of the items in a subtree.
  struct Node {
    int32_t lower = -1, upper = std::numeric_limits<int32_t>::max();  // the latest beginning, the earliest end
    int32_t lifetime = std::numeric_limits<int32_t>::max();           // the shortest
    friend bool operator==(const Node&, const Node&) = default;
  };
  static Node either(const Node& a, const Node& b);

  const Compact& problem_;
  uint32_t leaves_ = 1;
  std::vector<Node> tree_ = {};  // 1 is the root
};

// The same by a tree over the beginnings.
class ItemsByBeginning {
 public:
  explicit ItemsByBeginning(const Compact& problem);

  void start(const std::vector<uint32_t>& order);  // which must outlive its use here
  uint32_t first_within(int32_t lower, int32_t upper);
  void remove(uint32_t rank);
  int64_t scanned() const { return scanned_; }

 private:
  struct Node {
    uint32_t rank;  // the lowest rank in this subtree
    int32_t upper;  // the earliest end in this subtree
  };
  static Node lowest_of(const Node& a, const Node& b);

  const Compact& problem_;
  const std::vector<uint32_t>* order_ = nullptr;
  std::vector<uint32_t> places_;    // items by beginning
  std::vector<uint32_t> place_of_;  // inverse of places_
  std::vector<uint32_t> first_at_;  // of each time: the first place whose item begins then or later
  uint32_t leaves_ = 1;
  std::vector<Node> tree_;  // over places; 1 is the root
  int64_t scanned_ = 0;
};

}  // namespace plimsoll::placement
