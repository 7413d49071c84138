// Short lists, one per key, in one array: with hundreds of thousands of keys, a vector for each takes several times as
// long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace plimsoll {

// Key: an integer or a typed id. The items of a key keep their order.
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

  // The list of the next key.
  void add(std::span<const Item> items) {
    items_.insert(items_.end(), items.begin(), items.end());
    bounds_.push_back(static_cast<uint32_t>(items_.size()));
  }
  [[gnu::always_inline]] std::span<const Item> operator[](Key key) const { return joined(key, 1); }
  // The lists of `count` consecutive keys as one.
  [[gnu::always_inline]] std::span<const Item> joined(Key first, size_t count) const {
    const uint32_t begin = bounds_[at(first)], end = bounds_[at(first) + count];
    return {items_.data() + begin, end - begin};
  }

 private:
  static size_t at(Key key) {
    if constexpr (std::is_integral_v<Key>) return static_cast<size_t>(key);
    else return static_cast<size_t>(key.value);
  }

  std::vector<uint32_t> bounds_ = {0};
  std::vector<Item> items_ = {};
};

}  // namespace plimsoll
