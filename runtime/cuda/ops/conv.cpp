// ConvForward {x, w, b, y}   ConvBackwardData {w, dy, dx, addend?}   ConvBackwardWeights {x, dy, dw, db}
// ConvTransposeForward {x, w, b, y}: dx of a convolution whose dy is x, and a bias.
//
// Convolutions are cuDNN's; its engine configurations are the algorithms (runtime/cuda/cudnn/engines.h):
//   eng34_k2=5         that engine; a bias and a ReLU follow in a separate pass
//   fused_eng34_k2=5   with bias and ReLU in cuDNN's graph
//   tf32_eng34_k2=5    an engine that multiplies on tensor cores; a name without tf32_ never runs such an engine
//   eng34_k2=5_add     an accumulating gradient: computed in the workspace, then added. Without the suffix cuDNN adds
//   bias               only the bias is trained: no convolution
//
// An addend of dx is where dx is, or is copied there. cuDNN then adds to it (beta = 1), as to dw.
//
//   workspace   of an engine, or of the sums of a bias, one after the other | dw or dx of an _add |
#include "runtime/cuda/cudnn/execution.h"
#include "runtime/cuda/device/launch.h"
#include "runtime/cuda/ops/bias.h"
#include "runtime/kernels.h"

#include <algorithm>
#include <optional>

namespace plimsoll {
namespace {

using cudnn::Convolution;
using cudnn::Direction;

constexpr std::string_view kTf32 = "tf32_", kFused = "fused_", kAdd = "_add", kBias = "bias";

int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

cuda::Planes planes_of(const TensorDesc& y) {
  int64_t plane = 1;
  for (size_t axis = 2; axis < y.rank(); ++axis) plane *= y.dim(axis);
  return {y.dim(0), y.dim(1), plane, y.layout == Layout::nhwc};
}

// A task: which operand is which tensor of the convolution, and what comes before or after it. -1: none.
struct Problem {
  Convolution convolution = {};
  int x = -1, w = -1, y = -1;  // the slots of cuDNN's x, w and y
  int result = -1;             // the slot that is written
  int b = -1, db = -1;         // forward, backward_weights
  int addend = -1;             // backward_data
  bool relu = false;
  bool db_accumulates = false;
  TensorDesc output = {};      // the tensor to which a bias is added, or over which it is summed
};

int slot_if(std::span<const OperandDesc> operands, int slot) {
  return operands[static_cast<size_t>(slot)].access == Access::absent ? -1 : slot;
}

Problem forward(const ConvAttrs& attrs, std::span<const OperandDesc> operands) {
  return {.convolution = {Direction::forward, operands[0].tensor, operands[1].tensor, operands[3].tensor, attrs},
          .x = 0,
          .w = 1,
          .y = 3,
          .result = 3,
          .b = slot_if(operands, 2),
          .relu = attrs.relu,
          .output = operands[3].tensor};
}

Problem backward_data(const ConvAttrs& attrs, std::span<const OperandDesc> operands) {
  const bool adds = operands.size() > 3 && operands[3].access != Access::absent;
  return {.convolution = {Direction::backward_data, operands[2].tensor, operands[0].tensor, operands[1].tensor, attrs,
                          false, false, adds},
          .x = 2,
          .w = 0,
          .y = 1,
          .result = 2,
          .addend = adds ? 3 : -1};
}

Problem backward_weights(const ConvAttrs& attrs, std::span<const OperandDesc> operands) {
  const int dw = slot_if(operands, 2);
  return {.convolution = {Direction::backward_weights, operands[0].tensor, operands[2].tensor, operands[1].tensor,
                          attrs, false, false, operands[2].access == Access::update},
          .x = 0,
          .w = dw,
          .y = 1,
          .result = dw,
          .db = slot_if(operands, 3),
          .db_accumulates = operands[3].access == Access::update,
          .output = operands[1].tensor};
}

Problem transpose_forward(const ConvAttrs& attrs, std::span<const OperandDesc> operands) {
  return {.convolution = {Direction::backward_data, operands[3].tensor, operands[1].tensor, operands[0].tensor, attrs},
          .x = 3, .w = 1, .y = 0, .result = 3, .b = slot_if(operands, 2), .output = operands[3].tensor};
}

Convolution fused(const Problem& problem) {
  Convolution with = problem.convolution;
  with.bias = problem.b >= 0;
  with.relu = problem.relu;
  return with;
}

Convolution overwriting(const Problem& problem) {
  Convolution without = problem.convolution;
  without.accumulate = false;
  return without;
}

// What an accumulating gradient is added to.
const TensorDesc& sum_of(const Problem& problem) {
  return problem.convolution.direction == Direction::backward_data ? problem.convolution.x : problem.convolution.w;
}

int64_t bias_bytes(const Problem& problem) {
  return problem.db >= 0 ? cuda::bias_gradient_workspace(planes_of(problem.output)) : 0;
}

class ConvKernel final : public Kernel {
 public:
  ConvKernel(const Problem& problem, std::string_view name) : problem_(problem) {
    if (name == kBias) return;
    std::string_view engine = name;
    const bool tf32 = engine.starts_with(kTf32);
    if (tf32) engine.remove_prefix(kTf32.size());
    is_fused_ = engine.starts_with(kFused);
    if (is_fused_) engine.remove_prefix(kFused.size());
    adds_ = engine.ends_with(kAdd);
    if (adds_) engine.remove_suffix(kAdd.size());
    execution_.emplace(is_fused_ ? fused(problem)
                       : adds_   ? overwriting(problem)
                                 : problem.convolution,
                       std::string(engine));
    if (execution_->tf32() && !tf32) throw KernelError("'" + std::string(name) + "' multiplies in TF32 here");
  }

