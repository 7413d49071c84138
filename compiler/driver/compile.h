// Compiles a CompileRequest (a model, a budget, a directory) to a trainer's sources.
#pragma once

#include <string>

#include "compiler/driver/messages.h"
#include "compiler/driver/planning.h"
#include "compiler/driver/request.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct CompileRequest {
  PlanningRequest planning = {};
  OnePlanRequest plan = {};
  std::string directory = {};
  bool force = false;           // replaces a directory that is not empty and not ours
  bool external_data = false;   // writes the weights to a separate file, as for models above 2 GiB
  bool dry_run = false;         // does everything except writing
  std::string invocation = {};  // the command line that reproduces the trainer, shown by it
};

// The directory appears complete, or is unchanged. Errors: usage, for rules of a paper; those of plan_model and of
// codegen; unwritable_output. A search ended by --time-limit is not an error (last_word).
Result<Planned> compile(const CompileRequest& request, const Messages& messages);

}  // namespace plimsoll
