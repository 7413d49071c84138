#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "codegen/generate.h"
#include "compiler/driver/planning.h"
#include "compiler/import/model_file.h"
#include "compiler/import/sha256.h"
#include "compiler/ir/plan_json.h"
#include "compiler/support/bytes.h"
#include "compiler/support/json.h"
#include "compiler/support/output.h"
#include "tools/plimsoll/commands.h"
#include "tools/plimsoll/console.h"
#include "tools/plimsoll/planning_options.h"

namespace plimsoll {
namespace {

namespace cl = llvm::cl;

class CompileCommand final : public Command {
 public:
  CompileCommand()
      : Command("compile", "make a trainer: plimsoll compile net.onnx --batch 64 --budget 4GiB -o trainer"),
        options_(sub),
        one_(sub),
        output_("o", cl::Required, cl::value_desc("DIR"), cl::desc("the generated directory"), cl::sub(sub)),
        force_("force", cl::desc("replace a directory that is not empty and not ours: what is in it is lost"), cl::sub(sub)),
        external_data_("external-data", cl::desc("keep the weights beside the model's file, as is done above 2 GiB"), cl::sub(sub)),
        dry_run_("dry-run", cl::desc("everything but writing"), cl::sub(sub)) {}

  Status run() override {
    const Console console(options_.quiet);
    if (options_.rules != "true")
      return Error{ExitCode::usage, fmt::format("--rules {} builds graphs for reports, not for trainers; use `plimsoll plan`",
                                                options_.rules.getValue())};
    PLIMSOLL_ASSIGN(const PlanningRequest request, request_of(options_));
    PLIMSOLL_ASSIGN(const OnePlanRequest one, request_of(one_));
    PLIMSOLL_ASSIGN(const Planned planned, plan_model(request, one, console.messages(), PlanFor::trainer));
    if (!dry_run_) PLIMSOLL_TRY(write(planned));
    console.say(describe(planned.plan));
    if (dry_run_) return last_word(planned);
    console.say(fmt::format("\n{} is written. Next:\n  cmake -S {} -B {}/build && cmake --build {}/build -j \"$(nproc)\"\n"
                            "  {}{}/build/train --data npy:{} --epochs 1 --save trained.onnx",
                            output_.getValue(), output_.getValue(), output_.getValue(), output_.getValue(),
                            planned.plan.ranks > 1 ? fmt::format("mpirun -np {} ", planned.plan.ranks) : "", output_.getValue(),
                            example_files(planned.graph)));
    return last_word(planned);
  }

 private:
  Status write(const Planned& planned) const {
    PLIMSOLL_ASSIGN(OutputDirectory directory, OutputDirectory::create(output_, force_));
    ModelFile& model = *planned.model.file;
    const std::string model_path = directory.path_of("model.onnx");
    const bool apart = external_data_ || is_too_large_for_one_file(model);
    TwoFiles files_of_model;  // of one file: no weights beside it
    if (apart) {
      PLIMSOLL_ASSIGN(files_of_model, write_model_in_two(model, model_path));
    } else {
      PLIMSOLL_ASSIGN(files_of_model.ranges, write_model(model, model_path));
    }
    GenerateOptions generate_options{.command = invocation, .threads = options_.target == "host" ? planned.threads : 0};
    for (const auto& [name, range] : files_of_model.ranges) generate_options.initializer_offsets[name] = range.offset;
    generate_options.model_bytes = static_cast<int64_t>(std::filesystem::file_size(model_path));
    if (apart)
      generate_options.weights_bytes = static_cast<int64_t>(std::filesystem::file_size(directory.path_of(files_of_model.weights)));
    std::set<std::string> initializers;
    for (const Parameter& parameter : planned.graph.parameters) initializers.insert(parameter.initializer);
    PLIMSOLL_ASSIGN(generate_options.model_identity, sha256_without(model_path, files_of_model, initializers));
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

  PlanningOptions options_;
  OnePlanOptions one_;
  cl::opt<std::string> output_;
  cl::opt<bool> force_, external_data_, dry_run_;
};

}  // namespace

std::unique_ptr<Command> compile_command() { return std::make_unique<CompileCommand>(); }

}  // namespace plimsoll
