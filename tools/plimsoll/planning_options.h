// The options that planning commands share, and what is wrong with them where something is.
#pragma once

#include <llvm/Support/CommandLine.h>

#include <map>
#include <string>

#include "compiler/costs/exchange.h"
#include "compiler/training/build.h"
#include "compiler/training/freeze.h"
#include "compiler/training/loss.h"
#include "compiler/training/modes.h"
#include "compiler/training/undecided.h"

namespace plimsoll {

// Which weights are trained.
struct WeightOptions {
  explicit WeightOptions(llvm::cl::SubCommand& sub);
  WeightPatterns patterns() const { return {{trainable.begin(), trainable.end()}, {freeze.begin(), freeze.end()}}; }
  bool given() const {
    return !trainable.empty() || !freeze.empty() || !frozen_statistics.empty() || assume != Assume::nothing ||
           modes != Modes::asked || assume_shared;
  }

  llvm::cl::list<std::string> trainable, freeze, frozen_statistics;
  llvm::cl::opt<Assume> assume;
  llvm::cl::opt<Modes> modes;
  llvm::cl::opt<bool> assume_shared;
  llvm::cl::opt<std::string> output;  // of several: the one that the loss is of
};

// What is trained, and on what: all that decides which tasks there are.
struct ModelOptions {
  explicit ModelOptions(llvm::cl::SubCommand& sub);

  llvm::cl::opt<std::string> model;
  llvm::cl::opt<long long> batch;
  llvm::cl::opt<LossKind> loss;
  llvm::cl::opt<long long> class_axis;
  llvm::cl::opt<OptimizerKind> optimizer;
  llvm::cl::opt<double> momentum, weight_decay, clip_norm;
  llvm::cl::opt<bool> nesterov;
  WeightOptions weights;
  llvm::cl::opt<std::string> target, math;
  llvm::cl::opt<bool> nondeterministic, remeasure;
  llvm::cl::opt<long long> threads;
  llvm::cl::list<std::string> dims;
  llvm::cl::opt<std::string> layout;
  llvm::cl::opt<bool> strict, require_bn;
  llvm::cl::opt<bool> quiet;
};

// What --policy is where it is not said: the one that searches.
inline constexpr const char* kDefaultPolicy = "auto";

// What batch normalization sees of a batch that does not fit at once.
enum class BatchNorm {
  whole,  // all of it: the batch is not split, but by --sub-batch
  split,  // a sub-batch at a time, in rounds that the planner chooses
};

struct PlanningOptions : ModelOptions {
  explicit PlanningOptions(llvm::cl::SubCommand& sub);

  llvm::cl::opt<long long> sub_batch, ranks;
  llvm::cl::opt<std::string> rank_costs;
  llvm::cl::opt<int> effort, jobs;
  llvm::cl::opt<double> time_limit;
  llvm::cl::opt<std::string> rules;
  llvm::cl::opt<std::string> costs;
  llvm::cl::opt<BatchNorm> batch_norm;
  llvm::cl::opt<std::string> host_budget;
};

// Where one plan is made: under which budget, by which policy.
struct OnePlanOptions {
  explicit OnePlanOptions(llvm::cl::SubCommand& sub);

  llvm::cl::opt<std::string> budget, process_budget;
  llvm::cl::opt<std::string> policy;
  llvm::cl::opt<std::string> what_if;
  llvm::cl::opt<std::string> print_after, dump;
};

// The loss, as --loss, --output and --class-axis say.
LossRequest loss_of(const ModelOptions& options);

// For --policy: what it is, and the table of policies.
const std::string& policy_help(const std::string& default_name);

// Of the trainer: as asked, or the cores of this machine.
int64_t threads_of(const ModelOptions& options);
int64_t threads_of(const PlanningOptions& options);  // of one rank: all are on this machine, as far as is known
// Threads that plan: as asked, or the processors that this process may use.
int jobs_of(const PlanningOptions& options);
// Which algorithms it may use.
Arithmetic arithmetic_of(const ModelOptions& options);

// Sizes by name, of --dim.
Result<std::map<std::string, int64_t>> sizes_by_name(const llvm::cl::list<std::string>& dims);

// Each an error of usage: what the option is, and what it should be.
// A mistake in how the command was called: exit code 2.
inline Error usage(std::string what) { return {ExitCode::usage, std::move(what)}; }

Status check_usage(const ModelOptions& options);
Status check_usage(const PlanningOptions& options);

}  // namespace plimsoll
