// A list of at most N items for use in constant tables: no allocation, no work before main.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>

namespace plimsoll {

template <class T, size_t N>
class FixedList {
 public:
  constexpr FixedList() = default;
  constexpr FixedList(std::initializer_list<T> items) : size_(items.size()) {  // more than N items do not compile
    size_t i = 0;
    for (const T& item : items) items_.at(i++) = item;
  }

  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T& operator[](size_t i) const { return items_.at(i); }
  constexpr const T* begin() const { return items_.data(); }
  constexpr const T* end() const { return items_.data() + size_; }

 private:
  std::array<T, N> items_ = {};
  size_t size_ = 0;
};

}  // namespace plimsoll
