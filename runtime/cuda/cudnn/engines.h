// The algorithms that cuDNN offers for a graph: engine configurations, each with a name that is the same on every
// machine with this version of cuDNN.
//
//   eng34_k2=5_k14=0     engine 34, knob 2 at 5, knob 14 at 0
#pragma once

#include <span>

#include "runtime/cuda/cudnn/graph.h"

namespace plimsoll::cudnn {

struct Engine {
  std::string name;
  int64_t workspace_bytes = 0;  // exact, plus reserved_bytes
  int64_t reserved_bytes = 0;   // for a described device: what an engine may need beyond what cuDNN knows without it
  bool deterministic = true;    // the same bits on every run
  bool tf32 = false;            // multiplies f32 on tensor cores in TF32, with a 10-bit mantissa
};

// All configurations of heuristic mode A, then those of the fallback mode, in cuDNN's order of preference, without
// duplicates, for device_properties(). Coarse and wrong ones are excluded. May be empty.
std::vector<Engine> engines_for(const Graph& graph);

// Why engines_for() lists none: that the graph is not supported, in cuDNN's words, or that one of cuDNN's libraries
// cannot be loaded, in the loader's. Empty if there is no reason: cuDNN lists engines, but they are all coarse.
std::string why_no_engine(const Graph& graph);

// An engine with these notes computes neither an f32 nor a TF32 result: it converts inputs or sums to shorter formats,
// or uses Winograd's F(9×9, 5×5), whose error is as large as that of TF32 (4e-4 to 8e-4 of the result's norm, depending
// on the interpolation points). Other tile sizes and FFTs stay within 3e-6, like another order of summation
// (docs/decisions/cudnn.md), and are accepted.
bool is_coarse(std::span<const cudnnBackendNumericalNote_t> notes);

// An engine, ready to run its graph, which must outlive it. Needs no device until it is run. Some engines load their
// code when they are built, which needs the driver: for a described device they count as built without it.
class Plan {
 public:
  // Builds the engine by its name. Throws KernelError: no such engine, or not for this graph or device.
  Plan(const Graph& graph, const std::string& engine);
  int64_t workspace_bytes() const { return workspace_bytes_; }  // as that of the Engine
  bool tf32() const { return tf32_; }
  const Descriptor& descriptor() const { return plan_; }

 private:
  Descriptor engine_;
  std::vector<Descriptor> knobs_;
  Descriptor configuration_, plan_;
  int64_t workspace_bytes_ = 0;
  bool tf32_ = false;
};

}  // namespace plimsoll::cudnn
