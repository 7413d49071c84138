#include "codegen/generate.h"

#include <algorithm>
#include <cctype>

#include "codegen/source.h"
#include "codegen/text.h"

namespace plimsoll {

Result<std::vector<GeneratedFile>> generate(const TaskGraph& given, const Plan& plan, const GenerateOptions& options) {
  const TaskGraph graph = planned_graph(given, plan.rounds, plan.slice_bytes, plan.whole_weights);
  PLIMSOLL_CHECK(plan.tasks.size() == graph.tasks.size() && plan.tensors.size() == graph.tensors.size(),
                 "the plan was made for another graph");
  PLIMSOLL_CHECK(has_backend(plan), "there is no backend for target '" + plan.target_kind + "'");
  KernelTable kernels = kernels_of(graph, plan);
  Identifiers identifiers;
  for (const KernelUse& use : kernels.uses) {
    identifiers.reserve(use.name);
    identifiers.reserve(use.task.kernel);
  }
  AddressTable addresses(graph, plan, identifiers);
  HostSlotTable host_slots(graph, plan, identifiers);
  const Source source{graph, plan, options, std::move(kernels), std::move(addresses), std::move(host_slots)};

  std::vector<std::string> kernel_functions;
  std::vector<StepFunction> step_functions;
  std::vector<GeneratedFile> files{program_header(source)};
  for (GeneratedFile& file : kernel_sources(source, kernel_functions)) files.push_back(std::move(file));
  PLIMSOLL_ASSIGN(std::vector<GeneratedFile> steps, step_sources(source, step_functions));
  for (GeneratedFile& file : steps) files.push_back(std::move(file));
  PLIMSOLL_ASSIGN(GeneratedFile program, program_source(source, kernel_functions, step_functions));
  files.push_back(std::move(program));
  files.push_back(lives_source(source));
  files.push_back(names_source(source));
  for (GeneratedFile& file : files) file.contents = within_columns(file.contents);
  for (GeneratedFile& file : project_files(source, files)) files.push_back(std::move(file));
  return files;
}

std::string example_files(const TaskGraph& graph) {
  if (graph.inputs.size() == 2) return "X.npy,Y.npy";
  std::string files;
  for (const TensorId id : graph.inputs) {
    std::string name = graph.tensors[id].onnx_name;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '_' && c != '.' && c != '-'; },
        '_');
    files += (files.empty() ? "" : ",") + name + ".npy";
  }
  return files;
}

}  // namespace plimsoll
