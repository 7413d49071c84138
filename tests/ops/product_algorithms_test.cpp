// The host's algorithms of matrix products that its processor and oneDNN decide: with a packed factor, and on operands
// in bf16 widened to f32.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "executor.h"
#include "runtime/host/engine.h"
#include "runtime/kernels.h"
#include "runtime/precision.h"
#include "team.h"

namespace plimsoll::test {
namespace {

struct ProductCase {
  const char* what;
  int64_t rows, inner, columns;
  MatMulAttrs attrs = {};
  bool has_bias = false, accumulates = false;
  bool packs = true;

  std::vector<OperandDesc> operands(DataType type = DataType::f32) const {
    const auto matrix = [&](int64_t m, int64_t n, bool transposed) {
      return TensorDesc{type, transposed ? IntList{n, m} : IntList{m, n}, Layout::plain};
    };
    const TensorDesc y = matrix(rows, columns, false);
    return {read(matrix(rows, inner, attrs.transpose_a)), read(matrix(inner, columns, attrs.transpose_b)),
            has_bias ? read(TensorDesc{type, {columns}, Layout::plain}) : absent(),
            accumulates ? update(y) : write(y)};
  }
};

const ProductCase kProductCases[] = {
    {"rows of 4 KiB", 40, 7, 1024},
    {"rows of 12 KiB, with a bias", 33, 20, 3072, {}, true},
    {"the gradient of a weight", 32, 40, 3072, {.transpose_a = true}},
    {"the same, accumulated", 32, 40, 3072, {.transpose_a = true}, false, true},
    {"scaled", 64, 5, 2048, {.alpha = 0.5}},
    {"few rows", 31, 7, 3072, {}, false, false, false},
    {"a transposed factor", 40, 7, 3072, {.transpose_b = true}, false, false, false},
    {"rows of 4000 bytes", 40, 7, 1000, {}, false, false, false},
};

bool begins_with(const Algorithm& algorithm, std::string_view prefix) { return algorithm.name.starts_with(prefix); }

// What a kernel leaves in each operand that it writes. What it reads has numbers of both signs, up to `largest`.
std::vector<Values> results_of(std::span<const OperandDesc> operands, Kernel& kernel, int64_t workspace_bytes,
                               double largest = 1) {
  std::vector<Buffer> buffers;
  std::vector<std::byte*> addresses;
  for (const OperandDesc& operand : operands) {
    buffers.emplace_back(operand.access == Access::absent ? 0 : operand.tensor.bytes());
    Values numbers(static_cast<size_t>(buffers.back().size() > 0 ? operand.tensor.elements() : 0));
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = largest * (static_cast<double>((i * 1237 + 811 * buffers.size()) % 4099) / 2048 - 1);
      if (!is_real(operand.tensor.type)) numbers[i] = static_cast<double>(i * 7 % 1000);  // a label
    }
    if (operand.access == Access::read || operand.access == Access::update)
      store(operand.tensor, numbers, buffers.back().data());
  }
  for (size_t i = 0; i < operands.size(); ++i)
    addresses.push_back(operands[i].access == Access::absent ? nullptr : buffers[i].data());
  Buffer workspace(workspace_bytes);
  kernel.run({}, addresses.data(), workspace.data());
  CHECK(workspace.guards_intact());
  std::vector<Values> all;
  for (size_t i = 0; i < operands.size(); ++i) {
    CHECK(buffers[i].guards_intact());
    if (operands[i].access == Access::write || operands[i].access == Access::update)
      all.push_back(load(operands[i].tensor, buffers[i].data()));
  }
  return all;
}

Values result_of(const ProductCase& c, const Algorithm& algorithm) {
  const std::vector<OperandDesc> operands = c.operands();
  return results_of(operands, *MatMul::make(c.attrs, operands, algorithm.name), algorithm.workspace_bytes)
      .front();
}

bool is_widened(const Algorithm& algorithm) { return begins_with(algorithm, kWidened); }

TensorDesc plain(DataType type, IntList dims) { return {type, std::move(dims), Layout::plain}; }

// Sizes beyond 1024 are in several blocks.
struct WidenedCase {
  const char* what;
  IntList a, b, y;
  MatMulAttrs attrs = {};
  std::optional<IntList> c = {};
  DataType type_of_c = DataType::bf16, type_of_y = DataType::bf16;
  bool accumulates = false;

