// What cuDNN offers for a graph: engine configurations, each an algorithm under a name that is the same on every machine
// with this version of cuDNN.
//
//   eng34_k2=5_k14=0     engine 34, knob 2 at 5, knob 14 at 0
#pragma once

#include <span>

#include "runtime/cuda/cudnn/convolution.h"

namespace plimsoll::cudnn {

struct Engine {
  std::string name;
  int64_t workspace_bytes = 0;  // exact
  bool deterministic = true;    // the same bits at every run
  bool tf32 = false;            // it multiplies on tensor cores, in TF32: 10 bits of mantissa
};

// All configurations of heuristic mode A, then those of the fallback: the best first, as cuDNN sees it, none twice, for
// device_properties(). Left out: those that are coarse. Empty where there is none.
std::vector<Engine> engines_for(const Graph& graph);

// What an engine with these notes computes is no f32 result, nor one of TF32: it converts inputs or sums to shorter formats, or is
// Winograd's F(9×9, 5×5), which loses as much as TF32 (4e-4 to 8e-4 of the result's norm, by the points that it interpolates at). Other
// tiles and FFTs stay within 3e-6, as sums in another order do (docs/decisions/cudnn.md), and are no matter.
bool is_coarse(std::span<const cudnnBackendNumericalNote_t> notes);

// An engine, ready to run its graph, which must live as long. Needs no device until then.
class Plan {
 public:
  // Builds it by its name. Throws KernelError: no such engine, or not for this graph or device.
  Plan(const Graph& graph, const std::string& engine);
  int64_t workspace_bytes() const { return workspace_bytes_; }  // exact
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
