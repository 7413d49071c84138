#include "compiler/check/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <limits>
#include <map>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>

namespace plimsoll {
namespace {

// Claims in the order in which they begin.
using Claims = std::span<const Claim* const>;

// A handover that is not allowed: the indices of the later claim and of an earlier owner of its bytes.
using Wrong = std::pair<size_t, size_t>;

// Whether one claim may take bytes of another one.
class Order {
 public:
  Order(const Plan& plan, const HappensBefore& before, bool host) : plan_(plan), before_(before), host_(host) {}

  bool allows(const Claim& earlier, const Claim& later) const {
    return !earlier.forever && !earlier.to_the_end && !unordered(earlier, later);
  }

  // An access of each of them, the first not before the second.
  std::optional<std::pair<StepId, StepId>> unordered(const Claim& earlier, const Claim& later) const {
    for (StepId a : earlier.last) {
      if (!a.valid()) continue;
      for (StepId b : later.first)
        if (b.valid() && !before_(a, b) && !(a == b && in_place(earlier, later, a))) return std::pair(a, b);
    }
    return std::nullopt;
  }

 private:
  // The step reads one tensor for the last time, and its task may write the other over it, at the same offset only:
  // otherwise a kernel could overwrite elements that it has not read yet.
  bool in_place(const Claim& read, const Claim& written, StepId step) const {
    if (host_ || plan_.steps[step].kind != StepKind::compute) return false;
    if (read.block.offset != written.block.offset || written.block.bytes > read.block.bytes) return false;
    const auto& pairs = plan_.tasks[plan_.steps[step].task].in_place;
    return std::find(pairs.begin(), pairs.end(), Task::InPlace{read.tensor, written.tensor}) != pairs.end();
  }

  const Plan& plan_;
  const HappensBefore& before_;
  const bool host_;
};

// Finds the handovers of the bytes [begin, end) that are not allowed, in order.
class Handovers {
 public:
  Handovers(const Order& order, int64_t begin, int64_t end) : order_(order), begin_(begin), end_(end) {}

  std::vector<Wrong> run(Claims claims) {
    std::vector<Wrong> wrong;
    for (size_t i = 0; i < claims.size(); ++i) {
      const int64_t begin = std::max(begin_, claims[i]->block.offset), end = std::min(end_, claims[i]->block.end());
      if (begin >= end) continue;
      take(i, begin, end);
      for (const size_t earlier : owners_)
        if (!order_.allows(*claims[earlier], *claims[i])) wrong.emplace_back(i, earlier);
    }
    return wrong;
  }

 private:
  struct Range {
    int64_t end = 0;
    size_t owner = 0;  // index of a claim
  };

  // Assigns the bytes to this claim. owners_ are then their previous owners, each once.
  void take(size_t claim, int64_t begin, int64_t end) {
    cut(begin);
    cut(end);
    owners_.clear();
    auto at = ranges_.lower_bound(begin);
    while (at != ranges_.end() && at->first < end) {
      owners_.push_back(at->second.owner);
      at = ranges_.erase(at);
    }
    std::sort(owners_.begin(), owners_.end());
    owners_.erase(std::unique(owners_.begin(), owners_.end()), owners_.end());
    ranges_.emplace_hint(at, begin, Range{end, claim});
  }

  void cut(int64_t offset) {
    auto after = ranges_.upper_bound(offset);
    if (after == ranges_.begin()) return;
    auto at = std::prev(after);
    if (at->first == offset || at->second.end <= offset) return;
    ranges_[offset] = at->second;
    at->second.end = offset;
  }

  const Order& order_;
  const int64_t begin_, end_;
  std::pmr::unsynchronized_pool_resource nodes_;   // of the map: every claim adds and removes some
  std::pmr::map<int64_t, Range> ranges_{&nodes_};  // by offset; disjoint
  std::vector<size_t> owners_;
};

// An offset with about as many claims below it as above.
int64_t middle_of(Claims claims) {
  constexpr size_t kSamples = 1024;
  std::vector<int64_t> offsets;
  for (size_t i = 0; i < claims.size(); i += 1 + claims.size() / kSamples) offsets.push_back(claims[i]->block.offset);
  const auto middle = offsets.begin() + static_cast<std::ptrdiff_t>(offsets.size() / 2);
  std::nth_element(offsets.begin(), middle, offsets.end());
  return offsets.empty() ? 0 : *middle;
}

std::vector<Wrong> wrong_handovers(const Order& order, Claims claims, int threads) {
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  if (threads < 2) return Handovers(order, 0, kEnd).run(claims);
  const int64_t middle = middle_of(claims);
  auto below = std::async(std::launch::async, [&] { return Handovers(order, 0, middle).run(claims); });
  std::vector<Wrong> wrong = Handovers(order, middle, kEnd).run(claims);
  for (const Wrong& each : below.get()) wrong.push_back(each);
  std::sort(wrong.begin(), wrong.end());
  wrong.erase(std::unique(wrong.begin(), wrong.end()), wrong.end());
  return wrong;
}

class Reports {
 public:
  Reports(const Order& order, bool host, Verdict& verdict) : order_(order), host_(host), verdict_(verdict) {}

