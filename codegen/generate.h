// How a plan becomes text: a directory that builds where only CMake, a C++ compiler and the backend's library are.
//
//   README.md        what it is, and three commands        program.h     sizes and addresses, by name
//   CMakeLists.txt                                         program.cpp   inputs, parameters, the list of functions
//   runtime/…        the sources that it uses              kernels_*.cpp every distinct kernel, built once
//                                                          steps_*.cpp   the program: one step per line, in issue order
//                                                          lives.cpp     who lies where when, for sanitized builds
//                                                          names.cpp     what each step is called
//
// A pure function of its inputs that knows no operator. The caller adds plan.json and model.onnx.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct GeneratedFile {
  std::string path;  // relative to the directory, '/' between its parts
  std::string contents;
};

struct GenerateOptions {
  std::string command = {};                                // that made it, for the README
  int64_t threads = 1;                                     // of the trainer; the bits of its results depend on it; 0: on cuda they do not
  std::map<std::string, int64_t> initializer_offsets = {};  // where each initializer's bytes begin
  int64_t model_bytes = 0;                                 // size of model.onnx
  std::string model_identity = {};                         // sha256_without() the values of the graph's parameters
  int64_t weights_bytes = 0;                               // of the file beside it that the offsets are of; 0: model.onnx itself
};

// What a user may call the files of --data npy:…, one for each input of the model: "X.npy,Y.npy"; of several, by the inputs' names.
std::string example_files(const TaskGraph& graph);

// Before: the checker has accepted the plan, which was made for this graph.
// Error: internal, when an initializer or an input of the plan is not in the model.
Result<std::vector<GeneratedFile>> generate(const TaskGraph& graph, const Plan& plan, const GenerateOptions& options);

}  // namespace plimsoll
