// Typed ids: a TaskId cannot index tensors.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/support/status.h"

namespace plimsoll {

template <class Tag>
struct Id {
  int32_t value = -1;

  constexpr Id() = default;
  constexpr explicit Id(int64_t v) : value(narrow(v)) {}
  constexpr bool valid() const { return value >= 0; }
  constexpr explicit operator bool() const { return valid(); }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  // A number of more than 32 bits would become the id of something else.
  static constexpr int32_t narrow(int64_t v) {
    const auto narrowed = static_cast<int32_t>(v);
    if (narrowed != v) internal_error(__FILE__, __LINE__, "an id of " + std::to_string(v) + " needs more than 32 bits");
    return narrowed;
  }
};

using ValueId = Id<struct ValueTag>;    // of a Network
using NodeId = Id<struct NodeTag>;      // of a Network
using TensorId = Id<struct TensorTag>;  // of a TaskGraph and of its plans
using TaskId = Id<struct TaskTag>;      // of a TaskGraph and of its plans
using StepId = Id<struct StepTag>;      // of a Plan

// A vector indexed by one kind of id.
template <class IdType, class T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(size_t n, const T& fill = T{}) : items_(n, fill) {}

  IdType push_back(T item) {
    items_.push_back(std::move(item));
    return IdType(static_cast<int64_t>(items_.size()) - 1);
  }
  typename std::vector<T>::reference operator[](IdType id) { return items_[static_cast<size_t>(id.value)]; }
  typename std::vector<T>::const_reference operator[](IdType id) const { return items_[static_cast<size_t>(id.value)]; }
  bool contains(IdType id) const { return id.value >= 0 && static_cast<size_t>(id.value) < items_.size(); }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void resize(size_t n) { items_.resize(n); }
  void reserve(size_t n) { items_.reserve(n); }
  // Erases the items whose ids `gone` is true for; those that follow move up.
  template <class Gone>
  void erase_if(Gone&& gone) {
    size_t kept = 0;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (gone(IdType(static_cast<int64_t>(i)))) continue;
      if (kept != i) items_[kept] = std::move(items_[i]);
      ++kept;
    }
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(kept), items_.end());
  }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  T& back() { return items_.back(); }
  const T& back() const { return items_.back(); }
  friend bool operator==(const IdVector&, const IdVector&) = default;

 private:
  std::vector<T> items_;
};

// An IdVector that its copies have in common until one of them is changed, which edit() says: it copies all items
// first if another copy has them, too. Copies may be used and changed on different threads.
template <class IdType, class T>
class SharedIdVector {
 public:
  const T& operator[](IdType id) const { return items()[id]; }
  bool contains(IdType id) const { return items().contains(id); }
  size_t size() const { return items().size(); }
  bool empty() const { return items().empty(); }
  auto begin() const { return items().begin(); }
  auto end() const { return items().end(); }
  const T& back() const { return items().back(); }

  IdVector<IdType, T>& edit() {
    if (!items_) items_ = std::make_shared<IdVector<IdType, T>>();
    else if (items_.use_count() > 1) items_ = std::make_shared<IdVector<IdType, T>>(*items_);
    return *items_;
  }
  T& edit(IdType id) { return edit()[id]; }
  IdType push_back(T item) { return edit().push_back(std::move(item)); }
  void reserve(size_t n) { edit().reserve(n); }

 private:
  const IdVector<IdType, T>& items() const {
    static const IdVector<IdType, T> none;
    return items_ ? *items_ : none;
  }

  std::shared_ptr<IdVector<IdType, T>> items_ = nullptr;
};

// for (TaskId task : ids_of(graph.tasks)) …
template <template <class, class> class Items, class IdType, class T>
std::vector<IdType> ids_of(const Items<IdType, T>& items) {
  std::vector<IdType> ids;
  ids.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) ids.push_back(IdType(static_cast<int64_t>(i)));
  return ids;
}

}  // namespace plimsoll

template <class Tag>
struct std::hash<plimsoll::Id<Tag>> {
  size_t operator()(plimsoll::Id<Tag> id) const noexcept { return std::hash<int32_t>{}(id.value); }
};