  void refuse(const Claim& earlier, const Claim& later) {
    if (!earlier.forever && !earlier.to_the_end) {
      const auto [a, b] = order_.unordered(earlier, later).value();
      return report(earlier, later, a, b);
    }
    verdict_.refuse(!earlier.forever ? Rule::result
                    : host_          ? Rule::host_slot
                                     : Rule::overlap,
                    step_of(later), later.tensor,
                    fmt::format("{} and {} share {}, but {} holds them {}", described(earlier), described(later),
                                shared(earlier, later), described(earlier),
                                earlier.forever ? "for the whole run" : "until the round ends"));
  }

 private:
  void report(const Claim& earlier, const Claim& later, StepId a, StepId b) {
    const std::string where = shared(earlier, later);
    std::string message;
    if (a == b)
      message = fmt::format("{} uses {} for {} and for {} at the same time", verdict_.name(a), where,
                            described(earlier), described(later));
    else if (a < b)
      message = fmt::format("{} uses {} for {} but does not wait for {}, which uses them for {}", verdict_.name(b),
                            where, described(later), verdict_.name(a), described(earlier));
    else
      message = fmt::format("{} uses {} for {} while they still hold {}, which {} needs", verdict_.name(b), where,
                            described(later), described(earlier), verdict_.name(a));
    verdict_.refuse(host_ ? Rule::host_slot : Rule::overlap, b, later.tensor, std::move(message));
  }

  std::string shared(const Claim& a, const Claim& b) const {
    return fmt::format("bytes {}[{:#x}, {:#x})", host_ ? "of the host pool " : "",
                       std::max(a.block.offset, b.block.offset), std::min(a.block.end(), b.block.end()));
  }
  static StepId step_of(const Claim& claim) { return claim.from >= 0 ? StepId(claim.from) : StepId{}; }
  std::string described(const Claim& claim) const {
    return claim.tensor.valid() ? verdict_.name(claim.tensor) : "the workspace of " + verdict_.name(step_of(claim));
  }

  const Order& order_;
  const bool host_;
  Verdict& verdict_;
};

// Stable: claims that begin at the same step keep their order.
std::vector<const Claim*> sorted_by_beginning(const Plan& plan, std::vector<const Claim*> claims) {
  const auto steps = static_cast<int64_t>(plan.steps.size());
  const auto is_outside = [&](const Claim* claim) { return claim->from < -1 || claim->from >= steps; };
  if (std::ranges::any_of(claims, is_outside)) {  // of a damaged plan
    std::ranges::stable_sort(claims, {}, &Claim::from);
    return claims;
  }
  // next[k]: where the next claim goes that begins at step k - 1.
  std::vector<size_t> next(plan.steps.size() + 2);
  for (const Claim* claim : claims) ++next[static_cast<size_t>(claim->from + 2)];
  for (size_t k = 1; k < next.size(); ++k) next[k] += next[k - 1];
  std::vector<const Claim*> sorted(claims.size());
  for (const Claim* claim : claims) sorted[next[static_cast<size_t>(claim->from + 1)]++] = claim;
  return sorted;
}

}  // namespace

void check_handovers(const Plan& plan, const HappensBefore& before, std::vector<const Claim*> claims, bool host,
                     int threads, Verdict& verdict) {
  const std::vector<const Claim*> sorted = sorted_by_beginning(plan, std::move(claims));
  const Order order(plan, before, host);
  Reports reports(order, host, verdict);
  for (const auto& [later, earlier] : wrong_handovers(order, sorted, threads))
    reports.refuse(*sorted[earlier], *sorted[later]);
}

}  // namespace plimsoll
