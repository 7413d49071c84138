#include "compiler/driver/compile.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "codegen/generate.h"
#include "compiler/import/model_file.h"
#include "compiler/import/sha256.h"
#include "compiler/ir/plan_json.h"
#include "compiler/support/json.h"
#include "compiler/support/output.h"

namespace plimsoll {
namespace {

Status write(const CompileRequest& request, const Planned& planned) {
  PLIMSOLL_ASSIGN(OutputDirectory directory, OutputDirectory::create(request.directory, request.force));
  ModelFile& model = *planned.model.file;
  const std::string model_path = directory.path_of("model.onnx");
  const std::string trainer_notes = take_trainer_notes(model);
  const bool apart = request.external_data || is_too_large_for_one_file(model);
  TwoFiles files_of_model;  // of a single file, without external weights
  if (apart) {
    PLIMSOLL_ASSIGN(files_of_model, write_model_in_two(model, model_path));
  } else {
    PLIMSOLL_ASSIGN(files_of_model.ranges, write_model(model, model_path));
  }
  const auto bytes_of_file = [](const std::string& path) {
    return static_cast<int64_t>(std::filesystem::file_size(path));
  };
  const bool on_host = request.planning.of_model.target == "host";
  GenerateOptions generate_options{.command = request.invocation, .threads = on_host ? planned.threads : 0};
  for (const auto& [name, range] : files_of_model.ranges)
    generate_options.initializers[name] = {range.offset, range.type};
  generate_options.model_bytes = bytes_of_file(model_path);
  if (apart) generate_options.weights_bytes = bytes_of_file(directory.path_of(files_of_model.weights));
  std::set<std::string> initializers;
  for (const Parameter& parameter : planned.graph.parameters) initializers.insert(parameter.initializer);
  PLIMSOLL_ASSIGN(generate_options.model_identity, sha256_without(model_path, files_of_model, initializers));
  if (!trainer_notes.empty() && !(std::ofstream(model_path, std::ios::binary | std::ios::app) << trainer_notes).flush())
    return Error{ExitCode::unwritable_output, fmt::format("cannot write '{}'", model_path)};
  PLIMSOLL_ASSIGN(std::vector<GeneratedFile> files, generate(planned.graph, planned.plan, generate_options));
  files.push_back({"plan.json", to_json(planned.plan)});
  Json manifest = {{"generator", planned.plan.generator},
                   {"model_sha256", planned.model.sha256},
                   {"files", Json::object()}};
  for (const GeneratedFile& file : files) {
    PLIMSOLL_TRY(directory.write(file.path, file.contents));
    manifest["files"][file.path] = sha256_hex(file.contents);
  }
  PLIMSOLL_TRY(directory.write("manifest.json", dump(manifest, 1) + "\n"));
  return directory.commit();
}

}  // namespace

Result<Planned> compile(const CompileRequest& request, const Messages& messages) {
  if (request.planning.rules != "true")
    return usage(fmt::format("--rules {} builds graphs for reports only; use `plimsoll plan`",
                             request.planning.rules));
  PLIMSOLL_ASSIGN(Planned planned, plan_model(request.planning, request.plan, messages, PlanFor::trainer));
  if (!request.dry_run) {
    PLIMSOLL_TRY(write(request, planned));
    messages.detail(fmt::format("wrote {}", request.directory));
  }
  return planned;
}

}  // namespace plimsoll
