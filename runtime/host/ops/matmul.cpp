// MatMul {a, b, c, y}: y = alpha · op(a) · op(b) + beta · c, accumulated if y is an `update` operand.
//
//   a [..., M, K] (or [..., K, M] transposed), b [..., K, N], y [..., M, N], all of one rank; leading dimensions of a
//   and b broadcast. c broadcasts to y, and is absent if there is no addend.
//
// Transposition only changes strides. oneDNN offers several implementations: each is an algorithm. `packed_…` first
// copies b into the layout that the implementation multiplies fastest. `widened`: bf16 is multiplied as f32, in blocks
// (runtime/host/widened_product.h).
#include "runtime/loops.h"
#include "runtime/host/primitive_kernel.h"
#include "runtime/host/real.h"
#include "runtime/host/rows.h"
#include "runtime/host/widened_product.h"
#include "runtime/kernels.h"
#include "runtime/precision.h"

namespace plimsoll {
namespace {

using dnnl::memory;

constexpr const char* kNoMatMul = "oneDNN has no such matrix multiplication";

memory::desc matrix(const TensorDesc& desc, bool transposed) {
  memory::dims dims = host::to_dims(desc.dims);
  memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
  if (transposed) {
    std::swap(dims[dims.size() - 2], dims[dims.size() - 1]);
    std::swap(strides[dims.size() - 2], strides[dims.size() - 1]);
  }
  return {dims, host::type_of(host::to_dnnl({desc.type, {1}})), strides};
}

// Whether a copy of b in oneDNN's own layout may save time. oneDNN reads some hundred rows of b at once. If the length
// of a row is a multiple of 4 KiB, these rows compete for one set of the first-level cache; oneDNN copies b itself only
// if that length is a power of two (docs/decisions/products.md). With few rows in a, a copy takes longer than it saves.
bool pays_to_pack(const TensorDesc& a, const TensorDesc& b, const MatMulAttrs& attrs) {
  constexpr int64_t kBytesOfSets = 4096, kRows = 32;
  const int64_t columns = b.dim(b.rank() - 1), rows = a.dim(a.rank() - (attrs.transpose_a ? 1 : 2));
  return b.type == DataType::f32 && !attrs.transpose_b && b.elements() == columns * b.dim(b.rank() - 2) &&
         4 * columns % kBytesOfSets == 0 && rows >= kRows;
}

struct MatMulProblem {
  memory::desc a, b, y;
  bool may_pack;        // b
  memory::desc bias;    // [1, …, N] if the primitive adds it itself; empty: none
  bool seeded = false;  // y holds beta · c before the primitive runs
  dnnl::primitive_attr attr = host::scratchpad_by_user();
  host::Arguments scales;  // alpha, if the library needs it as an argument

  MatMulProblem(const MatMulAttrs& attrs, std::span<const OperandDesc> operands)
      : a(matrix(operands[0].tensor, attrs.transpose_a)),
        b(matrix(operands[1].tensor, attrs.transpose_b)),
        y(matrix(operands[3].tensor, false)),
        may_pack(pays_to_pack(operands[0].tensor, operands[1].tensor, attrs)) {
    const bool accumulates = operands[3].access == Access::update;
    if (operands[2].access != Access::absent) {
      if (accumulates) throw KernelError("MatMul: an addend and a result that accumulates");
      const TensorDesc &c = operands[2].tensor, &result = operands[3].tensor;
      const int64_t columns = result.dim(result.rank() - 1);
      const bool row = c.rank() > 0 && c.dim(c.rank() - 1) == columns && c.elements() == columns;
      if (row && attrs.alpha == 1 && attrs.beta == 1) {
        memory::dims dims(result.rank(), 1);
        dims.back() = columns;
        bias = matrix({.type = c.type, .dims = list(dims)}, false);
      } else {
        seeded = true;
      }
    }
    if (attrs.alpha != 1) scales = host::scale_product(host::engine(), attr, static_cast<float>(attrs.alpha));
    if (accumulates || seeded) {
      dnnl::post_ops sum;
      sum.append_sum(1.0F);
      attr.set_post_ops(sum);
    }
  }

  struct Implementation {
    std::string name;
    dnnl::matmul::primitive_desc desc;  // its layout of b may differ from `b`
  };

  // In oneDNN's order of preference; those that pack b come last.
  std::vector<Implementation> implementations() const {
    std::vector<Implementation> found;
    add_implementations(b, "", found);
    if (may_pack) add_implementations(host::any_layout(b), "packed_", found);
    return found;
  }

