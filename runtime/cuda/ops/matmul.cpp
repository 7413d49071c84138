// MatMul {a, b, c, y}: y = alpha · op(a) · op(b) + beta · c, accumulated if y is an `update` operand.
//
//   a [..., M, K] (or [..., K, M] transposed), b [..., K, N], y [..., M, N], all of one rank; leading dimensions of a
//   and b broadcast. c broadcasts to y, and is absent if there is no addend.
//
// cuBLASLt is column-major, so it computes yᵀ = op(b)ᵀ · op(a)ᵀ, which has the same bytes. Its algorithms have no names
// that are valid on other machines, and it lists none without a device. Therefore an algorithm here is a workspace
// limit and an arithmetic, and on the device the first of cuBLASLt's algorithms that satisfies both is used: always the
// same for one device and library version.
//
//   fp32_0   fp32_4MiB   fp32_32MiB   tf32_0 …      split-K sums need a workspace; larger ones are faster for long K
//   bf16_0   bf16_4MiB   bf16_32MiB                 a and b in bf16, c and y in it or f32; sums in f32. f16_0 …:
//   likewise
//
// cuBLASLt takes a row c of y's type only. A row of the other type is converted first:
//
//   workspace   | the row, if it is converted | of cuBLASLt |
#include <cublasLt.h>

#include <algorithm>
#include <array>

#include "runtime/cuda/cudnn/device.h"
#include "runtime/cuda/ops/broadcast.h"
#include "runtime/cuda/ops/matmul.h"
#include "runtime/cuda/ops/matrix_batches.h"
#include "runtime/precision.h"

namespace plimsoll {
namespace {

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw KernelError(std::string("cuBLASLt: ") + what + ": " + cublasLtGetStatusString(status));
}

// Never destroyed: at process exit the device may already be gone.
cublasLtHandle_t handle() {
  static const cublasLtHandle_t handle = [] {
    cublasLtHandle_t made = nullptr;
    check(cublasLtCreate(&made), "cannot start");
    return made;
  }();
  return handle;
}

// All descriptors set their attributes the same way.
template <auto make, auto destroy, auto set, class Raw>
class LtDescriptor {
 public:
  template <class... Arguments>
  explicit LtDescriptor(Arguments... arguments) {
    check(make(&raw_, arguments...), "cannot describe a matrix product");
  }
  ~LtDescriptor() { destroy(raw_); }
  LtDescriptor(const LtDescriptor&) = delete;
  LtDescriptor& operator=(const LtDescriptor&) = delete;
  template <class Name, class T>
  void with(Name name, const T& value) const {
    check(set(raw_, name, &value, sizeof value), "cannot describe a matrix product");
  }
  Raw raw() const { return raw_; }

