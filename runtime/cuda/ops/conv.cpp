// ConvForward {x, w, b, y}   ConvBackwardData {w, dy, dx, addend?}   ConvBackwardWeights {x, dy, dw, db}
// ConvTransposeForward {x, w, b, y}: dx of a convolution whose dy is x, and a bias.
//
// Convolutions are cuDNN's; its engine configurations are the algorithms (runtime/cuda/cudnn/engines.h):
//   eng34_k2=5         that engine; a bias and a ReLU follow in a separate pass
//   fused_eng34_k2=5   with bias and ReLU in cuDNN's graph
//   tf32_eng34_k2=5    an engine that multiplies on tensor cores; a name without tf32_ never runs such an engine
//   bf16_eng34_k2=5    the factors are in bf16; f16_: in f16. cuDNN has no dw in f32 then: it is computed in their type
//                      in the workspace, from sums in f32, and widened. A bias that is fused into such a y is rounded
//                      first
//   eng34_k2=5_add     an accumulating gradient: computed in the workspace, then added. Without the suffix cuDNN adds
//   bias               only the bias is trained: no convolution
//
// An addend of dx is where dx is, or is copied there. cuDNN then adds to it (beta = 1), as to dw.
//
//   workspace   of an engine, or of the sums of a bias, one after the other |
//               dw or dx of an _add, or that is widened; a bias that is rounded |
#include "runtime/cuda/cudnn/convolution.h"
#include "runtime/cuda/cudnn/execution.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/ops/bias.h"
#include "runtime/kernels.h"
#include "runtime/precision.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace plimsoll {
namespace {

using cudnn::Convolution;
using cudnn::Direction;

constexpr std::string_view kTf32 = "tf32_", kFused = "fused_", kAdd = "_add", kBias = "bias";

// "bf16_", "f16_": of factors of that type. "": of factors in f32.
std::string narrow_prefix(const Convolution& convolution) {
  const DataType narrow = cudnn::narrow_factors(convolution);
  return is_narrow(narrow) ? std::string(name_of(narrow)) + "_" : "";
}

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
  bool widens = false;       // backward_weights: w is computed in the factors' type and widened, or then added
  bool accumulates = false;  // what is widened
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
  if (adds && operands[3].tensor.type != operands[2].tensor.type)
    throw KernelError("a gradient that is added has another type than the sum");
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
  Problem problem{.convolution = {Direction::backward_weights, operands[0].tensor, operands[2].tensor,
                                  operands[1].tensor, attrs, false, false, operands[2].access == Access::update},
                  .x = 0,
                  .w = dw,
                  .y = 1,
                  .result = dw,
                  .db = slot_if(operands, 3),
                  .db_accumulates = operands[3].access == Access::update,
                  .output = operands[1].tensor};
  const DataType narrow = cudnn::narrow_factors(problem.convolution);
  problem.widens = dw >= 0 && is_narrow(narrow) && operands[2].tensor.type == DataType::f32;
  if (problem.widens) {
    problem.convolution.w.type = narrow;
    problem.accumulates = std::exchange(problem.convolution.accumulate, false);
  }
  return problem;
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

// What an accumulating gradient is added to; or what is widened.
const TensorDesc& sum_of(const Problem& problem) {
  return problem.convolution.direction == Direction::backward_data ? problem.convolution.x : problem.convolution.w;
}

// Of what a fused bias becomes if y is narrow.
int64_t rounded_bias_bytes(const Problem& problem) {
  return problem.b >= 0 && is_narrow(problem.output.type) ? problem.output.dim(1) * bytes_of(problem.output.type) : 0;
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
    const std::string narrow = narrow_prefix(problem.convolution);
    if (!engine.starts_with(narrow) || (narrow.empty() && (engine.starts_with("bf16_") || engine.starts_with("f16_"))))
      throw KernelError("'" + std::string(name) + "' is for factors of another type");
    engine.remove_prefix(narrow.size());
    is_fused_ = engine.starts_with(kFused);
    if (is_fused_) engine.remove_prefix(kFused.size());
    adds_ = engine.ends_with(kAdd);
    if (adds_) engine.remove_suffix(kAdd.size());
    execution_.emplace(cudnn::graph_of(is_fused_ ? fused(problem)
                                       : adds_   ? overwriting(problem)
                                                 : problem.convolution),
                       std::string(engine));
    if (execution_->tf32() && !tf32) throw KernelError("'" + std::string(name) + "' multiplies in TF32 here");
  }