  std::vector<OperandDesc> operands() const {
    const TensorDesc result = plain(type_of_y, y);
    return {read(plain(DataType::bf16, a)), read(plain(DataType::bf16, b)),
            c ? read(plain(type_of_c, *c)) : absent(), accumulates ? update(result) : write(result)};
  }
};

constexpr DataType kF32 = DataType::f32, kBf16 = DataType::bf16;

const WidenedCase kWidenedCases[] = {
    {"one block", {40, 30}, {30, 50}, {40, 50}},
    {"blocks of rows", {2100, 30}, {30, 50}, {2100, 50}},
    {"blocks of columns", {40, 30}, {30, 2100}, {40, 2100}},
    {"blocks of the inner dimension", {40, 2100}, {2100, 50}, {40, 50}},
    {"blocks in all dimensions", {1040, 1050}, {1050, 1060}, {1040, 1060}},
    {"the same in f32", {1040, 1050}, {1050, 1060}, {1040, 1060}, {}, {}, kBf16, kF32},
    {"left factor transposed", {1100, 1040}, {1100, 70}, {1040, 70}, {.transpose_a = true}},
    {"right factor transposed", {50, 1100}, {1040, 1100}, {50, 1040}, {.transpose_b = true}},
    {"both transposed", {1100, 50}, {1040, 1100}, {50, 1040}, {.transpose_a = true, .transpose_b = true}},
    {"accumulated", {1100, 1040}, {1100, 70}, {1040, 70}, {.transpose_a = true}, {}, kBf16, kF32, true},
    {"accumulated in columns", {1100, 50}, {1100, 1040}, {50, 1040}, {.transpose_a = true}, {}, kBf16, kF32, true},
    {"scaled", {50, 1100}, {1100, 1040}, {50, 1040}, {.alpha = 0.5}},
    {"scaled and accumulated", {40, 1200}, {1200, 60}, {40, 60}, {.alpha = 0.5}, {}, kBf16, kF32, true},
    {"a row is added", {50, 1100}, {1100, 1040}, {50, 1040}, {}, IntList{1040}, kF32},
    {"a row in bf16 is added to f32", {50, 1100}, {1100, 1040}, {50, 1040}, {}, IntList{1040}, kBf16, kF32},
    {"a column is added", {1040, 1100}, {1100, 50}, {1040, 50}, {.beta = 2}, IntList{1040, 1}},
    {"a number is added", {50, 20}, {20, 1040}, {50, 1040}, {.alpha = 3, .beta = -2}, IntList{}},
    {"a matrix is added", {1040, 30}, {30, 1040}, {1040, 1040}, {.alpha = 0.25, .beta = 3}, IntList{1040, 1040}},
    {"many small matrices", {90, 70, 30}, {90, 30, 210}, {90, 70, 210}},
    {"many small matrices in f32", {90, 30, 70}, {90, 30, 210}, {90, 70, 210}, {.transpose_a = true}, {}, kBf16, kF32},
    {"the same, accumulated", {9, 70, 30}, {9, 210, 30}, {9, 70, 210}, {.transpose_b = true}, {}, kBf16, kF32, true},
    {"matrices in blocks", {2, 1040, 20}, {2, 20, 1040}, {2, 1040, 1040}},
    {"one right factor", {3, 500, 20}, {1, 20, 60}, {3, 500, 60}},
    {"one right factor and a row", {3, 500, 20}, {1, 20, 60}, {3, 500, 60}, {}, IntList{60}},
    {"one right factor and all is added to", {30, 1, 20}, {1, 20, 60}, {30, 1, 60}, {}, IntList{30, 1, 60}},
    {"one right factor and a matrix", {3, 50, 20}, {1, 20, 60}, {3, 50, 60}, {}, IntList{50, 60}},
    {"one left factor", {1, 50, 20}, {3, 20, 60}, {3, 50, 60}},
    {"both broadcast", {4, 1, 50, 20}, {1, 3, 20, 60}, {4, 3, 50, 60}, {.beta = 0.5}, IntList{4, 1, 1, 60}},
    {"transposed and broadcast", {4, 1, 20, 50}, {1, 3, 20, 60}, {4, 3, 50, 60}, {.transpose_a = true}},
};

struct LossCase {
  const char* what;
  bool transposed = false, has_bias = false, accumulates = false;
  DataType type_of_dx = DataType::bf16;
  LinearCrossEntropyAttrs attrs() const { return {.scale = 100, .transposed = transposed}; }