 private:
  Raw raw_ = nullptr;
};
using MatrixLayout = LtDescriptor<cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutDestroy,
                                  cublasLtMatrixLayoutSetAttribute, cublasLtMatrixLayout_t>;
using Product = LtDescriptor<cublasLtMatmulDescCreate, cublasLtMatmulDescDestroy, cublasLtMatmulDescSetAttribute,
                             cublasLtMatmulDesc_t>;
using Preference = LtDescriptor<cublasLtMatmulPreferenceCreate, cublasLtMatmulPreferenceDestroy,
                                cublasLtMatmulPreferenceSetAttribute, cublasLtMatmulPreference_t>;

int64_t rows_of(const TensorDesc& matrix) { return matrix.dim(matrix.rank() - 2); }
int64_t columns_of(const TensorDesc& matrix) { return matrix.dim(matrix.rank() - 1); }

struct Way {
  std::string name;
  int64_t workspace_bytes;  // of cuBLASLt
  bool tf32;
};

int64_t on_boundary(int64_t bytes) { return (bytes + 255) / 256 * 256; }

cudaDataType_t type_of(const TensorDesc& desc) {
  return desc.type == DataType::bf16 ? CUDA_R_16BF : desc.type == DataType::f16 ? CUDA_R_16F : CUDA_R_32F;
}

// Each part of a split sum keeps a partial y in f32; more parts than this are never faster, so no larger workspace is
// offered.
std::vector<Way> ways(std::span<const OperandDesc> operands) {
  constexpr int64_t kMiB = int64_t{1} << 20, kParts = 16;
  const DataType factors = operands[0].tensor.type;
  if (is_narrow(factors) && !cudnn::device_multiplies(factors))
    throw KernelError("this device does not multiply " + std::string(name_of(factors)) + "; " +
                      (factors == DataType::bf16 ? "Ampere" : "Volta") + " and later do");
  std::vector<std::string> kinds = {"fp32_", "tf32_"};
  if (is_narrow(factors)) kinds = {std::string(name_of(factors)) + "_"};
  std::vector<Way> all;
  for (const std::string& kind : kinds) {
    int64_t last = -1;
    for (const int64_t bound : {int64_t{0}, 4 * kMiB, 32 * kMiB}) {
      const int64_t bytes = std::min(bound, on_boundary(kParts * 4 * operands[3].tensor.padded_elements()));
      if (bytes == last) continue;
      last = bytes;
      all.push_back(
          {kind + (bound == 0 ? std::string("0") : std::to_string(bound / kMiB) + "MiB"), bytes, kind == "tf32_"});
    }
  }
  return all;
}

// How the addend is applied.
enum class Addend { none, row, seed, result };

Addend addend_of(const MatMulAttrs& attrs, std::span<const OperandDesc> operands) {
  const bool accumulates = operands[3].access == Access::update;
  if (operands[2].access == Access::absent) return accumulates ? Addend::result : Addend::none;
  if (accumulates) throw KernelError("MatMul: an addend and a result that accumulates");
  const TensorDesc& c = operands[2].tensor;
  const int64_t columns = columns_of(operands[3].tensor);
  const bool row = c.rank() > 0 && c.dim(c.rank() - 1) == columns && c.elements() == columns;
  return row && attrs.alpha == 1 && attrs.beta == 1 ? Addend::row : Addend::seed;
}

// Of a row that is converted to y's type; 0: it is not.
int64_t row_bytes(const MatMulAttrs& attrs, std::span<const OperandDesc> operands) {
  if (addend_of(attrs, operands) != Addend::row || operands[2].tensor.type == operands[3].tensor.type) return 0;
  return on_boundary(operands[2].tensor.elements() * bytes_of(operands[3].tensor.type));
}

class MatMulKernel final : public Kernel {
 public:
  // `alignment`: the operands begin at multiples of this, in bytes. `row_of_a`: as in product_of_parts.
  MatMulKernel(const MatMulAttrs& attrs, std::span<const OperandDesc> operands, const Way& way, int64_t alignment,
               int64_t row_of_a)
      : alignment_(alignment),
        addend_(addend_of(attrs, operands)),
        alpha_(static_cast<float>(attrs.alpha)),
        beta_(static_cast<float>(attrs.beta)),
        workspace_bytes_(way.workspace_bytes),
        row_bytes_(row_bytes(attrs, operands)),
        c_desc_(operands[2].tensor),
        y_desc_(operands[3].tensor),
        batches_(cuda::matrix_batches(operands[0].tensor, operands[1].tensor, y_desc_)),
        product_(way.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
        element_bytes_{bytes_of(operands[0].tensor.type), bytes_of(operands[1].tensor.type), bytes_of(y_desc_.type)},
        a_(type_of(operands[0].tensor), columns_of(operands[0].tensor), rows_of(operands[0].tensor),
           row_of_a > 0 ? row_of_a : columns_of(operands[0].tensor)),
        b_(type_of(operands[1].tensor), columns_of(operands[1].tensor), rows_of(operands[1].tensor),
           columns_of(operands[1].tensor)),
        y_(type_of(y_desc_), columns_of(y_desc_), rows_of(y_desc_), columns_of(y_desc_)) {
    const auto op = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    product_.with(CUBLASLT_MATMUL_DESC_TRANSA, op(attrs.transpose_b));
    product_.with(CUBLASLT_MATMUL_DESC_TRANSB, op(attrs.transpose_a));
    if (addend_ == Addend::row) {
      product_.with(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      // The choice of an algorithm depends on the operands' alignment, which is at least this.
      product_.with(CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<void*>(uintptr_t{256}));
    }
    if (batches_.count > 1) {
      batched(a_, batches_.a_step);
      batched(b_, batches_.b_step);
      batched(y_, rows_of(y_desc_) * columns_of(y_desc_));
    }
    if (!cudnn::device_is_described()) choose(way);
  }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    const auto stream = static_cast<cudaStream_t>(context.stream);
    if (addend_ == Addend::seed) cuda::seed_with(context, operands[3], y_desc_, operands[2], c_desc_, beta_);
    if (addend_ == Addend::row) {
      if (row_bytes_ > 0 && is_narrow(y_desc_.type))
        narrow_elements(context, y_desc_.type, operands[2], workspace, c_desc_.elements());
      else if (row_bytes_ > 0) widen_elements(context, c_desc_.type, operands[2], workspace, c_desc_.elements());
      product_.with(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(row_bytes_ > 0 ? workspace : operands[2]));
    }
    const float kept = addend_ == Addend::seed || addend_ == Addend::result ? 1.0F : 0.0F;
    const int64_t of_call = batches_.count * rows_of(y_desc_) * columns_of(y_desc_);
    const auto [a_bytes, b_bytes, y_bytes] = element_bytes_;
    for (size_t i = 0; i < batches_.calls(); ++i) {
      std::byte* const y = operands[3] + static_cast<int64_t>(i) * of_call * y_bytes;
      check(cublasLtMatmul(handle(), product_.raw(), &alpha_, operands[1] + batches_.b[i] * b_bytes, b_.raw(),
                           operands[0] + batches_.a[i] * a_bytes, a_.raw(), &kept, y, y_.raw(), y, y_.raw(),
                           &algorithm_, workspace + row_bytes_, static_cast<size_t>(workspace_bytes_), stream),
            "a matrix product failed");
    }
  }

 private:
  void batched(const MatrixLayout& layout, int64_t stride) const {
    layout.with(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batches_.count));
    layout.with(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }

  // Split sums are added in a separate step, so the result does not depend on the order of completion.
  void choose(const Way& way) {
    const Preference preference;
    preference.with(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(way.workspace_bytes));
    preference.with(
        CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE));
    if (const int64_t begin = batches_.calls() > 1 ? std::ranges::min(element_bytes_) : alignment_;
        begin < 256)  // a call may begin at any matrix
      for (const auto which : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                               CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
        preference.with(which, static_cast<uint32_t>(begin));
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle(), product_.raw(), b_.raw(), a_.raw(), y_.raw(), y_.raw(),
                                         preference.raw(), 1, &found, &count),
          ("no algorithm for '" + way.name + "'").c_str());
    if (count == 0 || found.workspaceSize > static_cast<size_t>(way.workspace_bytes))
      throw KernelError("cuBLASLt has no algorithm for '" + way.name + "'");
    algorithm_ = found.algo;
  }

