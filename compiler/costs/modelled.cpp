#include "compiler/costs/modelled.h"

#include <algorithm>
#include <iterator>

#include "compiler/costs/convolution.h"
#include "compiler/support/bytes.h"
#include "runtime/attrs/loss.h"

namespace plimsoll {
namespace {

// Tasks with many operations per byte are matrix products, or built from them. All others are limited by memory.
constexpr double kDenseFlopsPerByte = 8;

// Of the share of the tensor cores' peak that convolutions and products have, what attention reaches, which computes
// exponentials between two products. GPT-2 small on an H200: 55 TFLOP/s in the forward and 61 in the backward. In bf16
// and f16 they take 0.89 and 0.73 of that time.
constexpr double kAttentionShare = 0.27;
constexpr double kNarrowAttentionForward = 0.89, kNarrowAttentionBackward = 0.73;

bool is_attention(const Task& task) { return task.kernel == "AttentionForward" || task.kernel == "AttentionBackward"; }

bool is_linear_cross_entropy(const Task& task) { return task.kernel == "LinearCrossEntropy"; }

// What the kernel of LinearCrossEntropy does besides its products, with this many rows of logits at a time: it reads
// the weight twice and changes its gradient for each part of the rows, and the logits pass through memory twice. What
// the first part does with the weight is counted with the products.
AlgorithmCost parts_of_logits(const Device& device, const Task& task, int64_t samples, int64_t at_a_time) {
  const auto tensor = [&](size_t slot) { return task.operands[slot].type.at(samples); };
  const TensorDesc x = tensor(0), weight = tensor(1);
  const int64_t rows = x.dim(0), classes = weight.elements() / x.dim(1), element = bytes_of(x.type);
  const int64_t parts = (rows + at_a_time - 1) / at_a_time;
  const int64_t gradient = task.operands[6].access == Access::absent ? 0 : tensor(6).bytes();
  const auto moved = static_cast<double>(2 * (parts - 1) * (weight.bytes() + gradient) + 2 * rows * classes * element);
  constexpr int64_t kLaunches = 5;
  return {.name = "rows_" + std::to_string(at_a_time),
          .workspace_bytes = align_up(std::min(rows, at_a_time) * classes * element),
          .seconds = moved / (device.memory_bytes_per_second * device.efficiency.memory) +
                     static_cast<double>(kLaunches * parts) * device.launch_seconds};
}

// One for each number of rows at a time, the fastest first.
std::vector<AlgorithmCost> linear_cross_entropy_algorithms(const Device& device, const Task& task, int64_t samples,
                                                           double products_seconds) {
  std::vector<AlgorithmCost> all;
  for (const int64_t some : kRowsOfLogits) {
    if (some >= task.operands[0].type.at(samples).dim(0) && some != std::end(kRowsOfLogits)[-1]) continue;
    all.push_back(parts_of_logits(device, task, samples, some));
    all.back().seconds += products_seconds;
  }
  return all;
}

// The steps of a recurrent network depend on each other: each has a product, then a kernel for its elements. On an
// H200, a step of 16 samples and 512 states takes as long as 3 launches in the forward (13 µs), and as 6 in the
// backward, whose product has sums four times as long (24 µs for the LSTM, 29 for the GRU). A GRU that resets before
// the product has two products and two kernels instead. It has not been measured there: one of its two products in the
// backward has sums as long as the state, the other twice as long.
int64_t launches_of(const Task& task) {
  struct Steps {
    std::string_view kernel;
    size_t of_all_steps;  // an operand
    int64_t launches;     // of a step
  };
  static constexpr Steps kSteps[] = {{"LstmForward", 0, 3},          {"LstmBackward", 2, 6},
                                     {"GruForward", 0, 3},           {"GruBackward", 2, 6},
                                     {"ResetFirstGruForward", 0, 6}, {"ResetFirstGruBackward", 2, 8}};
  for (const Steps& steps : kSteps)
    if (task.kernel == steps.kernel) return steps.launches * task.operands[steps.of_all_steps].type.dims[0].value;
  return 1;
}

// A convolution of one group, a product, the steps of a recurrent network or attention, at a share of the tensor cores'
// peak; nullopt if they do not run it.
std::optional<AlgorithmCost> on_tensor_cores(const Device& device, double peak, double share, const Task& task,
                                             int64_t samples) {
  if (peak == 0) return {};
  const auto shape = convolution_of(task, samples);
  if (shape ? shape->groups > 1
            : task.kernel != "MatMul" && launches_of(task) == 1 && !is_attention(task) &&
                  !is_linear_cross_entropy(task))
    return {};
  if (is_attention(task)) share *= kAttentionShare;
  if (shape && shape->direction == ConvDirection::backward_data) share *= device.efficiency.backward_data;
  if (shape && shape->direction == ConvDirection::backward_weights) share *= device.efficiency.backward_weights;
  Device tensor_cores = device;
  tensor_cores.flops_per_second = peak;
  const double flops = shape ? direct_flops(*shape) : static_cast<double>(task.flops.at(samples));
  const double memory = device.memory_bytes_per_second * device.efficiency.memory;
  const double move = static_cast<double>(task.bytes_moved(samples)) / memory;
  const int64_t turned = shape ? bytes_turned_around(*shape, true) : 0;
  if (is_linear_cross_entropy(task)) {
    AlgorithmCost cost = linear_cross_entropy_algorithms(device, task, samples,
                                                         std::max(compute_seconds(tensor_cores, flops, share), move))
                             .front();
    cost.name = "tensor_cores";
    return cost;
  }
  return AlgorithmCost{.name = "tensor_cores",
                       .workspace_bytes = align_up(turned),
                       .seconds = std::max(compute_seconds(tensor_cores, flops, share), move) +
                                  2 * static_cast<double>(turned) / memory +
                                  static_cast<double>(turned > 0 ? 3 : launches_of(task)) * device.launch_seconds};
}

// Both factors are in bf16 or f16, which tensor cores multiply at one rate. They are the first two operands of every
// such kernel.
std::optional<AlgorithmCost> narrow_algorithm(const Device& device, const Task& task, int64_t samples) {
  if (task.operands.size() < 2 || !is_narrow(task.operands[0].type.type) || !is_narrow(task.operands[1].type.type))
    return {};
  if (is_attention(task)) {
    auto cost = on_tensor_cores(device, device.tf32_flops_per_second, device.efficiency.tf32, task, samples);
    if (cost) cost->seconds *= task.kernel == "AttentionForward" ? kNarrowAttentionForward : kNarrowAttentionBackward;
    return cost;
  }
  const bool is_product = task.kernel == "MatMul" || is_linear_cross_entropy(task);
  const double share = is_product ? device.efficiency.matrix_product : device.efficiency.tf32;
  return on_tensor_cores(device, device.bf16_flops_per_second, share, task, samples);
}

}  // namespace

std::vector<AlgorithmCost> modelled_algorithms(const Device& device, const Task& task, int64_t samples) {
  if (const std::optional<AlgorithmCost> narrow = narrow_algorithm(device, task, samples)) return {*narrow};
  if (const auto shape = convolution_of(task, samples)) return convolution_algorithms(device, *shape);
  const double flops = static_cast<double>(task.flops.at(samples)),
               bytes = static_cast<double>(task.bytes_moved(samples));
  const double move = bytes / (device.memory_bytes_per_second * device.efficiency.memory);
  const bool dense = task.kernel == "MatMul" || flops >= kDenseFlopsPerByte * bytes;
  const double compute = dense ? compute_seconds(device, flops, device.efficiency.matrix_product) : 0;
  if (is_linear_cross_entropy(task))
    return linear_cross_entropy_algorithms(device, task, samples, std::max(compute, move));
  const double launches = static_cast<double>(launches_of(task));
  return {{.name = "modelled", .seconds = std::max(compute, move) + launches * device.launch_seconds}};
}

std::optional<AlgorithmCost> tf32_algorithm(const Device& device, const Task& task, int64_t samples) {
  std::optional<AlgorithmCost> cost =
      on_tensor_cores(device, device.tf32_flops_per_second, device.efficiency.tf32, task, samples);
  if (cost) cost->tf32 = true;
  return cost;
}

double widening_seconds(const Device& device, const Task& task, int64_t samples) {
  int64_t bytes = 0;
  for (const Operand& operand : task.operands)
    if (operand.access != Access::absent && is_narrow(operand.type.type)) bytes += operand.type.bytes(samples);
  return 4.0 * static_cast<double>(bytes) / (device.memory_bytes_per_second * device.efficiency.memory);
}

LinkRates link_rates(const Device& device) {
  // A copy passes its bytes through the device's memory once; on the host, where both ends lie, twice.
  const double passes = device.kind == "host" ? 2 : 1;
  return {.d2h_bytes_per_second = device.d2h_bytes_per_second,
          .h2d_bytes_per_second = device.h2d_bytes_per_second,
          .latency_seconds = device.link_latency_seconds,
          .slowdown = passes * std::min(device.d2h_bytes_per_second, device.h2d_bytes_per_second) /
                      device.memory_bytes_per_second,
          .ranks = device.ranks};
}

Status ModelledCosts::prepare(const TaskGraph& graph, int64_t samples) {
  for_each_work(graph, [&](const Task& task) {
    std::vector<AlgorithmCost>& costs = costs_.find_or_add(task, samples);
    if (!costs.empty()) return;
    costs = modelled_algorithms(device_, task, samples);
    const std::optional<AlgorithmCost> tf32 = admits_tf32_ ? tf32_algorithm(device_, task, samples) : std::nullopt;
    if (!tf32) return;
    costs.push_back(*tf32);
    std::stable_sort(costs.begin(), costs.end(),
                     [](const AlgorithmCost& a, const AlgorithmCost& b) { return a.seconds < b.seconds; });
  });
  return {};
}

std::span<const AlgorithmCost> ModelledCosts::algorithms(const Task& task, int64_t samples) const {
  const std::vector<AlgorithmCost>* const found = costs_.find(task, samples);
  PLIMSOLL_CHECK(found, "costs were not prepared for " + task.name);
  return *found;
}

}  // namespace plimsoll
