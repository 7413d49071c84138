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
    int32_t& times = times_[name];
    if (times++ == 0) continue;
    // The model itself may have a "dx/2".
    for (;; ++times) {
      texts_.push_back(fmt::format("{}/{}", name, times));
      if (times_.try_emplace(texts_.back(), 1).second) break;
      texts_.pop_back();
    }
    changes_.emplace_back(id, texts_.back());
  }
}

}  // namespace plimsoll
