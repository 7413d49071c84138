// The parts of a generated directory. Each function generates one kind of file.
#pragma once

#include <string>
#include <vector>

#include "codegen/generate.h"
#include "codegen/tables.h"

namespace plimsoll {

struct Source {
  const TaskGraph& graph;
  const Plan& plan;
  const GenerateOptions& options;
  KernelTable kernels;
  AddressTable addresses;
  HostSlotTable host_slots;
};

// One function of the program. Evaluation runs only the forward ones.
struct StepFunction {
  std::string name;
  bool forward = true;
};

// ", the last of 2" if the last round has fewer samples, else nothing.
std::string smaller_last_round(const Plan& plan);

// program.h
GeneratedFile program_header(const Source& source);
// lives.cpp
GeneratedFile lives_source(const Source& source);
// names.cpp
GeneratedFile names_source(const Source& source);
// program.cpp. It calls `kernel_functions` and `step_functions`, in this order.
Result<GeneratedFile> program_source(const Source& source, const std::vector<std::string>& kernel_functions,
                                     const std::vector<StepFunction>& step_functions);
// kernels_*.cpp. Appends the names of their functions.
std::vector<GeneratedFile> kernel_sources(const Source& source, std::vector<std::string>& functions);
// steps_*.cpp. Appends their functions.
Result<std::vector<GeneratedFile>> step_sources(const Source& source, std::vector<StepFunction>& functions);
// True if the compiler embeds a backend for the plan's target.
bool has_backend(const Plan& plan);
// CMakeLists.txt, README.md and runtime/…
std::vector<GeneratedFile> project_files(const Source& source, const std::vector<GeneratedFile>& sources);

}  // namespace plimsoll