 private:
  // Used only if there is nothing else: the reference loops, and the implementations based on oneDNN's own gemm, which
  // allocates packing buffers with malloc on every run, while a trainer must not allocate after start-up. (Its gemm is
  // up to twice as fast for the gradient of a wide layer with a small batch.)
  void add_implementations(const memory::desc& described, const char* prefix,
                           std::vector<Implementation>& found) const {
    const bool reduced = host::type_of(a) == memory::data_type::bf16;
    for (const auto& next : bias.is_zero()
                                ? host::describe_all<dnnl::matmul>(host::engine(), attr, a, described, y)
                                : host::describe_all<dnnl::matmul>(host::engine(), attr, a, described, bias, y)) {
      const std::string library_name = next.impl_info_str(), name = prefix + library_name;
      const bool last_resort = library_name.starts_with("ref") || library_name.starts_with("gemm");
      if (last_resort && (reduced || !found.empty())) continue;  // in bf16 on widened operands instead
      if (*prefix && next.weights_desc() == b) continue;         // nothing to pack
      const auto same = [&](const Implementation& one) { return one.name == name; };
      if (std::none_of(found.begin(), found.end(), same)) found.push_back({name, next});
    }
  }

  static IntList list(const memory::dims& dims) {
    IntList items;
    for (const int64_t dim : dims) items.push_back(dim);
    return items;
  }
};

class MatMulKernel final : public Kernel {
 public:
  MatMulKernel(const MatMulProblem& problem, const dnnl::matmul::primitive_desc& desc, const MatMulAttrs& attrs,
               std::span<const OperandDesc> operands)
      : scales_(problem.scales), seeded_(problem.seeded), beta_(static_cast<float>(attrs.beta)) {
    host::Arguments arguments = {{DNNL_ARG_SRC, product_.operand(0, problem.a)},
                                 {DNNL_ARG_WEIGHTS, product_.read_as(desc.weights_desc(), 1, problem.b)},
                                 {DNNL_ARG_DST, product_.operand(3, problem.y)}};
    arguments.insert(scales_.begin(), scales_.end());
    if (!problem.bias.is_zero()) arguments[DNNL_ARG_BIAS] = product_.operand(2, problem.bias);
    product_.add(dnnl::matmul(desc), desc.scratchpad_desc(), arguments);
    c_ = operands[2].tensor.type, y_ = operands[3].tensor.type;
    if (seeded_) seed_ = loops_over<2>({operands[3].tensor, operands[2].tensor});
  }

  int64_t workspace_bytes() const { return product_.workspace_bytes(); }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    if (seeded_)
      host::by_real(c_, [&](auto c) {
        host::by_real(y_, [&](auto y) {
          seed(reinterpret_cast<const decltype(c)*>(operands[2]), reinterpret_cast<decltype(y)*>(operands[3]));
        });
      });
    product_.run(context, operands, workspace);
  }

 private:
  template <class C, class Y>
  void seed(const C* c, Y* y) const {
    const int64_t length = seed_.counts[0], step = seed_.strides[1][0];
    host::for_rows(seed_, [=, beta = beta_](const auto& offsets) {
      Y* to = y + offsets[0];
      const C* from = c + offsets[1];
      for (int64_t j = 0; j < length; ++j) to[j] = Y(beta * static_cast<float>(from[j * step]));
    });
  }

  host::PrimitiveKernel product_;
  host::Arguments scales_;  // not operands: kept alive here
  bool seeded_;
  DataType c_ = DataType::f32, y_ = DataType::f32;
  float beta_;
  Loops<2> seed_;
};

// The first elements of the matrices of an operand that broadcasts to y, in the order of y's matrices.
std::vector<int64_t> first_elements(const TensorDesc& operand, const TensorDesc& y) {
  std::vector<int64_t> firsts = {0};
  int64_t step = operand.rank() < 2 ? 1 : operand.dim(operand.rank() - 2) * operand.dim(operand.rank() - 1);
  for (size_t axis = 2; axis < y.rank(); ++axis) {  // from the innermost
    const int64_t count = axis < operand.rank() ? operand.dim(operand.rank() - 1 - axis) : 1, inner = firsts.size();
    for (int64_t i = 1; i < y.dim(y.rank() - 1 - axis); ++i)
      for (int64_t j = 0; j < inner; ++j) firsts.push_back(firsts[j] + (count > 1 ? i * step : 0));
    step *= count;
  }
  return firsts;
}

class WidenedMatMulKernel final : public Kernel {
 public:
  WidenedMatMulKernel(const MatMulAttrs& attrs, std::span<const OperandDesc> operands)
      : product_(product_of(attrs, operands)) {}

