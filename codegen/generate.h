// Generates the trainer from a plan: a self-contained directory that builds with CMake, a C++ compiler and the
// backend's library.
//
//   README.md        what it is, and three commands        program.h     sizes and addresses, by name
//   CMakeLists.txt                                         program.cpp   inputs, parameters, the list of functions
//   runtime/…        the sources that it uses              kernels_*.cpp every distinct kernel, built once
//                                                          steps_*.cpp   the program: one step per line, in issue order
//                                                         lives.cpp     residencies, for sanitized builds
//                                                         names.cpp     the name of each step
//
// A pure function of its inputs. It knows no operator. The caller adds plan.json and model.onnx.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"
#include "runtime/attrs/file_type.h"

namespace plimsoll {

struct GeneratedFile {
  std::string path;  // relative to the directory, separated by '/'
  std::string contents;
};

struct InitializerInFile {
  int64_t offset = 0;  // of its first byte
  FileType type = FileType::same;
};

struct GenerateOptions {
  std::string command = {};                                // the command line that made it, for the README
  int64_t threads = 1;  // threads of the trainer, which affect the bits of its results; 0 on cuda, where they do not
  std::map<std::string, InitializerInFile> initializers = {};  // by name
  int64_t model_bytes = 0;                                 // size of model.onnx in bytes
  std::string model_identity = {};                         // sha256_without() the values of the graph's parameters
  int64_t weights_bytes = 0;  // size of the external data file that the offsets refer to; 0: they refer to model.onnx
};

// Example file names for --data npy:…, one per input of the model: "X.npy,Y.npy". Several inputs are named after
// themselves.
std::string example_files(const TaskGraph& graph);

// Before: the checker has accepted the plan, which was made for this graph. Error: internal, if an initializer or an
// input of the plan is not in the model.
Result<std::vector<GeneratedFile>> generate(const TaskGraph& graph, const Plan& plan, const GenerateOptions& options);

}  // namespace plimsoll
