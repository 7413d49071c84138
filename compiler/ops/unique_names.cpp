#include "compiler/ops/unique_names.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

// So long that starting a thread does not count, and so short that little is left to do at the end.
constexpr size_t kNamesOfBatch = 8192;

}  // namespace

void UniqueNames::add(int32_t id, std::string_view name) {
  open_.text += name;
  open_.names.emplace_back(id, open_.text.size());
  if (open_.names.size() < kNamesOfBatch) return;
  if (pending_.valid()) pending_.get();
  Batch full = std::exchange(open_, {});
  open_.text.reserve(full.text.size());
  open_.names.reserve(kNamesOfBatch);
  if (threads_ > 1)
    pending_ = std::async(std::launch::async, [this, batch = std::move(full)]() mutable { compare(std::move(batch)); });
  else compare(std::move(full));
}

std::vector<std::pair<int32_t, std::string>> UniqueNames::take_changes() {
  if (pending_.valid()) pending_.get();
  compare(std::exchange(open_, {}));
  return std::exchange(changes_, {});
}

void UniqueNames::compare(Batch batch) {
  texts_.push_back(std::move(batch.text));
  const std::string_view text = texts_.back();
  size_t begin = 0;
  for (const auto& [id, end] : batch.names) {
    const std::string_view name = text.substr(begin, end - begin);
    begin = end;
    const size_t entry = entry_of(name);
    if (taken_[entry].times++ == 0) continue;
    // The model itself may have a "dx/2".
    for (;; ++taken_[entry].times) {
      texts_.push_back(fmt::format("{}/{}", name, taken_[entry].times));
      int32_t& times = taken_[entry_of(texts_.back())].times;
      if (times == 0) {
        times = 1;
        break;
      }
      texts_.pop_back();
    }
    changes_.emplace_back(id, texts_.back());
  }
}

size_t UniqueNames::entry_of(std::string_view name) {
  if (2 * (taken_.size() + 1) > slots_.size()) grow();
  const size_t hash = std::hash<std::string_view>{}(name), mask = slots_.size() - 1;
  size_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const size_t entry = slots_[slot] - 1;
    if (taken_[entry].hash == hash && taken_[entry].name == name) return entry;
  }
  taken_.push_back({name, hash, 0});
  slots_[slot] = static_cast<uint32_t>(taken_.size());
  return taken_.size() - 1;
}

void UniqueNames::grow() {
  slots_.assign(slots_.empty() ? 1024 : 4 * slots_.size(), 0);
  for (size_t i = 0; i < taken_.size(); ++i) {
    size_t slot = taken_[i].hash & (slots_.size() - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<uint32_t>(i + 1);
  }
}

}  // namespace plimsoll
