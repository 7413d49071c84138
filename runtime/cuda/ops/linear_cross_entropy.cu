// LinearCrossEntropy {x, weight, labels, loss, correct, dx, dweight, bias, dbias, class weights}
//   x [R, K], weight [K, C] or transposed [C, K], labels [R] i32 or i64      compiler/ops/linearcrossentropyloss.cpp
//
// For some rows at a time: the logits by a product of cuBLASLt, a block for each row's loss and gradient, which
// replaces the logits, and the products of that gradient with x and with the weight. x and weight are f32, bf16 or f16,
// dx is f32 or has their type, as the logits do. dx may overwrite x. The rows are taken in order, so the sums over rows
// are deterministic.
//
//   workspace  | divisor of a counted mean | the share of each row in the loss | logits of some rows | of cuBLASLt |
//
// An algorithm is a kind of arithmetic of MatMul's algorithms, and a number of rows: tf32_rows_512.
#include <algorithm>
#include <array>

#include "runtime/cuda/device/kernel.h"
#include "runtime/cuda/device/reduce.h"
#include "runtime/cuda/device/vector.h"
#include "runtime/cuda/ops/entropy_rows.h"
#include "runtime/cuda/ops/matmul.h"
#include "runtime/cuda/ops/weighed_entropy.h"
#include "runtime/kernels.h"
#include "runtime/linear_cross_entropy.h"

namespace plimsoll {
namespace {

using Slots = LinearLossSlots;

// Of the rows of one launch. They are added up when all rows have theirs.
struct SharesOfRows {
  cuda::LossShare* shares;

  template <class Scale>
  __device__ void settle(const cuda::LossShare& share, const Scale&) const {
    if (threadIdx.x == 0) shares[blockIdx.x] = share;
  }
};

// One block.
__global__ void sum_of_shares_kernel(int64_t rows, cuda::EntropyScale scale, const cuda::LossShare* shares, float* loss,
                                     float* hits) {
  cuda::LossShare sum{0, 0};
  for (int64_t i = threadIdx.x; i < rows; i += cuda::kThreads) sum = cuda::plus(sum, shares[i]);
  sum = cuda::block_reduce<cuda::kThreads>(sum, cuda::plus);
  if (threadIdx.x != 0) return;
  *loss = static_cast<float>(sum.loss * scale.exact());
  if (hits) *hits = static_cast<float>(sum.hits);
}

// The gradient of the bias: a thread for each class.
template <class T>
__global__ void add_rows_of_logits_kernel(int64_t rows, int64_t classes, bool adds, const T* gradient, float* dbias) {
  const int64_t c = cuda::thread_number();
  if (c >= classes) return;
  float sum = adds ? dbias[c] : 0;
  for (int64_t i = 0; i < rows; ++i) sum += cuda::load_one(gradient + i * classes + c);
  dbias[c] = sum;
}

bool has_operand(std::span<const OperandDesc> operands, Slots::Slot slot) {
  return operands[slot].access != Access::absent;
}

int64_t on_boundary_of_parts(int64_t bytes) { return (bytes + 255) / 256 * 256; }

// "tf32" of "tf32_4MiB"
std::string kind_of_product(std::string_view name) { return std::string(name.substr(0, name.find('_'))); }

struct LinearLossProduct {
  MatMulAttrs attrs;
  std::array<OperandDesc, 4> operands;
  int64_t alignment = 256;

  // Of the kind, the algorithm with the largest workspace up to a limit: sums over many classes are split.
  Algorithm algorithm(const std::string& kind) const {
    constexpr int64_t kMostBytes = int64_t{4} << 20;
    Algorithm best{.workspace_bytes = -1};
    for (const Algorithm& one : MatMul::algorithms(attrs, operands))
      if (kind_of_product(one.name) == kind && one.workspace_bytes > best.workspace_bytes &&
          (best.workspace_bytes < 0 || one.workspace_bytes <= kMostBytes))
        best = one;
    if (best.workspace_bytes < 0) throw KernelError("LinearCrossEntropy: no product of the kind '" + kind + "'");
    return best;
  }
  std::unique_ptr<Kernel> make(const std::string& kind) const {
    return cuda::product_of_parts(attrs, operands, algorithm(kind).name, alignment);
  }
};

// The products of `rows` rows, where the first of each part is a multiple of `at_a_time`. `adds`: to the gradient of
// the weight.
struct LinearLossParts {
  LinearLossProduct logits, dx, dweight;