  // 150 rows are several lots, 1100 values and classes several blocks.
  std::vector<OperandDesc> operands() const {
    constexpr int64_t rows = 150, inner = 1100, classes = 1100;
    const auto result = [&](IntList dims) {
      const TensorDesc desc = plain(DataType::f32, std::move(dims));
      return accumulates ? update(desc) : write(desc);
    };
    const IntList weight = transposed ? IntList{classes, inner} : IntList{inner, classes};
    return {read(plain(DataType::bf16, {rows, inner})),
            read(plain(DataType::bf16, weight)),
            read(plain(DataType::i64, {rows})),
            write(plain(DataType::f32, {})),
            absent(),
            write(plain(type_of_dx, {rows, inner})),
            result(weight),
            has_bias ? read(plain(DataType::f32, {classes})) : absent(),
            has_bias ? result({classes}) : absent(),
            absent()};
  }
};

const LossCase kLossCases[] = {
    {"weight [K, C]"},
    {"weight [C, K]", true},
    {"with a bias", true, true},
    {"accumulated", false, true, true},
    {"accumulated, dx in f32", true, false, true, DataType::f32},
};

// Compares each algorithm on widened operands with the kernel for f32 on whole copies, and with itself on other numbers
// of threads. The scratchpad depends on that number. So do the bits before AVX-512, where oneDNN multiplies f32 by its
// gemm.
void check_widened(const KernelMaker& maker, std::span<const OperandDesc> operands, double tolerance, double largest) {
  const Algorithm whole = on_widened(maker.algorithms(maker.attrs, as_f32(operands)), operands).front();
  const std::vector<Values> wanted =
      results_of(operands, *on_widened(maker.make(maker.attrs, as_f32(operands), ""), operands), whole.workspace_bytes,
                 largest);
  const bool any_threads = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
  std::map<std::string, std::vector<Values>> first;
  for (const int threads : {2, 1, 3}) {
    const Team team(threads);
    const std::vector<Algorithm> offered = algorithms_in_any_precision(maker, operands);
    CHECK(std::any_of(offered.begin(), offered.end(), is_widened) == !host::multiplies_bf16_faster());
    for (const Algorithm& one : offered) {
      if (!is_widened(one)) continue;
      INFO(one.name << " on " << threads);
      const auto run = [&] {
        return results_of(operands, *make_in_any_precision(maker, operands, one.name), one.workspace_bytes, largest);
      };
      const std::vector<Values> found = run();
      for (size_t i = 0; i < wanted.size(); ++i) CHECK(distance(found[i], wanted[i]) < tolerance);
      const bool same = (any_threads ? first.try_emplace(one.name, found).first->second : run()) == found;
      CHECK(same);
    }
  }
}

}  // namespace

