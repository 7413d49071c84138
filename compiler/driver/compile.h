// A CompileRequest to files: a model, a budget and a directory in, a trainer's sources out.
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
  bool external_data = false;   // keeps the weights beside the model's file, as is done above 2 GiB
  bool dry_run = false;         // everything but writing
  std::string invocation = {};  // the command line that makes the same again, for the trainer to tell
};

// The directory appears whole, or is as it was. Errors: usage, for rules of a paper; of plan_model; of codegen;
// unwritable_output. A search that --time-limit ended is none (last_word).
Result<Planned> compile(const CompileRequest& request, const Messages& messages);

}  // namespace plimsoll