  int64_t alignment_;
  Addend addend_;
  float alpha_, beta_;
  int64_t workspace_bytes_, row_bytes_;
  TensorDesc c_desc_, y_desc_;
  cuda::MatrixBatches batches_;
  Product product_;
  std::array<int64_t, 3> element_bytes_;  // of a, b and y
  MatrixLayout a_, b_, y_;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace

std::vector<Algorithm> MatMul::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  std::vector<Algorithm> all;
  for (const Way& way : ways(operands))
    all.push_back(
        {.name = way.name, .workspace_bytes = row_bytes(attrs, operands) + way.workspace_bytes, .tf32 = way.tf32});
  return all;
}

std::unique_ptr<Kernel> MatMul::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                     std::string_view algorithm) {
  return cuda::product_of_parts(attrs, operands, algorithm, 256);
}

std::unique_ptr<Kernel> cuda::product_of_parts(const MatMulAttrs& attrs, std::span<const OperandDesc> operands,
                                               std::string_view algorithm, int64_t alignment, int64_t row_of_a) {
  for (const Way& way : ways(operands))
    if (algorithm.empty() || algorithm == way.name)
      return std::make_unique<MatMulKernel>(attrs, operands, way, alignment, row_of_a);
  throw KernelError("MatMul: no algorithm '" + std::string(algorithm) + "'");
}

}  // namespace plimsoll
