// The host's algorithms of matrix products that its processor and oneDNN decide: with a packed factor, and on operands
// in bf16 widened to f32.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "executor.h"
#include "runtime/host/engine.h"
#include "runtime/kernels.h"
#include "runtime/precision.h"

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

std::vector<double> result_of(const ProductCase& c, const Algorithm& algorithm) {
  const std::vector<OperandDesc> operands = c.operands();
  std::vector<Buffer> buffers;
  std::vector<std::byte*> addresses;
  for (const OperandDesc& operand : operands) {
    buffers.emplace_back(operand.tensor.bytes());
    Values numbers(static_cast<size_t>(operand.tensor.elements()));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = std::sin(0.37 * static_cast<double>(i % 4099) + static_cast<double>(buffers.size()));
    if (operand.access == Access::read || operand.access == Access::update)
      store(operand.tensor, numbers, buffers.back().data());
  }
  for (size_t i = 0; i < operands.size(); ++i)
    addresses.push_back(operands[i].access == Access::absent ? nullptr : buffers[i].data());
  Buffer workspace(algorithm.workspace_bytes);
  MatMul::make(c.attrs, operands, algorithm.name)->run({}, addresses.data(), workspace.data());
  CHECK(workspace.guards_intact());
  for (const Buffer& buffer : buffers) CHECK(buffer.guards_intact());
  return load(operands[3].tensor, buffers[3].data());
}

}  // namespace

TEST_CASE("a factor whose rows compete for a set of the cache may be packed, with the same product") {
  for (const ProductCase& c : kProductCases) {
    INFO(c.what);
    const std::vector<Algorithm> offered = MatMul::algorithms(c.attrs, c.operands());
    const auto is_packed = [](const Algorithm& one) { return begins_with(one, "packed_"); };
    const auto packed = std::find_if(offered.begin(), offered.end(), is_packed);
    // oneDNN has a layout of its own for factors from AVX-512 on.
    CHECK((packed != offered.end()) ==
          (c.packs && dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core));
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
  const auto is_widened = [](const Algorithm& one) { return begins_with(one, kWidened); };
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

}  // namespace plimsoll::test
