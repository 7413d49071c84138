// CMakeLists.txt, README.md and the runtime's sources that the program uses.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/carried.h"
#include "codegen/source.h"
#include "codegen/text.h"
#include "compiler/support/bytes.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// The command comes from the user and is printed in an indented block, which only a line break could end.
std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return text;
}

struct KernelFile {
  std::string_view kernel, file;
};

#define KERNEL(kernel, attributes, file) {#kernel, #file},
constexpr KernelFile kKernelFiles[] = {
#include "runtime/attrs/kernels.def"
};
#undef KERNEL

// A folder of runtime/ is a backend if it contains this file: the text of CMakeLists.txt, with {PROGRAM} and {RUNTIME}
// in place of the source lists, and {TYPES} and {MOST_ELEMENTS} in place of facts about the operands. No other list of
// backends exists.
constexpr std::string_view kTemplate = "trainer.cmake";

// Defines the stamp symbol that program.cpp references.
constexpr std::string_view kStamp = "runtime/stamp.cpp.in";

struct Backend {
  std::string folder;  // "runtime/host/"
  std::string project;
};

Backend backend_of(const Plan& plan) {
  const std::string folder = fmt::format("runtime/{}/", plan.target_kind);
  for (const EmbeddedFile& file : carried_files())
    if (file.path == folder + std::string(kTemplate)) return {folder, std::string(file.contents)};
  return {folder, ""};
}

bool of_another_backend(std::string_view path, const Backend& backend) {
  for (const EmbeddedFile& file : carried_files()) {
    if (!file.path.ends_with(kTemplate)) continue;
    const std::string_view folder = file.path.substr(0, file.path.size() - kTemplate.size());
    if (folder != backend.folder && path.starts_with(folder)) return true;
  }
  return false;
}

// Sources of kernels that the program does not use are omitted; all others are copied. The code for several ranks is in
// runtime/dist/, with the engine of each backend in its own folder. A plan of one rank needs only the interface.
bool of_needless_ranks(std::string_view path, const Plan& plan) {
  constexpr std::string_view kRanks = "runtime/dist/";
  if (!path.starts_with(kRanks)) return false;
  if (plan.ranks == 1) return path != "runtime/dist/ranks.h";
  return path.find('/', kRanks.size()) != std::string_view::npos &&
         !path.starts_with(fmt::format("{}{}/", kRanks, plan.target_kind));
}

// Replaces every occurrence.
std::string replaced(std::string text, std::string_view what, const std::string& by) {
  size_t at = text.find(what);
  PLIMSOLL_CHECK(at != std::string::npos, "a template lost its mark");
  for (; at != std::string::npos; at = text.find(what, at + by.size())) text.replace(at, what.size(), by);
  return text;
}

bool is_source(std::string_view path) { return path.ends_with(".cpp") || path.ends_with(".cu"); }

// The path of a kernel's file without its ending. A kernel of several sources has others of that name and more
// (attention.cu, attention_tiles.cu). Any other file keeps its own.
std::string kernel_stem(const std::string& path, const std::set<std::string>& of_kernels) {
  const std::string stem = path.substr(0, path.rfind('.'));
  if (!is_source(path) || of_kernels.contains(stem)) return stem;
  const auto of = std::find_if(of_kernels.begin(), of_kernels.end(),
                               [&](const std::string& kernel) { return stem.starts_with(kernel + "_"); });
  return of == of_kernels.end() ? stem : *of;
}

// A kernel's file that includes the header of another kernel's file uses that kernel, too.
void add_included(const std::set<std::string>& of_kernels, std::set<std::string>& used) {
  for (const EmbeddedFile& file : carried_files()) {
    if (!used.contains(kernel_stem(std::string(file.path), of_kernels))) continue;
    for (const std::string& kernel : of_kernels)
      if (file.contents.find(fmt::format("#include \"{}.h\"", kernel)) != std::string_view::npos) used.insert(kernel);
  }
}

std::vector<GeneratedFile> carried(const Source& source, const Backend& backend) {
  std::set<std::string> of_kernels, used;
  for (const KernelFile& row : kKernelFiles) {
    const std::string stem = fmt::format("{}ops/{}", backend.folder, row.file);
    of_kernels.insert(stem);
    for (const KernelUse& use : source.kernels.uses)
      if (use.task.kernel == row.kernel) used.insert(stem);
  }
  add_included(of_kernels, used);
  std::vector<GeneratedFile> files;
  for (const EmbeddedFile& file : carried_files()) {
    const std::string path(file.path), stem = kernel_stem(path, of_kernels);
    if (of_kernels.contains(stem) && !used.contains(stem)) continue;
    if (path == kStamp) {
      files.push_back(
          {"runtime/stamp.cpp", replaced(std::string(file.contents), "{STAMP}", std::string(runtime_stamp()))});
      continue;
    }
    if (path.ends_with(kTemplate) || of_another_backend(path, backend) || of_needless_ranks(path, source.plan))
      continue;
    files.push_back({path, std::string(file.contents)});
  }
  return files;
}

