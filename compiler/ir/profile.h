// What a task costs: one entry per distinct task and number of samples, with every algorithm the backend offers.
// Made by a profiler of the runtime world (tasks.json → profile.json), or by a device model; each figure says where it
// is from, and nothing modelled is ever reported as measured.
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
  bool tf32 = false;               // multiplies in TF32, not in f32
  int64_t order = 0;               // its place in the backend's preference: of what cannot be measured, the first is best
  double spread_seconds = 0;       // half of what lies between the quartiles of the runs that `seconds` is the median of
  bool time_measured = false;      // else modelled
  bool disturbed = false;          // measured while other processes used the processors: too long, and not to be kept
  bool workspace_exact = false;    // else modelled
};

// Two tasks with one signature are the same work: kernel, attributes, concrete operands. The key of a profile.
//   "ConvForward{pads=[1,1,1,1]} read f32[8,3,32,32] read f32[16,3,3,3] absent write f32[8,16,32,32]"
std::string signature(const Task& task, int64_t samples);

struct Profile {
  std::string device;
  std::map<std::string, std::string> libraries = {};
  int64_t threads = 0;                                          // host: what the figures hold for
  std::map<std::string, std::vector<AlgorithmCost>> costs = {};  // by signature; fastest first, never empty
};

// What a reduction over ranks costs: beside `latency`, each rank sends and receives 2 (n - 1) / n of the reduced bytes.
struct RankLink {
  double bytes_per_second = 2e9;   // of one rank, each way
  double latency_seconds = 50e-6;  // of any reduction, however small
  // Of each of the two buffers through which the host's ranks exchange pieces of a bucket; 0: the engine has its own.
  int64_t staging_bytes = int64_t{1} << 20;
};

// What copies between the device and the host pool cost, each way; both ways at once.
struct LinkRates {
  double d2h_bytes_per_second = 10e9;
  double h2d_bytes_per_second = 10e9;
  double latency_seconds = 0;  // of any copy, however small
  // What a copy takes from tasks that run beside it, by its use of the device's memory: 0.1 is a tenth of its own time.
  double slowdown = 0;
  RankLink ranks = {};
};

// The source of costs during planning. Policies try several sub-batches, so costs are asked for as they are needed.
class Costs {
 public:
  virtual ~Costs() = default;
  // Beyond this call algorithms() answers for every task of the graph at `samples`.
  virtual Status prepare(const TaskGraph& graph, int64_t samples) = 0;
  // Fastest first, never empty.
  virtual std::span<const AlgorithmCost> algorithms(const Task& task, int64_t samples) const = 0;
  virtual LinkRates links() const { return {}; }
  // prepare() may have to run tasks on a device: nobody should ask for more than it takes.
  virtual bool measures() const { return false; }
  // Algorithms that give other bits at every run are as good as others.
  virtual bool admits_nondeterministic() const { return false; }
};

}  // namespace plimsoll