  int64_t workspace_found() const override {
    const int64_t engine = execution_ ? execution_->workspace_bytes() : 0;
    return std::max(beside_bytes() > 0 ? beside_offset() + beside_bytes() : engine, bias_bytes(problem_));
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const auto operand = [&](int slot) { return slot < 0 ? nullptr : operands[slot]; };
    const auto floats = [&](int slot) { return reinterpret_cast<float*>(operand(slot)); };
    // body(the operand's elements, in their type)
    const auto elements = [&](int slot, const TensorDesc& desc, auto body) {
      cuda::by_real(desc.type, [&](auto zero) { body(reinterpret_cast<decltype(zero)*>(operand(slot))); });
    };
    if (problem_.addend >= 0 && operand(problem_.addend) != operand(problem_.result))
      cuda::check(cudaMemcpyAsync(operand(problem_.result), operand(problem_.addend),
                                  static_cast<size_t>(sum_of(problem_).bytes()), cudaMemcpyDeviceToDevice,
                                  cuda::stream_of(context)),
                  "cudaMemcpyAsync of a gradient");
    if (execution_) {
      std::byte *x = operand(problem_.x), *w = operand(problem_.w), *y = operand(problem_.y),
                *b = is_fused_ ? operand(problem_.b) : nullptr;
      std::byte* const made = workspace + beside_offset();
      if (is_fused_ && rounded_bias_bytes(problem_) > 0) {
        narrow_elements(context, problem_.output.type, b, made, problem_.output.dim(1));
        b = made;
      }
      if (is_apart()) (problem_.addend >= 0 ? x : w) = made;
      const auto at = [](cudnn::Uid uid, std::byte* address) {
        return cudnn::Execution::Address{static_cast<int64_t>(uid), address};
      };
      const std::array addresses = {at(cudnn::Uid::x, x), at(cudnn::Uid::w, w), at(cudnn::Uid::y, y),
                                    at(cudnn::Uid::b, b)};
      execution_->run(context.stream, addresses, workspace);
      const int64_t count = sum_of(problem_).padded_elements();
      if (problem_.widens && problem_.accumulates)
        cuda::by_narrow(sum_of(problem_).type, [&](auto zero) {
          cuda::add_to(context, floats(problem_.result), reinterpret_cast<const decltype(zero)*>(made), count);
        });
      else if (problem_.widens) widen_elements(context, sum_of(problem_).type, made, operand(problem_.result), count);
      if (adds_)
        elements(problem_.result, sum_of(problem_),
                 [&]<class T>(T* sum) { cuda::add_to(context, sum, reinterpret_cast<const T*>(made), count); });
    }
    if (!is_fused_ && (problem_.b >= 0 || problem_.relu))
      elements(problem_.result, problem_.output, [&](auto* y) {
        cuda::add_bias(context, y, floats(problem_.b), problem_.relu, planes_of(problem_.output));
      });
    if (problem_.db >= 0)
      elements(problem_.y, problem_.output, [&]<class T>(T* dy) {
        cuda::bias_gradient<T>(context, dy, floats(problem_.db), problem_.db_accumulates, workspace,
                               planes_of(problem_.output));
      });
  }

 private:
  // The engine's result is in the workspace.
  bool is_apart() const { return adds_ || (execution_ && problem_.widens); }
  // What is after the engine's own workspace.
  int64_t beside_bytes() const {
    return is_apart() ? sum_of(problem_).bytes() : is_fused_ ? rounded_bias_bytes(problem_) : 0;
  }
  int64_t beside_offset() const { return beside_bytes() > 0 ? aligned(execution_->workspace_bytes()) : 0; }

  Problem problem_;
  bool is_fused_ = false, adds_ = false;
  std::optional<cudnn::Execution> execution_;
};

void offer(std::vector<Algorithm>& all, const Problem& problem, const Convolution& convolution, std::string_view prefix,
           std::string_view suffix) {
  const std::string narrow = narrow_prefix(convolution);
  for (const cudnn::Engine& engine : cudnn::engines_for(cudnn::graph_of(convolution))) {
    const int64_t beside = suffix == kAdd || problem.widens ? sum_of(problem).bytes()
                           : prefix == kFused               ? rounded_bias_bytes(problem)
                                                            : 0;
    const int64_t bytes = beside > 0 ? aligned(engine.workspace_bytes) + beside : engine.workspace_bytes;
    all.push_back({.name = (!narrow.empty() ? narrow
                            : engine.tf32   ? std::string(kTf32)
                                            : std::string()) +
                           std::string(prefix) + engine.name + std::string(suffix),
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
    const std::string why = cudnn::why_no_engine(cudnn::graph_of(problem.convolution));
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
