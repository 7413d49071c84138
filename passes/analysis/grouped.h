// Short lists, one per key, in one array: with hundreds of thousands of keys, a vector for each takes several times as
// long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace plimsoll {

// Key: a typed id. The items of a key keep their order.
template <class Key, class Item>
class Grouped {
 public:
  Grouped() = default;
  Grouped(size_t keys, std::span<const std::pair<Key, Item>> pairs) : bounds_(keys + 1, 0), items_(pairs.size()) {
    for (const auto& [key, item] : pairs) ++bounds_[at(key) + 1];
    std::partial_sum(bounds_.begin(), bounds_.end(), bounds_.begin());
    std::vector<uint32_t> next(bounds_.begin(), bounds_.end() - 1);
    for (const auto& [key, item] : pairs) items_[next[at(key)]++] = item;
  }

  std::span<const Item> operator[](Key key) const {
    return std::span(items_).subspan(bounds_[at(key)], bounds_[at(key) + 1] - bounds_[at(key)]);
  }

 private:
  static size_t at(Key key) { return static_cast<size_t>(key.value); }

  std::vector<uint32_t> bounds_ = {};
  std::vector<Item> items_ = {};
};

}  // namespace plimsoll
