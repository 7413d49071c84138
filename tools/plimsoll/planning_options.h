// The flags that planning commands share, and their conversion to requests.
#pragma once

#include <llvm/Support/CommandLine.h>

#include <map>
#include <string>

#include "compiler/driver/request.h"
#include "tools/plimsoll/loss_parser.h"

namespace plimsoll {

// Which weights are trained.
struct WeightOptions {
  explicit WeightOptions(llvm::cl::SubCommand& sub);
  TrainedRequest request() const;

  llvm::cl::list<std::string> trainable, freeze, frozen_statistics;
  llvm::cl::opt<Assume> assume;
  llvm::cl::opt<Modes> modes;
  llvm::cl::opt<bool> assume_shared;
  llvm::cl::opt<std::string> output;  // of several outputs: the one of the loss
};

// Everything that decides the task graph: model, loss, optimizer, trained weights.
struct ModelOptions {
  explicit ModelOptions(llvm::cl::SubCommand& sub);

  llvm::cl::opt<std::string> model;
  llvm::cl::opt<long long> batch;
  llvm::cl::opt<LossKind, false, LossParser> loss;
  std::string loss_output;  // of --loss output:NAME
  llvm::cl::opt<long long> class_axis, ignore_index;
  llvm::cl::opt<std::string> class_weights, positive_weights;
  llvm::cl::opt<double> label_smoothing;
  llvm::cl::opt<bool> mixed_labels;
  llvm::cl::opt<OptimizerKind> optimizer;
  llvm::cl::opt<double> momentum, weight_decay, clip_norm;
  llvm::cl::opt<bool> nesterov;
  llvm::cl::opt<std::string> optimizer_state;
  WeightOptions weights;
  llvm::cl::opt<std::string> target, precision;
  llvm::cl::list<std::string> keep_fp32;
  llvm::cl::opt<bool> nondeterministic, remeasure;
  llvm::cl::opt<long long> threads;
  llvm::cl::list<std::string> dims;
  llvm::cl::list<std::string> inputs;
  llvm::cl::opt<std::string> layout;
  llvm::cl::opt<Attention> attention;
  llvm::cl::opt<LossForm> loss_form;
  llvm::cl::opt<Recurrence> recurrence;
  llvm::cl::opt<bool> strict, require_bn;
  llvm::cl::opt<bool> quiet, verbose;
};

struct PlanningOptions : ModelOptions {
  explicit PlanningOptions(llvm::cl::SubCommand& sub);

  llvm::cl::opt<long long> sub_batch, ranks;
  llvm::cl::opt<std::string> rank_costs;
  llvm::cl::opt<int> effort, jobs;
  llvm::cl::opt<double> time_limit;
  llvm::cl::opt<std::string> rules;
  llvm::cl::opt<std::string> costs;
  llvm::cl::opt<std::string> algorithms_of;
  llvm::cl::opt<BatchNorm> batch_norm;
  llvm::cl::opt<std::string> host_budget;
};

// Options of commands that make one plan: budget, policy.
struct OnePlanOptions {
  explicit OnePlanOptions(llvm::cl::SubCommand& sub);
  // With --from, neither a model nor a batch is needed. So they are checked here, and are not required options.
  void let_from_replace(PlanningOptions& options) const;
  Result<PlanningRequest> planning_request(const PlanningOptions& options) const;

  llvm::cl::opt<std::string> budget, process_budget;
  llvm::cl::opt<std::string> policy;
  llvm::cl::opt<std::string> what_if;
  llvm::cl::opt<std::string> print_after, stop_after, dump, from;
};

// The flags as a request for the compiler. Error: usage, for a malformed size or NAME=SIZE. Combinations of values are
// checked by check_usage (compiler/driver/request.h).
Result<ModelRequest> request_of(const ModelOptions& options);
Result<PlanningRequest> request_of(const PlanningOptions& options);
Result<OnePlanRequest> request_of(const OnePlanOptions& options);

// Writes the dump of --stop-after. "-": stdout.
Status write_dump(const std::string& path, const std::string& text);

// The description of --stop-after, with the table of passes.
const std::string& stop_help();

// The description of --policy, with the table of policies.
const std::string& policy_help(const std::string& default_name);

// The sizes of --dim, by name.
Result<std::map<std::string, int64_t>> sizes_by_name(const llvm::cl::list<std::string>& dims);
// Of --input.
Result<std::map<std::string, int64_t>> numbers_by_name(const llvm::cl::list<std::string>& inputs);

}  // namespace plimsoll
