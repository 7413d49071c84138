// The statistics of a query are those of our own kernels, so a forward by cuDNN and a backward by our own kernel fit
// together, and the reverse.
//
//   workspace   of the engine | two numbers of each query | results that the plan lays over an operand |
//               forward: the largest score, and the sum of exponentials;  backward: log-sum-exp, and Σ y · dy
#include "runtime/cuda/ops/attention_cudnn.h"

#include <algorithm>
#include <array>

#include "runtime/cuda/cudnn/attention.h"
#include "runtime/cuda/cudnn/execution.h"
#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/vector.h"

namespace plimsoll::cuda {
namespace {

using cudnn::AttentionUid;

int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

__global__ void to_statistics_kernel(int64_t rows, const float* largest, const float* sum, float* statistics) {
  const int64_t row = thread_number();
  if (row >= rows) return;
  statistics[2 * row] = largest[row];
  statistics[2 * row + 1] = 1 / sum[row];
}

__global__ void to_lse_kernel(int64_t rows, const float* statistics, float* lse) {
  const int64_t row = thread_number();
  if (row < rows) lse[row] = statistics[2 * row] - logf(statistics[2 * row + 1]);
}

// The slots of the task's operands. {q, k, v, mask, y, statistics, dy, dq, dk, dv, dscores}
constexpr size_t kY = 4, kStatistics = 5;
constexpr std::array kForwardReads = {std::pair(AttentionUid::q, size_t{0}), std::pair(AttentionUid::k, size_t{1}),
                                      std::pair(AttentionUid::v, size_t{2})};
constexpr std::array kBackwardReads = {kForwardReads[0], kForwardReads[1], kForwardReads[2],
                                       std::pair(AttentionUid::y, kY), std::pair(AttentionUid::dy, size_t{6})};
constexpr std::array kForwardWrites = {std::pair(AttentionUid::y, kY)};
constexpr std::array kBackwardWrites = {std::pair(AttentionUid::dq, size_t{7}), std::pair(AttentionUid::dk, size_t{8}),
                                        std::pair(AttentionUid::dv, size_t{9})};
using Slots = std::span<const std::pair<AttentionUid, size_t>>;

AttentionShape shape_of(const AttentionAttrs& attrs, std::span<const OperandDesc> operands) {
  return {attrs, operands[0].tensor, operands[1].tensor, operands[2].tensor, operands[3]};
}

cudnn::Graph graph_of(const AttentionShape& shape, DataType type, bool backward) {
  return backward ? cudnn::attention_backward(shape, type) : cudnn::attention_forward(shape, type);
}

// Where the parts of the workspace begin.
struct AttentionWorkspace {
  int64_t first = 0, second = 0, results = 0, end = 0;  // first, second: of the queries

  AttentionWorkspace(int64_t engine_bytes, const AttentionShape& s, std::span<const OperandDesc> operands,
                     bool backward) {
    const int64_t rows = aligned(s.rows() * static_cast<int64_t>(sizeof(float)));
    first = aligned(engine_bytes);
    second = first + rows;
    end = results = second + rows;
    for (const auto& [uid, slot] : backward ? Slots(kBackwardWrites) : Slots(kForwardWrites))
      end += aligned(operands[slot].tensor.bytes());
  }
};

class CudnnAttention final : public Kernel {
 public:
  CudnnAttention(const AttentionAttrs& attrs, std::span<const OperandDesc> operands, bool backward,
                 const std::string& engine)
      : shape_(shape_of(attrs, operands)),
        backward_(backward),
        reads_(backward ? Slots(kBackwardReads) : Slots(kForwardReads)),
        writes_(backward ? Slots(kBackwardWrites) : Slots(kForwardWrites)),
        execution_(graph_of(shape_, operands[0].tensor.type, backward), engine),
        parts_(execution_.workspace_bytes(), shape_, operands, backward) {
    for (const auto& [uid, slot] : writes_) bytes_.push_back(operands[slot].tensor.bytes());
  }

  int64_t workspace_found() const override { return parts_.end; }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    float* const first = reinterpret_cast<float*>(workspace + parts_.first);
    float* const second = reinterpret_cast<float*>(workspace + parts_.second);
    float* const statistics = out(operands, kStatistics);
    const int64_t rows = shape_.rows();
    if (backward_)
      launch("attention's log-sum-exp", to_lse_kernel, blocks_for(rows), kThreads, context, rows, statistics, first);
    std::vector<cudnn::Execution::Address> addresses = {
        address(backward_ ? AttentionUid::lse : AttentionUid::largest, first),
        address(backward_ ? AttentionUid::along : AttentionUid::sum, second)};
    for (const auto& [uid, slot] : reads_) addresses.push_back(address(uid, operands[slot]));
    // The plan may lay a result over an operand that our own kernels read first; cuDNN's make no such promise.
    std::byte* apart = workspace + parts_.results;
    std::vector<std::byte*> made;
    for (const auto& [uid, slot] : writes_) {
      const bool over =
          std::ranges::any_of(reads_, [&](const auto& read) { return operands[read.second] == operands[slot]; });
      made.push_back(over ? apart : operands[slot]);
      addresses.push_back(address(uid, made.back()));
      apart += aligned(bytes_[made.size() - 1]);
    }
    execution_.run(context.stream, addresses, workspace);
    for (size_t i = 0; i < made.size(); ++i)
      if (made[i] != operands[writes_[i].second])
        check(cudaMemcpyAsync(operands[writes_[i].second], made[i], static_cast<size_t>(bytes_[i]),
                              cudaMemcpyDeviceToDevice, stream_of(context)),
              "cudaMemcpyAsync of a result of attention");
    if (!backward_ && statistics != nullptr)
      launch("attention's statistics", to_statistics_kernel, blocks_for(rows), kThreads, context, rows, first, second,
             statistics);
  }

 private:
  static cudnn::Execution::Address address(AttentionUid uid, void* at) { return {static_cast<int64_t>(uid), at}; }

  AttentionShape shape_;
  bool backward_;
  Slots reads_, writes_;
  cudnn::Execution execution_;
  AttentionWorkspace parts_;
  std::vector<int64_t> bytes_;  // of the results
};

}  // namespace

std::vector<Algorithm> with_cudnn_attention(std::vector<Algorithm> own, const AttentionAttrs& attrs,
                                            std::span<const OperandDesc> operands, bool backward) {
  const AttentionShape shape = shape_of(attrs, operands);
  const DataType type = operands[0].tensor.type;
  if (operands[3].access != Access::absent || !cudnn::expresses(shape, attrs, type)) return own;
  const auto is_absent = [&](const auto& write) { return operands[write.second].access == Access::absent; };
  if (backward && std::ranges::any_of(kBackwardWrites, is_absent)) return own;
  std::vector<cudnn::Engine> engines;
  try {
    engines = cudnn::engines_for(graph_of(shape, type, backward));
  } catch (const KernelError&) {
    return own;  // cuDNN rejects these shapes
  }
  for (const cudnn::Engine& engine : engines)
    own.push_back({.name = std::string(kCudnnAttention) + engine.name,
                   .workspace_bytes = AttentionWorkspace(engine.workspace_bytes, shape, operands, backward).end,
                   .deterministic = engine.deterministic,
                   .compared = false});
  return own;
}

std::unique_ptr<Kernel> cudnn_attention(const AttentionAttrs& attrs, std::span<const OperandDesc> operands,
                                        bool backward, std::string_view algorithm) {
  return std::make_unique<CudnnAttention>(attrs, operands, backward,
                                          std::string(algorithm.substr(kCudnnAttention.size())));
}

}  // namespace plimsoll::cuda