  LinearLossParts(const LinearLossShape& s, int64_t rows, int64_t at_a_time, bool adds,
                  std::span<const OperandDesc> given) {
    const auto matrix = [](DataType type, int64_t height, int64_t width, Access access) {
      return OperandDesc{.tensor = {.type = type, .dims = {height, width}}, .access = access};
    };
    const DataType type = given[Slots::x].tensor.type,
                   of_dx = has_operand(given, Slots::dx) ? given[Slots::dx].tensor.type : type;
    const OperandDesc x = matrix(type, rows, s.inner, Access::read), &weight = given[Slots::weight],
                      slope = matrix(type, rows, s.classes, Access::read);
    int64_t alignment = 256;
    while (at_a_time * s.inner * bytes_of(type) % alignment != 0) alignment /= 2;  // f32 is no worse
    const OperandDesc row = has_operand(given, Slots::bias) ? given[Slots::bias] : OperandDesc{};
    logits = {{.transpose_b = s.transposed}, {x, weight, row, matrix(type, rows, s.classes, Access::write)}, alignment};
    dx = {{.transpose_b = !s.transposed},
          {slope, weight, OperandDesc{}, matrix(of_dx, rows, s.inner, Access::write)},
          alignment};
    const OperandDesc sum = matrix(DataType::f32, s.transposed ? s.classes : s.inner,
                                   s.transposed ? s.inner : s.classes, adds ? Access::update : Access::write);
    dweight = {
        {.transpose_a = true}, {s.transposed ? slope : x, s.transposed ? x : slope, OperandDesc{}, sum}, alignment};
  }

  int64_t workspace_bytes(const std::string& kind) const {
    return std::max({logits.algorithm(kind).workspace_bytes, dx.algorithm(kind).workspace_bytes,
                     dweight.algorithm(kind).workspace_bytes});
  }
};

struct LinearLossWays {
  LinearLossShape s;
  int64_t some;  // rows at a time
  std::vector<LinearLossParts> parts = {};  // of the first rows; of as many, where there are more; of what is left over

  LinearLossWays(const LinearCrossEntropyAttrs& attrs, std::span<const OperandDesc> operands, int64_t at_a_time)
      : s(attrs, operands), some(std::min(at_a_time, s.rows)) {
    parts.emplace_back(s, some, some, cuda::adds(operands[Slots::dweight]), operands);
    parts.emplace_back(s, some, some, true, operands);
    parts.emplace_back(s, s.rows % some == 0 ? some : s.rows % some, some, true, operands);
  }
  // Of the part that begins with this row.
  size_t part_at(int64_t first) const { return first == 0 ? 0 : first + some <= s.rows ? 1 : 2; }

  int64_t before_shares() const { return cuda::kBytesOfCount; }
  int64_t before_logits() const { return before_shares() + on_boundary_of_parts(cuda::bytes_of_shares(s.rows)); }
  int64_t before_products() const {
    return before_logits() + on_boundary_of_parts(some * s.classes * bytes_of(parts[0].logits.operands[0].tensor.type));
  }
  int64_t workspace_bytes(const std::string& kind) const {
    int64_t most = 0;
    for (const LinearLossParts& one : parts) most = std::max(most, one.workspace_bytes(kind));
    return before_products() + most;
  }
};

class LinearCrossEntropyKernel final : public Kernel {
 public:
  LinearCrossEntropyKernel(const LinearCrossEntropyAttrs& attrs, std::span<const OperandDesc> operands,
                           int64_t at_a_time, const std::string& kind)
      : attrs_(attrs.of_logits()),
        ways_(attrs, operands, at_a_time),
        type_(operands[Slots::x].tensor.type),
        bytes_of_dx_(bytes_of(operands[Slots::dx].tensor.type)),
        wide_labels_(operands[Slots::labels].tensor.type == DataType::i64),
        adds_to_bias_(cuda::adds(operands[Slots::dbias])) {
    const auto make = [&](const LinearLossProduct& product, bool wanted) {
      return wanted ? product.make(kind) : std::unique_ptr<Kernel>();
    };
    for (const LinearLossParts& one : ways_.parts)
      products_.push_back({.logits = one.logits.make(kind),
                           .dx = make(one.dx, has_operand(operands, Slots::dx)),
                           .dweight = make(one.dweight, has_operand(operands, Slots::dweight))});
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    cuda::by_real(type_, [&](auto zero) { run_in<decltype(zero)>(context, operands, workspace); });
  }

 private:
  struct Products {
    std::unique_ptr<Kernel> logits, dx, dweight;
  };

