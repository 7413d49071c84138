// What is asked of the compiler, as plain data. tools/plimsoll maps flags to it; a program that links the compiler
// fills it by itself.
//
// An optional is a flag that may be absent; its comment says what holds then. Errors name the flag of a field.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "compiler/costs/exchange.h"
#include "compiler/network/pipeline.h"
#include "compiler/support/bytes.h"
#include "compiler/support/status.h"
#include "compiler/training/build.h"

namespace plimsoll {

// What is trained, and on what: all that decides which tasks there are.
struct ModelRequest {
  std::string model = {};  // path of an ONNX file
  int64_t batch = 1;
  NetworkRequest network = {};
  OptimizerKind optimizer = OptimizerKind::momentum;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  std::optional<double> clip_norm = {};  // absent: gradients are as they are
  std::string target = "host";           // host, cuda
  std::string math = "fp32";             // fp32, tf32
  bool nondeterministic = false;
  std::optional<int64_t> threads = {};  // of the trainer; absent: the processors that this process may use
  std::map<std::string, int64_t> dims = {};  // symbolic dimensions other than the batch
  std::string layout = "auto";          // auto, plain, nChw8c, nChw16c; on cuda nchw, nhwc
  bool strict = false;
  bool require_batch_norm = false;
  bool remeasure = false;
};

// What batch normalization sees of a batch that does not fit at once.
enum class BatchNorm {
  whole,  // all of it: the batch is not split, but by sub_batch
  split,  // a sub-batch at a time, in rounds that the planner chooses
};

// How plans are made, whatever the policy and the budget of each.
struct PlanningRequest {
  ModelRequest of_model = {};
  std::string from = {};                  // a text of --dump to go on from (dump_file.h): of the model only weights are needed, and a batch of 0
                                          // is that of the task graph
  std::optional<int64_t> sub_batch = {};  // absent: whatever is fastest
  int64_t ranks = 1;                      // batch and sub_batch are of all of them, the budget is each one's
  std::string rank_costs = {};            // a file of measured rates between ranks; empty: assumed
  int effort = 1;
  std::optional<int> jobs = {};  // absent: the processors that this process may use
  double time_limit_seconds = 0;
  std::string rules = "true";             // or of a paper (compiler/papers/rules.h)
  std::optional<std::string> costs = {};  // profiled, modelled, a device's name or a file; absent: by purpose (costs.h)
  std::string algorithms_of = {};         // a plan, or a trainer's directory, whose algorithms the tasks run; empty: whatever is fastest
  BatchNorm batch_norm = BatchNorm::whole;
  std::optional<SizeSpec> host_budget = {};  // absent: by what this machine has, if the plan is for it
};

// The policy that searches.
inline constexpr const char* kDefaultPolicy = "auto";

// Under which budget, and by which policy, one plan is made.
struct OnePlanRequest {
  std::optional<SizeSpec> budget = {};         // absent: what the policy takes without one
  std::optional<int64_t> process_budget = {};  // of cuda, instead of the budget: bytes
  std::string policy = kDefaultPolicy;
  std::optional<int64_t> what_if = {};   // so many bytes more, for a remark in the plan
  std::string print_after = {};          // a pass's name, or "all"
  std::string dump = {};                 // a directory
};

// A trainer runs here, so its workspaces must be this machine's; a report may be of a device that is elsewhere.
enum class PlanFor { trainer, report };

// Of the trainer: as asked, or the cores of this machine.
int64_t threads_of(const ModelRequest& request);
int64_t threads_of(const PlanningRequest& request);  // of one rank: all are on this machine, as far as is known
// Threads that plan: as asked, or the processors that this process may use.
int jobs_of(const PlanningRequest& request);
// Which algorithms it may use.
Arithmetic arithmetic_of(const ModelRequest& request);
TrainingOptions training_options_of(const ModelRequest& request);

// A mistake in how the compiler was called: exit code 2.
inline Error usage(std::string what) { return {ExitCode::usage, std::move(what)}; }

// Each an error of usage: what the flag is, and what it should be.
Status check_usage(const ModelRequest& request);
Status check_usage(const PlanningRequest& request);
Status check_usage(const OnePlanRequest& request);

}  // namespace plimsoll