TEST_CASE("a factor whose rows compete for a set of the cache may be packed, with the same product") {
  // oneDNN has a layout of its own for factors from AVX-512 on, and since version 3 from AVX2 on.
  const dnnl::cpu_isa from = dnnl_version()->major >= 3 ? dnnl::cpu_isa::avx2 : dnnl::cpu_isa::avx512_core;
  const bool has_layout = dnnl::get_effective_cpu_isa() >= from;
  for (const ProductCase& c : kProductCases) {
    INFO(c.what);
    const std::vector<Algorithm> offered = MatMul::algorithms(c.attrs, c.operands());
    const auto is_packed = [](const Algorithm& one) { return begins_with(one, "packed_"); };
    const auto packed = std::find_if(offered.begin(), offered.end(), is_packed);
    CHECK((packed != offered.end()) == (c.packs && has_layout));
    CHECK_FALSE(is_packed(offered.front()));
    if (packed == offered.end()) continue;
    CHECK(packed->workspace_bytes >= 4 * c.inner * c.columns);
    CHECK(distance(result_of(c, *packed), result_of(c, offered.front())) < 1e-6);
  }
}

TEST_CASE("products in bf16 are offered on widened operands, too, where the processor multiplies bf16 no faster") {
  const ProductCase c{"", 48, 32, 64};
  const KernelMaker product = maker_of<MatMul>(c.attrs);
  const std::vector<Algorithm> offered = algorithms_in_any_precision(product, c.operands(DataType::bf16));
  const bool any = std::any_of(offered.begin(), offered.end(), is_widened),
             all = std::all_of(offered.begin(), offered.end(), is_widened);
  CHECK(any == !host::multiplies_bf16_faster());
  // The native one is the default.
  CHECK((all || !is_widened(offered.front())));
  if (dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core_bf16) CHECK_FALSE(all);
  const TensorDesc x{DataType::bf16, {48}, Layout::plain};
  for (const Algorithm& one : algorithms_in_any_precision(maker_of<Move>({}), std::vector{read(x), write(x)}))
    CHECK_FALSE(is_widened(one));
}

TEST_CASE("products of widened blocks are those of whole copies in f32") {
  for (const WidenedCase& c : kWidenedCases) {
    INFO(c.what);
    check_widened(maker_of<MatMul>(c.attrs), c.operands(), c.type_of_y == DataType::bf16 ? 1e-3 : 1e-6, 1);
  }
}

TEST_CASE("the loss of a linear layer on widened blocks is that on whole copies") {
  for (const LossCase& c : kLossCases) {
    INFO(c.what);
    const LinearCrossEntropyAttrs attrs = c.attrs();
    check_widened(maker_of<LinearCrossEntropy>(attrs), c.operands(), 8e-3, 0.1);  // the logits are in bf16
  }
}

TEST_CASE("the workspace of widened blocks does not grow with the operands") {
  constexpr int64_t kThreeBlocks = 3 * 4 * 1024 * 1024, kScratchpad = 4 << 20;
  const auto most_of = [](const KernelMaker& maker, std::span<const OperandDesc> operands) {
    int64_t bytes = 0;
    for (const Algorithm& one : algorithms_in_any_precision(maker, operands))
      if (is_widened(one)) bytes = std::max(bytes, one.workspace_bytes);
    return bytes;
  };
  const MatMulAttrs attrs;
  const WidenedCase wide{"", {4096, 4096}, {4096, 50000}, {4096, 50000}};
  const WidenedCase many{"", {5000, 64, 64}, {5000, 64, 64}, {5000, 64, 64}};
  CHECK(most_of(maker_of<MatMul>(attrs), wide.operands()) <= kThreeBlocks + kScratchpad);
  CHECK(most_of(maker_of<MatMul>(attrs), many.operands()) <= kThreeBlocks + kScratchpad);
  // Of the logits of 512 rows in bf16, and three blocks.
  const LinearCrossEntropyAttrs of_loss{.transposed = true};
  std::vector<OperandDesc> loss = LossCase{"", true}.operands();
  loss[0].tensor.dims = loss[5].tensor.dims = {1024, 768};
  loss[1].tensor.dims = loss[6].tensor.dims = {50000, 768};
  loss[2].tensor.dims = {1024};
  CHECK(most_of(maker_of<LinearCrossEntropy>(of_loss), loss) <= 512 * 50000 * 2 + kThreeBlocks + kScratchpad);
}

}  // namespace plimsoll::test
