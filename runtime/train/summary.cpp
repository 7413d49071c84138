#include "runtime/train/summary.h"

#include <algorithm>
#include <cstdio>

#include "runtime/backend.h"
#include "runtime/train/counted.h"
#include "runtime/train/reporter.h"

namespace plimsoll::train {

namespace {

// ", 5.4 MiB of it for optimizer state that resides there,"
std::string homes_in_pool(const Program& program) {
  int64_t weights = 0, states = 0;
  for (const ProgramParameter& parameter : program.parameters)
    if (parameter.in_host_pool) (parameter.role == ParameterRole::state ? states : weights) += parameter.desc.bytes();
  if (weights + states == 0) return "";
  const char* const what = weights == 0  ? "optimizer state that resides"
                           : states == 0 ? "weights that reside"
                                         : "weights and optimizer state that reside";
  char text[128];
  const bool small = weights + states < 1 << 20;
  std::snprintf(text, sizeof text, ", %.1f %s of it for %s there,", mebibytes(weights + states) * (small ? 1024 : 1),
                small ? "KiB" : "MiB", what);
  return text;
}

}  // namespace

void print_start(const Program& program, const Dataset& data, int64_t iterations_per_epoch, const std::string& spill) {
  const std::string on = program.threads > 0 ? counted(program.threads, "thread") : backend::device_name();
  const std::string ranks = program.ranks > 1 ? " on " + std::to_string(program.ranks) + " ranks" : "";
  std::printf("%s: batch %lld%s in %s of %lld, %s%s, %s\n", program.model, static_cast<long long>(program.batch),
              ranks.c_str(), counted(program.rounds, "round").c_str(),
              static_cast<long long>(program.sub_batch * program.ranks), on.c_str(), program.ranks > 1 ? " each" : "",
              backend::library_version().c_str());
  std::printf("data %s: %s, %s an epoch, %s left over\n", data.name.c_str(), counted(data.samples, "sample").c_str(),
              counted(iterations_per_epoch, "iteration").c_str(),
              counted(std::max<int64_t>(0, data.samples - iterations_per_epoch * program.batch), "sample").c_str());
  std::printf("planned arena %.1f MiB (%lld bytes), %.1f MiB of it for the whole run", mebibytes(program.arena_bytes),
              static_cast<long long>(program.arena_bytes), mebibytes(program.persistent_bytes));
  if (program.budget_bytes > 0) std::printf(", budget %.1f MiB", mebibytes(program.budget_bytes));
  std::printf("\n");
  const std::string libraries = backend::library_version();
  if (*program.libraries != '\0' && program.libraries != libraries)
    std::printf("planned with %s; workspaces of what is here are held to the plan\n", program.libraries);
  if (program.host_pool_bytes > 0)
    std::printf("host pool %.1f MiB (%lld bytes)%s %s%s\n", mebibytes(program.host_pool_bytes),
                static_cast<long long>(program.host_pool_bytes), homes_in_pool(program).c_str(),
                spill.empty() ? "in memory" : "in a file in ", spill.c_str());
}

std::string replaced_kernels(const std::vector<KernelSet::Replaced>& replaced) {
  if (replaced.empty()) return "";
  constexpr size_t kNamed = 4;
  std::string text =
      "warning: " + counted(static_cast<int64_t>(replaced.size()), "kernel") + (replaced.size() == 1 ? " is" : " are") +
      " not as planned, because this machine's library has other algorithms. The other ones fit the planned memory:";
  for (size_t i = 0; i < std::min(replaced.size(), kNamed); ++i)
    text += "\n  " + replaced[i].layers + ": " + (replaced[i].planned.empty() ? "the default" : replaced[i].planned) +
            " -> " + replaced[i].taken + "\n    " + replaced[i].why;
  if (replaced.size() > kNamed) text += "\n  and " + std::to_string(replaced.size() - kNamed) + " more";
  return text + "\ncompile the model on this machine to plan with its algorithms";
}

void print_end(const Program& program, int64_t allocated_bytes, double median_seconds, double reduce_seconds) {
  std::printf("arena planned %lld bytes, allocated %lld; peak resident memory of the process %.1f MiB\n",
              static_cast<long long>(program.arena_bytes), static_cast<long long>(allocated_bytes),
              mebibytes(peak_resident_bytes()));
  if (median_seconds <= 0) return;
  std::printf("iteration measured %.3f ms (median)", 1e3 * median_seconds);
  if (program.predicted_seconds > 0)
    std::printf(", predicted %.3f ms (%s), %+.1f%%", 1e3 * program.predicted_seconds, program.predicted_by,
                100 * (median_seconds / program.predicted_seconds - 1));
  std::printf("\n");
  if (reduce_seconds > 0)
    std::printf("of it reductions over ranks %.3f ms, including waiting for the slowest; predicted %.3f ms\n",
                1e3 * reduce_seconds, 1e3 * program.predicted_reduce_seconds);
}

std::string revalidated(const Program& program, const KernelSet::AsPlanned& as_planned) {
  const std::string here = backend::library_version();
  const std::string libraries = here == program.libraries ? "on " + here + ", which the plan was made with"
                                : *program.libraries == '\0'
                                    ? "on " + here
                                    : "with " + std::string(program.libraries) + ", on " + here;
  char workspace[96];
  std::snprintf(workspace, sizeof workspace, "; the largest workspace planned is %lld bytes, of which %lld are needed",
                static_cast<long long>(as_planned.planned_bytes), static_cast<long long>(as_planned.needed_bytes));
  return "revalidated: " + counted(as_planned.kernels, "kernel") + " as planned " + libraries + workspace;
}

// The measurement includes other processes on the device.
std::string DeviceUse::warmed_up(int64_t arena_bytes) {
  warm_ = backend::device_memory();
  const int64_t taken = start_->free - warm_->free - arena_bytes;
  if (taken <= slack_) return "";
  char text[384];
  std::snprintf(
      text, sizeof text,
      "warning: %.1f MiB of device memory are used besides the arena since the start, by libraries, graphs or "
      "other processes: more than the slack of %.1f MiB. A device that the plan fills would not have them. "
      "`plimsoll compile --process-budget` leaves room for them, --slack allows more",
      mebibytes(taken), mebibytes(slack_));
  return text;
}

std::string DeviceUse::ended(int64_t arena_bytes) {
  if (!start_) return "";
  if (!warm_) return warmed_up(arena_bytes);
  const int64_t taken = warm_->free - backend::device_memory()->free;
  if (taken <= slack_) return "";
  char text[256];
  std::snprintf(
      text, sizeof text,
      "warning: %.1f MiB of device memory were taken since iteration %lld, more than the slack of %.1f MiB. The "
      "trainer allocates nothing then: a library or another process took them",
      mebibytes(taken), static_cast<long long>(kWarm + 1), mebibytes(slack_));
  return text;
}

void DeviceUse::print(int64_t arena_bytes) const {
  const std::optional<backend::DeviceMemory> end = backend::device_memory();
  if (!start_ || !end) return;
  std::printf(
      "device memory besides the arena %.1f MiB since the start, by libraries and graphs, of a slack of %.1f MiB; %.1f "
      "MiB of %.1f MiB free",
      mebibytes(start_->free - end->free - arena_bytes), mebibytes(slack_), mebibytes(end->free),
      mebibytes(end->total));
  if (warm_ && warm_->free > end->free)
    std::printf("; %.1f MiB of it since iteration %lld", mebibytes(warm_->free - end->free),
                static_cast<long long>(kWarm + 1));
  std::printf("\n");
}

std::string best_in_words(const Best& best, Metric metric) {
  char value[64];
  const bool by_accuracy = metric == Metric::accuracy;
  std::snprintf(value, sizeof value, by_accuracy ? "accuracy %.2f %%" : "loss %.6g",
                best.value() * (by_accuracy ? 100 : 1));
  return "best evaluation after " + counted(best.iteration, "iteration") + ", " + value;
}

}  // namespace plimsoll::train
