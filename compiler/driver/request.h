// Requests to the compiler, as plain data. tools/plimsoll fills them from flags; a program that links the compiler
// fills them directly.
//
// An optional is an optional flag; its comment states the default. Errors name the flag of a field.
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

// What is trained and on what: everything that determines the tasks.
struct ModelRequest {
  std::string model = {};  // path of an ONNX file
  int64_t batch = 1;
  NetworkRequest network = {};
  OptimizerKind optimizer = OptimizerKind::momentum;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  std::optional<double> clip_norm = {};  // absent: no clipping
  std::string optimizer_state = "fp32";  // fp32, bf16, int8
  std::string target = "host";           // host, cuda
  std::string precision = "fp32";        // fp32, tf32, bf16, fp16; network.precision says the same of what is stored
  bool nondeterministic = false;
  std::optional<int64_t> threads = {};  // of the trainer; absent: the processors available to this process
  std::map<std::string, int64_t> dims = {};  // sizes of symbolic dimensions other than the batch
  std::map<std::string, int64_t> inputs = {};  // inputs that are always this number
  std::string layout = "auto";          // auto, plain, nChw8c, nChw16c; on cuda nchw, nhwc
  bool strict = false;
  bool require_batch_norm = false;
  bool remeasure = false;
};

// What batch normalization sees if the batch does not fit at once.
enum class BatchNorm {
  whole,  // the whole batch: it is split only if sub_batch is given
  split,  // one sub-batch at a time, in rounds that the planner chooses
};

// How plans are made, for all policies and budgets.
struct PlanningRequest {
  ModelRequest of_model = {};
  // A dump to continue from (dump_file.h), where a batch of 0 is the dump's: a network or a task graph, for which the
  // model only provides weights; a plan between two passes (begun_plan.h); or a finished plan to make a trainer of
  // (given_plan.h).
  std::string from = {};
  std::optional<int64_t> sub_batch = {};  // absent: the fastest
  int64_t ranks = 1;                      // batch and sub_batch count the samples of all ranks; the budget is per rank
  std::string rank_costs = {};            // a file with measured rates between ranks; empty: assumed
  int effort = 1;
  std::optional<int> jobs = {};  // planning threads; absent: the processors available to this process
  double time_limit_seconds = 0;
  std::string rules = "true";             // "true", or a paper's (compiler/papers/rules.h)
  // "profiled", "modelled", a device's name or a file; absent: depends on the purpose (costs.h).
  std::optional<std::string> costs = {};
  std::string algorithms_of = {};  // a plan or a trainer's directory whose algorithms are used; empty: the fastest
  BatchNorm batch_norm = BatchNorm::whole;
  std::optional<SizeSpec> host_budget = {};  // absent: from this machine's memory, if the plan is for it
};

// The default policy, which searches.
inline constexpr const char* kDefaultPolicy = "auto";

// The budget and the policy of one plan.
struct OnePlanRequest {
  std::optional<SizeSpec> budget = {};         // absent: what the policy takes without a limit
  std::optional<int64_t> process_budget = {};  // cuda only, in bytes, instead of `budget`
  std::string policy = kDefaultPolicy;
  std::optional<int64_t> what_if = {};   // additional bytes, for the what-if figures in the plan
  std::string print_after = {};          // a pass's name, or "all"
  std::string dump = {};                 // a directory
  std::string stop_after = {};           // a pass's name (text_after in planning.h)
};

// A trainer runs here, so its workspaces must be this machine's. A report may be about another device.
enum class PlanFor { trainer, report };

// Threads of the trainer: as requested, or the cores of this machine.
int64_t threads_of(const ModelRequest& request);
int64_t threads_of(const PlanningRequest& request);  // of one rank; all ranks are assumed to be on this machine
// Planning threads: as requested, or the processors available to this process.
int jobs_of(const PlanningRequest& request);
// The arithmetic that determines the eligible algorithms.
Arithmetic arithmetic_of(const ModelRequest& request);
TrainingOptions training_options_of(const ModelRequest& request);

// A mistake in how the compiler was called: exit code 2.
inline Error usage(std::string what) { return {ExitCode::usage, std::move(what)}; }

// Error: usage, naming the flag and its valid values.
Status check_usage(const ModelRequest& request);
Status check_usage(const PlanningRequest& request);
Status check_usage(const OnePlanRequest& request);

}  // namespace plimsoll