  int64_t workspace_found() const override {
    const int64_t engine = execution_ ? execution_->workspace_bytes() : 0;
    return std::max(result_offset() + (adds_ ? sum_of(problem_).bytes() : engine), bias_bytes(problem_));
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const auto operand = [&](int slot) { return slot < 0 ? nullptr : operands[slot]; };
    const auto floats = [&](int slot) { return reinterpret_cast<float*>(operand(slot)); };
    if (problem_.addend >= 0 && operand(problem_.addend) != operand(problem_.result))
      cuda::check(cudaMemcpyAsync(operand(problem_.result), operand(problem_.addend),
                                  static_cast<size_t>(sum_of(problem_).bytes()), cudaMemcpyDeviceToDevice,
                                  cuda::stream_of(context)),
                  "cudaMemcpyAsync of a gradient");
    if (execution_) {
      cudnn::Execution::Addresses at{operand(problem_.x), operand(problem_.w), operand(problem_.y),
                                     is_fused_ ? operand(problem_.b) : nullptr, workspace};
      std::byte* const made = workspace + result_offset();
      if (adds_) (problem_.addend >= 0 ? at.x : at.w) = made;
      execution_->run(context.stream, at);
      if (adds_)
        cuda::add_to(context, floats(problem_.result), reinterpret_cast<float*>(made), sum_of(problem_).elements());
    }
    if (!is_fused_ && (problem_.b >= 0 || problem_.relu))
      cuda::add_bias(context, floats(problem_.result), floats(problem_.b), problem_.relu, planes_of(problem_.output));
    if (problem_.db >= 0)
      cuda::bias_gradient(context, floats(problem_.y), floats(problem_.db), problem_.db_accumulates, workspace,
                          planes_of(problem_.output));
  }

 private:
  int64_t result_offset() const { return adds_ ? aligned(execution_->workspace_bytes()) : 0; }

  Problem problem_;
  bool is_fused_ = false, adds_ = false;
  std::optional<cudnn::Execution> execution_;
};

void offer(std::vector<Algorithm>& all, const Problem& problem, const Convolution& convolution, std::string_view prefix,
           std::string_view suffix) {
  for (const cudnn::Engine& engine : cudnn::engines_for(cudnn::Graph(convolution))) {
    const int64_t result = suffix == kAdd ? sum_of(problem).bytes() : 0;
    const int64_t bytes = result > 0 ? aligned(engine.workspace_bytes) + result : engine.workspace_bytes;
    all.push_back(
        {.name = std::string(engine.tf32 ? kTf32 : "") + std::string(prefix) + engine.name + std::string(suffix),
         .workspace_bytes = std::max(bytes, bias_bytes(problem)),
         .deterministic = engine.deterministic,
         .tf32 = engine.tf32});
  }
}

// In cuDNN's order of preference, but exact and deterministic algorithms first; the first is the default. A grouped or
// depthwise convolution keeps cuDNN's own order after its default: its groups are small, and an engine on tensor cores
// may be slower there and need hundreds of MiB of workspace where cuDNN's first choice needs none.
std::vector<Algorithm> list(const Problem& problem) {
  if (problem.convolution.direction == Direction::backward_weights && problem.w < 0)
    return {{.name = std::string(kBias), .workspace_bytes = bias_bytes(problem)}};
  std::vector<Algorithm> all;
  if (problem.convolution.direction == Direction::forward && (problem.b >= 0 || problem.relu))
    offer(all, problem, fused(problem), kFused, "");
  offer(all, problem, problem.convolution, "", "");
  if (problem.convolution.accumulate) offer(all, problem, overwriting(problem), "", kAdd);
  if (all.empty()) {
    const std::string why = cudnn::why_no_engine(cudnn::Graph(problem.convolution));
    throw KernelError("cuDNN has no such convolution" + (why.empty() ? "" : ": " + why));
  }
  const auto is_exact = [](const Algorithm& a) { return a.deterministic && !a.tf32; };
  if (problem.convolution.attrs.group == 1) {
    std::stable_partition(all.begin(), all.end(), is_exact);
  } else if (const auto first = std::find_if(all.begin(), all.end(), is_exact); first != all.end()) {
    std::rotate(all.begin(), first, first + 1);
  }
  return all;
}

std::unique_ptr<Kernel> pick(const Problem& problem, std::string_view algorithm) {
  return std::make_unique<ConvKernel>(problem, algorithm.empty() ? list(problem).front().name : std::string(algorithm));
}

}  // namespace

#define PLIMSOLL_CONV(kernel, problem)                                                                            \
  std::vector<Algorithm> kernel::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {          \
    return list(problem(attrs, operands));                                                                        \
  }                                                                                                               \
  std::unique_ptr<Kernel> kernel::make(const Attrs& attrs, std::span<const OperandDesc> operands,                 \
                                       std::string_view algorithm) {                                              \
    return pick(problem(attrs, operands), algorithm);                                                             \
  }
PLIMSOLL_CONV(ConvForward, forward)
PLIMSOLL_CONV(ConvBackwardData, backward_data)
PLIMSOLL_CONV(ConvBackwardWeights, backward_weights)
PLIMSOLL_CONV(ConvTransposeForward, transpose_forward)
#undef PLIMSOLL_CONV

}  // namespace plimsoll
