// What `compile` and `plan` share: options, and the way from a model file to a checked plan.
#pragma once

#include <llvm/Support/CommandLine.h>

#include <memory>
#include <string>

#include "compiler/import/onnx.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"
#include "compiler/training/build.h"
#include "compiler/training/loss.h"
#include "tools/plimsoll/console.h"

namespace plimsoll {

// What is trained, and on what: all that decides which tasks there are.
struct ModelOptions {
  explicit ModelOptions(llvm::cl::SubCommand& sub);

  llvm::cl::opt<std::string> model;
  llvm::cl::opt<long long> batch;
  llvm::cl::opt<LossKind> loss;
  llvm::cl::opt<OptimizerKind> optimizer;
  llvm::cl::opt<double> momentum, weight_decay;
  llvm::cl::opt<std::string> target;
  llvm::cl::opt<long long> threads;
  llvm::cl::list<std::string> dims;
  llvm::cl::opt<std::string> layout;
  llvm::cl::opt<bool> strict;
  llvm::cl::opt<bool> quiet;
};

struct PlanningOptions : ModelOptions {
  explicit PlanningOptions(llvm::cl::SubCommand& sub);

  llvm::cl::opt<std::string> budget;
  llvm::cl::opt<long long> sub_batch;
  llvm::cl::opt<std::string> policy;
  llvm::cl::opt<std::string> rules;
  llvm::cl::opt<std::string> costs;
  llvm::cl::opt<bool> refuse_split;
  llvm::cl::opt<std::string> print_after, dump;
};

struct ModelAndGraph {
  ImportedModel model;
  TaskGraph graph;
};

// Imports and builds the task graph as a trainer on this machine runs it. Notes and warnings go to the console.
Result<ModelAndGraph> load_model(const ModelOptions& options, const Console& console);

// Of the trainer: as asked, or the cores of this machine.
int64_t threads_of(const ModelOptions& options);

struct Planned {
  ImportedModel model;
  TaskGraph graph;  // as planned: accumulating when the plan has several rounds
  Plan plan;
  int64_t threads = 0;
};

// A trainer runs here, so its workspaces must be this machine's; a report may be of a device that is elsewhere.
enum class PlanFor { trainer, report };

// Imports, builds the task graph, plans and checks. Notes and warnings go to the console; an error leaves nothing behind.
Result<Planned> plan_model(const PlanningOptions& options, const Console& console, PlanFor purpose);

// The lines that sum a plan up, for the end of `compile` and `plan`.
std::string describe(const Plan& plan);

}  // namespace plimsoll