std::string list_of_sources(const std::vector<GeneratedFile>& files, std::string_view indent) {
  std::string list;
  for (const GeneratedFile& file : files)
    if (is_source(file.path) && !file.path.ends_with("/main.cpp")) list += fmt::format("\n{}{}", indent, file.path);
  return list;
}

// What the kernels are compiled for (runtime/compiled_types.h): the types of their operands, and the number of elements
// of the largest in a whole round, with the padding of its layout.
struct Operands {
  std::set<std::string_view> types;
  int64_t most_elements = 0;
};

Operands operands_of(const Source& source) {
  Operands all;
  for (const KernelUse& use : source.kernels.uses)
    for (const Operand& operand : use.task.operands) {
      if (operand.access == Access::absent) continue;
      all.types.insert(name_of(operand.type.type));
      all.most_elements = std::max(all.most_elements, operand.type.at(source.plan.sub_batch).padded_elements());
    }
  return all;
}

std::string inputs_text(const Source& source) {
  std::string text;
  for (const TensorId id : source.graph.inputs) {
    const Tensor& tensor = source.graph.tensors[id];
    text += fmt::format("- `{}` {}{}\n", comment_safe(tensor.onnx_name), to_string(tensor.type),
                        tensor.mixed_labels ? ", made of one class for each sample" : "");
  }
  return text;
}

std::string readme(const Source& source) {
  const Plan& plan = source.plan;
  const std::string budget = plan.budget_bytes ? fmt::format("{} ({} bytes)", format_bytes(plan.budget_bytes),
                                                             format_grouped(plan.budget_bytes))
                                               : "none was given";
  const std::string pool =
      plan.summary.host_pool_bytes == 0
          ? ""
          : fmt::format("| host pool | {} |\n", format_bytes(plan.summary.host_pool_bytes));
  const std::string command =
      source.options.command.empty() ? "" : fmt::format("\nMade by\n\n    {}\n", one_line(source.options.command));
  const std::string threads =
      source.options.threads == 0
          ? ""
          : fmt::format("| threads | {}, fixed: the bits of the results depend on it |\n", source.options.threads);
  return fmt::format(
      "# A trainer of {}\n\n"
      "Generated by {}. It trains the model in `model.onnx` by the plan in `plan.json`.\n{}\n"
      "| | |\n|---|---|\n"
      "| batch | {}: {} of {}{}{} |\n"
      "| budget | {} |\n"
      "| planned arena | {} ({} bytes), the one allocation of the program |\n"
      "| of it for the whole run | {} |\n{}"
      "| policy | {} |\n"
      "| predicted iteration | {:.6f} s ({}) |\n{}\n"
      "    cmake -S . -B build\n"
      "    cmake --build build -j \"$(nproc)\"\n"
      "    {}build/train --data npy:{} --epochs 10 --save trained.onnx\n\n"
      "`build/train --help` lists the rest. Inputs, N being the number of samples:\n\n{}\n"
      "Read `steps_0.cpp` first: it is the program, one step per line. All addresses are in `program.h`.\n\n"
      "This program is yours. The parts of Plimsoll in it, mainly `runtime/`, are under the Apache License 2.0 with "
      "the LLVM Exceptions (`LICENSE`), which makes no demands on what is compiled from them.\n",
      comment_safe(plan.model_name), comment_safe(plan.generator), command, counted(plan.batch, "sample"),
      counted(plan.rounds, "round"), plan.sub_batch, smaller_last_round(plan),
      plan.ranks > 1 ? fmt::format("; shared by {} ranks", plan.ranks) : "", budget,
      format_bytes(plan.summary.arena_bytes), format_grouped(plan.summary.arena_bytes),
      format_bytes(plan.summary.persistent_bytes), pool, comment_safe(plan.policy), plan.summary.iteration_seconds,
      plan.costs.empty() ? "unknown" : comment_safe(plan.costs), threads,
      plan.ranks > 1 ? fmt::format("mpirun -np {} ", plan.ranks) : "", example_files(source.graph),
      inputs_text(source));
}

}  // namespace

bool has_backend(const Plan& plan) { return !backend_of(plan).project.empty(); }

std::vector<GeneratedFile> project_files(const Source& source, const std::vector<GeneratedFile>& sources) {
  const Backend backend = backend_of(source.plan);
  std::vector<GeneratedFile> files = carried(source, backend);
  std::string cmake = replaced(backend.project, "{PROGRAM}", list_of_sources(sources, "    "));
  cmake = replaced(std::move(cmake), "{RUNTIME}", list_of_sources(files, "    "));
  const Operands operands = operands_of(source);
  cmake = replaced(std::move(cmake), "{TYPES}", fmt::format("{}", fmt::join(operands.types, " ")));
  cmake = replaced(std::move(cmake), "{MOST_ELEMENTS}", std::to_string(operands.most_elements));
  files.push_back({"CMakeLists.txt", std::move(cmake)});
  files.push_back({"README.md", readme(source)});
  return files;
}

}  // namespace plimsoll
