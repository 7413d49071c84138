// The costs of tasks: one entry per distinct task and number of samples, with every algorithm that the backend offers.
// They come from a profiler of the runtime (tasks.json → profile.json) or from a device model. Each figure states its
// source, and a modelled figure is never reported as measured.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct AlgorithmCost {
  std::string name;
  int64_t workspace_bytes = 0;
  double seconds = 0;
  bool deterministic = true;
  bool tf32 = false;               // multiplies in TF32 instead of f32
  int64_t order = 0;  // rank in the backend's preference; decides between algorithms that cannot be measured
  double spread_seconds = 0;       // half the interquartile range of the runs; `seconds` is their median
  bool time_measured = false;      // false: modelled
  bool disturbed = false;  // other processes used the processors during the measurement: too long, and never cached
  bool workspace_exact = false;    // false: modelled
};

// The key of a profile. Tasks with the same signature are the same work: kernel, attributes, concrete operands.
//   "ConvForward{pads=[1,1,1,1]} read f32[8,3,32,32] read f32[16,3,3,3] absent write f32[8,16,32,32]"
std::string signature(const Task& task, int64_t samples);

struct Profile {
  std::string device;
  std::map<std::string, std::string> libraries = {};
  int64_t threads = 0;                                          // host: number of threads that the costs refer to
  std::map<std::string, std::vector<AlgorithmCost>> costs = {};  // by signature; fastest first, never empty
};

// Cost of a reduction over n ranks: the latency, plus the transfer of 2 (n - 1) / n of the reduced bytes in each
// direction.
struct RankLink {
  double bytes_per_second = 2e9;   // per rank and direction
  double latency_seconds = 50e-6;  // of any reduction, however small
  // Size of each of the two buffers through which the host's ranks exchange pieces of a bucket; 0: the engine has its
  // own.
  int64_t staging_bytes = int64_t{1} << 20;
};

// Cost of copies between the device and the host pool, per direction, with both directions in use.
struct LinkRates {
  double d2h_bytes_per_second = 10e9;
  double h2d_bytes_per_second = 10e9;
  double latency_seconds = 0;  // of any copy, however small
  // Slowdown of overlapping tasks, because a copy uses the device's memory: 0.1 costs them a tenth of the copy's time.
  double slowdown = 0;
  RankLink ranks = {};
};

// The source of costs during planning. Policies try several sub-batches, so costs are requested on demand.
class Costs {
 public:
  virtual ~Costs() = default;
  // Afterwards algorithms() answers for every task of the graph at `samples`.
  virtual Status prepare(const TaskGraph& graph, int64_t samples) = 0;
  // Announces that prepare() will be called for these numbers of samples, so that a profiler starts once for all of
  // them. Does nothing if measures(). Errors are those of prepare().
  virtual Status expect(const TaskGraph& /*graph*/, std::span<const int64_t> /*samples*/) { return {}; }
  // Fastest first, never empty.
  virtual std::span<const AlgorithmCost> algorithms(const Task& task, int64_t samples) const = 0;
  virtual LinkRates links() const { return {}; }
  // True if prepare() may run tasks on a device; then request only what is needed.
  virtual bool measures() const { return false; }
  // True if algorithms with results that vary between runs are acceptable.
  virtual bool admits_nondeterministic() const { return false; }
};

}  // namespace plimsoll
