#include "compiler/check/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory_resource>
#include <span>

namespace plimsoll {
namespace {

class Handovers {
 public:
  Handovers(const Plan& plan, const HappensBefore& before, bool host, Verdict& verdict)
      : plan_(plan), before_(before), host_(host), verdict_(verdict) {}

  // In the order in which they begin.
  void run(std::span<const Claim* const> claims) {
    for (size_t i = 0; i < claims.size(); ++i) {
      if (claims[i]->block.bytes == 0) continue;
      take(i, claims[i]->block);
      for (const size_t earlier : owners_) compare(*claims[earlier], *claims[i]);
    }
  }

 private:
  struct Range {
    int64_t end = 0;
    size_t owner = 0;  // index of a claim
  };

  // Assigns the bytes to this claim. owners_ are then their previous owners, each once.
  void take(size_t claim, const Block& block) {
    const int64_t begin = block.offset, end = block.end();
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

  void compare(const Claim& earlier, const Claim& later) {
    if (earlier.forever || earlier.to_the_end) {
      verdict_.refuse(!earlier.forever ? Rule::result
                      : host_          ? Rule::host_slot
                                       : Rule::overlap,
                      step_of(later), later.tensor,
                      fmt::format("{} and {} share {}, but {} holds them {}", described(earlier), described(later),
                                  shared(earlier, later), described(earlier),
                                  earlier.forever ? "for the whole run" : "until the round ends"));
      return;
    }
    for (StepId a : earlier.last) {
      if (!a.valid()) continue;
      for (StepId b : later.first) {
        if (!b.valid() || before_(a, b) || (a == b && in_place(earlier, later, a))) continue;
        report(earlier, later, a, b);
        return;
      }
    }
  }

  // The step reads one tensor for the last time, and its task may write the other over it, at the same offset only:
  // otherwise a kernel could overwrite elements that it has not read yet.
  bool in_place(const Claim& read, const Claim& written, StepId step) const {
    if (host_ || plan_.steps[step].kind != StepKind::compute) return false;
    if (read.block.offset != written.block.offset || written.block.bytes > read.block.bytes) return false;
    const auto& pairs = plan_.tasks[plan_.steps[step].task].in_place;
    return std::find(pairs.begin(), pairs.end(), Task::InPlace{read.tensor, written.tensor}) != pairs.end();
  }

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

  const Plan& plan_;
  const HappensBefore& before_;
  const bool host_;
  Verdict& verdict_;
  std::pmr::unsynchronized_pool_resource nodes_;   // of the map: every claim adds and removes some
  std::pmr::map<int64_t, Range> ranges_{&nodes_};  // by offset; disjoint
  std::vector<size_t> owners_;
};

}  // namespace

void check_handovers(const Plan& plan, const HappensBefore& before, std::vector<const Claim*> claims, bool host,
                     Verdict& verdict) {
  std::ranges::stable_sort(claims, {}, &Claim::from);
  Handovers(plan, before, host, verdict).run(claims);
}

}  // namespace plimsoll
