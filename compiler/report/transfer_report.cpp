#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/names.h"
#include "compiler/report/figures.h"
#include "compiler/report/plan_report.h"
#include "compiler/report/table.h"
#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// A tensor's offload and its prefetches. An input that is loaded again counts, too: it is a copy that compute may wait
// for.
struct Transfer {
  TensorId tensor = {};
  double out = 0, back = 0;  // seconds on the link
  double away = 0;           // from the end of the offload to the start of the first prefetch
  double exposed = 0;
  int64_t copies = 0;
};

std::vector<Transfer> transfers_of(const Plan& plan, const PlanFacts& facts) {
  std::vector<Transfer> transfers;
  for (const TensorId id : ids_of(plan.tensors)) {
    Transfer transfer{.tensor = id};
    double left = 0;
    for (const StepId at : facts.tensors[id].touches) {
      const Step& step = plan.steps[at];
      if (step.kind == StepKind::compute || step.kind == StepKind::reduce) continue;
      ++transfer.copies;
      transfer.exposed += facts.exposed[at];
      (step.kind == StepKind::offload ? transfer.out : transfer.back) += step.end - step.start;
      if (step.kind == StepKind::offload) left = step.end;
      if (step.kind == StepKind::prefetch && transfer.away == 0) transfer.away = step.start - left;
    }
    if (transfer.copies > 0) transfers.push_back(transfer);
  }
  std::stable_sort(transfers.begin(), transfers.end(), [&](const Transfer& a, const Transfer& b) {
    if (a.exposed != b.exposed) return a.exposed > b.exposed;
    return plan.tensors[a.tensor].bytes > plan.tensors[b.tensor].bytes;
  });
  return transfers;
}

// A bucket by its name, and how long the compute stream waits for it.
struct Reduction {
  StepId step = {};
  int64_t bytes = 0;
};

}  // namespace

std::string report_reductions(const Plan& plan, const PlanFacts& facts, bool color, size_t most) {
  std::vector<Reduction> reductions;
  double seconds = 0, exposed = 0;
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    if (step.kind != StepKind::reduce) continue;
    Reduction reduction{.step = id};
    for (const TensorId tensor : step.bucket) reduction.bytes += plan.tensors[tensor].bytes;
    reductions.push_back(reduction);
    seconds += step.end - step.start;
    exposed += facts.exposed[id];
  }
  if (reductions.empty()) return "";
  std::stable_sort(reductions.begin(), reductions.end(), [&](const Reduction& a, const Reduction& b) {
    if (facts.exposed[a.step] != facts.exposed[b.step]) return facts.exposed[a.step] > facts.exposed[b.step];
    return a.bytes > b.bytes;
  });
  Table table(
      {{"bucket", false, 34}, {"tensors", true}, {"bytes", true}, {"from", true}, {"takes", true}, {"exposed", true}});
  for (size_t i = 0; i < std::min(most, reductions.size()); ++i) {
    const Step& step = plan.steps[reductions[i].step];
    table.row({spelled_tensor(plan.tensors[step.tensor].name), format_grouped(static_cast<int64_t>(step.bucket.size())),
               format_bytes(reductions[i].bytes), format_seconds(step.start), format_seconds(step.end - step.start),
               dashed(facts.exposed[reductions[i].step])});
  }
  std::string text =
      heading(fmt::format("reductions over {} ranks: {} of {}; the compute stream waits {}", plan.ranks,
                          format_seconds(seconds), counted(static_cast<int64_t>(reductions.size()), "bucket"),
                          format_seconds(exposed)),
              color);
  text += table.print(color);
  if (reductions.size() > most) text += fmt::format("  and {} more\n", reductions.size() - most);
  return text;
}

std::string report_transfers(const Plan& plan, const PlanFacts& facts, bool color, size_t most) {
  const std::vector<Transfer> transfers = transfers_of(plan, facts);
  if (transfers.empty()) return "";
  Table table({{"tensor", false, 34},
               {"bytes", true},
               {"out", true},
               {"away", true},
               {"back", true},
               {"exposed", true},
               {"share", true}});
  Transfer rest, sum;
  int64_t rest_bytes = 0;
  for (size_t i = 0; i < transfers.size(); ++i) {
    const Transfer& transfer = transfers[i];
    const double copying = transfer.out + transfer.back;
    sum.out += transfer.out;
    sum.back += transfer.back;
    sum.exposed += transfer.exposed;
    if (i < most) {
      table.row({spelled_tensor(plan.tensors[transfer.tensor].name), format_bytes(plan.tensors[transfer.tensor].bytes),
                 dashed(transfer.out), dashed(transfer.away), dashed(transfer.back), dashed(transfer.exposed),
                 copying > 0 ? format_share(transfer.exposed / copying) : ""});
      continue;
    }
    rest.exposed += transfer.exposed;
    rest_bytes += plan.tensors[transfer.tensor].bytes;
  }
  const double copying = sum.out + sum.back;
  std::string text =
      heading(fmt::format("copies of one round: {} out, {} back; the compute stream waits {}{}",
                          format_seconds(sum.out), format_seconds(sum.back), format_seconds(sum.exposed),
                          copying > 0 ? fmt::format(", {} of it", format_share(sum.exposed / copying)) : ""),
              color);
  text += table.print(color);
  if (transfers.size() > most)
    text += fmt::format("  and {} more, {}, non-overlapped {}\n", transfers.size() - most, format_bytes(rest_bytes),
                        format_seconds(rest.exposed));
  return text;
}

}  // namespace plimsoll