  int64_t workspace_bytes() const { return product_.workspace_bytes(); }

  void run(const RunContext&, std::byte* const* operands, std::byte* workspace) override {
    product_.begin(operands[1], workspace, operands[2]);
    product_.run(operands[0], operands[3]);
  }

 private:
  static host::WidenedProduct product_of(const MatMulAttrs& attrs, std::span<const OperandDesc> operands) {
    const TensorDesc &a = operands[0].tensor, &b = operands[1].tensor, &c = operands[2].tensor, &y = operands[3].tensor;
    const bool has_addend = operands[2].access != Access::absent, accumulates = operands[3].access == Access::update;
    if (has_addend && accumulates) throw KernelError("MatMul: an addend and a result that accumulates");
    host::RepeatedProduct::Sizes sizes{.rows = y.dim(y.rank() - 2),
                                       .columns = y.dim(y.rank() - 1),
                                       .inner = a.dim(a.rank() - (attrs.transpose_a ? 2 : 1)),
                                       .transpose_a = attrs.transpose_a,
                                       .transpose_b = attrs.transpose_b,
                                       .accumulates = accumulates,
                                       .factors = DataType::bf16,
                                       .result = y.type};
    host::WidenedProduct::Series series{.a = first_elements(a, y),
                                        .b = first_elements(b, y),
                                        .alpha = static_cast<float>(attrs.alpha)};
    if (has_addend) {
      const bool has_columns = c.rank() > 0 && c.dim(c.rank() - 1) > 1,
                 has_rows = c.rank() > 1 && c.dim(c.rank() - 2) > 1;
      series.addend = {.type = c.type,
                       .factor = static_cast<float>(attrs.beta),
                       .row_step = has_rows ? c.dim(c.rank() - 1) : 0,
                       .column_step = has_columns ? 1 : 0,
                       .at = first_elements(c, y)};
    }
    // Products with the same right factor are one product of more rows.
    const bool is_row = has_addend && (c.elements() == 1 || c.elements() == c.dim(c.rank() - 1)),
               is_whole = has_addend && !is_row && c.elements() == y.elements();
    if (b.elements() == sizes.inner * sizes.columns && !attrs.transpose_a &&
        a.elements() * sizes.columns == y.elements() * sizes.inner && (!has_addend || is_row || is_whole)) {
      sizes.rows *= static_cast<int64_t>(series.a.size());
      series.a = series.b = {0};
      if (has_addend) series.addend->at = {0};
      if (is_whole) series.addend->row_step = sizes.columns;
    }
    return host::WidenedProduct(sizes, series);
  }

  host::WidenedProduct product_;
};

std::vector<Algorithm> plain_algorithms(const MatMulAttrs& attrs, std::span<const OperandDesc> operands) {
  return host::made(kNoMatMul, [&] {
    const MatMulProblem problem(attrs, operands);
    std::vector<Algorithm> all;
    for (const auto& [name, desc] : problem.implementations())
      all.push_back({.name = name,
                     .workspace_bytes = MatMulKernel(problem, desc, attrs, operands).workspace_bytes()});
    if (all.empty()) throw KernelError(kNoMatMul);
    return all;
  });
}

}  // namespace

std::vector<Algorithm> MatMul::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  const auto widened = [&] {
    return host::made(kNoMatMul, [&] {
      return std::vector<Algorithm>{
          {.name = std::string(kWidened), .workspace_bytes = WidenedMatMulKernel(attrs, operands).workspace_bytes()}};
    });
  };
  return with_widened(kName, operands, [&] { return plain_algorithms(attrs, operands); }, widened);
}

std::unique_ptr<Kernel> MatMul::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                     std::string_view algorithm) {
  if (algorithm == kWidened && uses_narrow(operands))
    return host::made(kNoMatMul, [&] { return std::make_unique<WidenedMatMulKernel>(attrs, operands); });
  return host::made(kNoMatMul, [&]() -> std::unique_ptr<Kernel> {
    const MatMulProblem problem(attrs, operands);
    for (const auto& [name, desc] : problem.implementations())
      if (algorithm.empty() || algorithm == name)
        return std::make_unique<MatMulKernel>(problem, desc, attrs, operands);
    throw KernelError("MatMul: no algorithm '" + std::string(algorithm) + "'");
  });
}

}  // namespace plimsoll