  template <class T>
  void run_in(const RunContext& context, std::byte* const* operands, std::byte* workspace) {
    const LinearLossShape& s = ways_.s;
    const cuda::Weighing weighing{cuda::in(operands, Slots::class_weights), s.classes, attrs_.smoothing};
    const cuda::ClassLabels all_labels{operands[Slots::labels], wide_labels_, attrs_.ignore_index};
    const cuda::EntropyScale scale = cuda::entropy_scale(attrs_, context, s.rows, weighing, all_labels,
                                                         reinterpret_cast<double*>(workspace));
    auto* const shares = reinterpret_cast<cuda::LossShare*>(workspace + ways_.before_shares());
    std::byte* const logits = workspace + ways_.before_logits();
    std::byte* const of_products = workspace + ways_.before_products();
    for (int64_t first = 0; first < s.rows; first += ways_.some) {
      const int64_t count = std::min(ways_.some, s.rows - first);
      const Products& products = products_[ways_.part_at(first)];
      std::byte *const x = operands[Slots::x] + first * s.inner * static_cast<int64_t>(sizeof(T)),
                *const weight = operands[Slots::weight];
      std::byte* const for_logits[] = {x, weight, operands[Slots::bias], logits};
      products.logits->run(context, for_logits, of_products);
      const cuda::ClassLabels labels{operands[Slots::labels] + first * (wide_labels_ ? 8 : 4), wide_labels_,
                                     attrs_.ignore_index};
      take_loss<T>(context, count, scale, weighing, labels, reinterpret_cast<T*>(logits), {shares + first});
      if (!context.training) continue;
      if (float* const dbias = cuda::out(operands, Slots::dbias))
        cuda::launch("gradient of a bias", add_rows_of_logits_kernel<T>, cuda::blocks_for(s.classes), cuda::kThreads,
                     context, count, s.classes, first > 0 || adds_to_bias_, reinterpret_cast<const T*>(logits), dbias);
      if (products.dweight) {  // before dx, which may be where x is
        std::byte* const for_weight[] = {s.transposed ? logits : x, s.transposed ? x : logits, nullptr,
                                         operands[Slots::dweight]};
        products.dweight->run(context, for_weight, of_products);
      }
      if (products.dx) {
        std::byte* const for_x[] = {logits, weight, nullptr,
                                    operands[Slots::dx] + first * s.inner * bytes_of_dx_};
        products.dx->run(context, for_x, of_products);
      }
    }
    cuda::launch("loss of all rows", sum_of_shares_kernel, 1, cuda::kThreads, context, s.rows, scale,
                 static_cast<const cuda::LossShare*>(shares), cuda::out(operands, Slots::loss),
                 cuda::out(operands, Slots::correct));
  }

  // Replaces the logits by their gradient, in training.
  template <class T>
  void take_loss(const RunContext& context, int64_t rows, const cuda::EntropyScale& scale,
                 const cuda::Weighing& weighing, const cuda::ClassLabels& labels, T* logits,
                 const SharesOfRows& shares) const {
    T* const gradient = context.training ? logits : nullptr;
    const T* const given = logits;
    if (weighing.weights != nullptr || weighing.smoothing != 0)
      return cuda::launch("softmax and cross entropy", cuda::weighed_rows_kernel<T, SharesOfRows>, rows, cuda::kThreads,
                          context, weighing.classes, scale, weighing, labels, given, gradient, shares,
                          cuda::EachLoss{});
    cuda::by_step_of_plane(cuda::step_of_plane(weighing.classes), [&](auto step) {
      cuda::launch("softmax and cross entropy", cuda::loss_rows_kernel<decltype(step)::value, T, SharesOfRows>, rows,
                   cuda::kThreads, context, weighing.classes, scale, labels, given, gradient, shares);
    });
  }

  const SoftmaxCrossEntropyAttrs attrs_;
  const LinearLossWays ways_;
  const DataType type_;
  const int64_t bytes_of_dx_;  // of an element
  const bool wide_labels_, adds_to_bias_;
  std::vector<Products> products_;
};

// body(kind, tf32, rows at a time), in the order of the algorithms.
template <class Body>
void for_each_way(const LinearCrossEntropyAttrs& attrs, std::span<const OperandDesc> operands, Body body) {
  const LinearLossShape s(attrs, operands);
  const LinearLossProduct logits = LinearLossWays(attrs, operands, s.rows).parts[0].logits;
  std::string last;
  for (const Algorithm& one : MatMul::algorithms(logits.attrs, logits.operands)) {
    const std::string kind = kind_of_product(one.name);
    if (kind == last) continue;
    last = kind;
    for (const int64_t some : rows_at_a_time(s.rows)) body(kind, one.tf32, some);
  }
}

std::string name_of_way(const std::string& kind, int64_t some) { return kind + "_" + name_of_rows(some); }

}  // namespace

std::vector<Algorithm> LinearCrossEntropy::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  std::vector<Algorithm> all;
  for_each_way(attrs, operands, [&](const std::string& kind, bool tf32, int64_t some) {
    all.push_back({.name = name_of_way(kind, some),
                   .workspace_bytes = LinearLossWays(attrs, operands, some).workspace_bytes(kind),
                   .tf32 = tf32});
  });
  return all;
}

std::unique_ptr<Kernel> LinearCrossEntropy::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                                 std::string_view algorithm) {
  std::unique_ptr<Kernel> made;
  for_each_way(attrs, operands, [&](const std::string& kind, bool, int64_t some) {
    if (!made && (algorithm.empty() || algorithm == name_of_way(kind, some)))
      made = std::make_unique<LinearCrossEntropyKernel>(attrs, operands, some, kind);
  });
  if (!made) throw KernelError("LinearCrossEntropy: no algorithm '" + std::string(algorithm) + "'");
  return made;
}

}  // namespace plimsoll
