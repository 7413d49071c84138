// MaxPoolForward {x, y, indices}   MaxPoolBackward {indices, dy, dx}
// oneDNN's pooling; `indices` is its workspace, which has the output's shape and layout. oneDNN's backward in bf16
// would round the sum of overlapping windows at every addition. So some samples at a time are computed in f32, and
// rounded once.
#include <algorithm>
#include <array>

#include "runtime/host/primitive_kernel.h"
#include "runtime/kernels.h"
#include "runtime/precision.h"

namespace plimsoll {
namespace {

using dnnl::memory;

struct MaxPoolProblem {
  memory::desc x, y;
  memory::dims strides, kernel, dilates, pads_begin, pads_end;

  MaxPoolProblem(const PoolAttrs& a, const TensorDesc& x_, const TensorDesc& y_)
      : x(host::to_dnnl(x_)),
        y(host::to_dnnl(y_)),
        strides(host::to_dims(a.strides)),
        kernel(host::to_dims(a.kernel)),
        dilates(host::gaps(a.dilations)),
        pads_begin(host::pads_before(a.pads)),
        pads_end(host::pads_after(a.pads)) {
    // The last window of ceil_mode extends beyond the node's padding: oneDNN treats that as padding, too.
    for (size_t i = 0; i < a.kernel.size(); ++i) {
      const int64_t reach = (a.kernel[i] - 1) * a.dilations[i] + 1;
      const int64_t covered = (y_.dim(2 + i) - 1) * a.strides[i] + reach;
      pads_end[i] = std::max(pads_end[i], covered - x_.dim(2 + i) - a.pads[i]);
    }
  }

  host::PoolingForward::primitive_desc forward(dnnl::prop_kind kind) const {
    return host::describe<host::PoolingForward>(host::engine(), host::scratchpad_by_user(), kind,
                                                dnnl::algorithm::pooling_max, x, y, strides, kernel, dilates,
                                                pads_begin, pads_end);
  }
};

memory indices(host::PrimitiveKernel& kernel, size_t slot, const OperandDesc& operand, const memory::desc& wanted) {
  if (static_cast<int64_t>(wanted.get_size()) != operand.tensor.bytes())
    throw KernelError("oneDNN's indices of a pool take " + std::to_string(wanted.get_size()) + " bytes, planned were " +
                      std::to_string(operand.tensor.bytes()));
  return kernel.operand(slot, wanted);
}

using BuiltPool = std::unique_ptr<host::PrimitiveKernel>;
using BuildPool = BuiltPool (*)(const PoolAttrs&, std::span<const OperandDesc>);

BuiltPool forward(const PoolAttrs& attrs, std::span<const OperandDesc> operands) {
  const MaxPoolProblem p(attrs, operands[0].tensor, operands[1].tensor);
  const bool training = operands[2].access != Access::absent;
  // In bf16, oneDNN 3.7 writes only the lower half of each index if indices have four bytes (windows of more than 256
  // elements) and the image has one channel. Such pools are computed on operands widened to f32 (runtime/precision.h).
  if (training && operands[0].tensor.type == DataType::bf16 && operands[2].tensor.type == DataType::i32)
    throw KernelError("oneDNN has no such pooling in bf16");
  const auto desc = p.forward(training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference);
  auto kernel = std::make_unique<host::PrimitiveKernel>();
  host::Arguments arguments = {{DNNL_ARG_SRC, kernel->operand(0, p.x)},
                               {DNNL_ARG_DST, kernel->operand(1, p.y)}};
  if (training) arguments[DNNL_ARG_WORKSPACE] = indices(*kernel, 2, operands[2], desc.workspace_desc());
  kernel->add(host::PoolingForward(desc), desc.scratchpad_desc(), arguments);
  return kernel;
}

BuiltPool backward(const PoolAttrs& attrs, std::span<const OperandDesc> operands) {
  const MaxPoolProblem p(attrs, operands[2].tensor, operands[1].tensor);
  const auto desc = host::describe_backward<host::PoolingBackward>(
      host::engine(), host::scratchpad_by_user(), p.forward(dnnl::prop_kind::forward_training),
      dnnl::algorithm::pooling_max, p.x, p.y, p.strides, p.kernel, p.dilates, p.pads_begin, p.pads_end);
  auto kernel = std::make_unique<host::PrimitiveKernel>();
  kernel->add(host::PoolingBackward(desc), desc.scratchpad_desc(),
              {{DNNL_ARG_WORKSPACE, indices(*kernel, 0, operands[0], desc.workspace_desc())},
               {DNNL_ARG_DIFF_DST, kernel->operand(1, p.y)},
               {DNNL_ARG_DIFF_SRC, kernel->operand(2, p.x)}});
  return kernel;
}

BuiltPool built_pool(BuildPool build, const PoolAttrs& attrs, std::span<const OperandDesc> operands) {
  return host::made("oneDNN has no such pooling", [&] { return build(attrs, operands); });
}

// workspace: dy of some samples in f32 | their dx in f32 | the primitive's
class Bf16BackwardKernel final : public Kernel {
 public:
  Bf16BackwardKernel(const PoolAttrs& attrs, std::span<const OperandDesc> operands) {
    std::array<OperandDesc, 3> part = {operands[0], operands[1], operands[2]};
    const int64_t samples = part[2].tensor.dim(0), elements = part[2].tensor.padded_elements() / samples;
    int64_t at_once = std::clamp<int64_t>(kElementsAtOnce / elements, 1, samples);
    while (samples % at_once != 0) --at_once;
    for (OperandDesc& one : part) {
      one.tensor.dims.items[0] = at_once;
      if (one.tensor.type == DataType::bf16) one.tensor.type = DataType::f32;
    }
    parts_ = samples / at_once;
    index_bytes_ = part[0].tensor.bytes();
    dy_elements_ = part[1].tensor.padded_elements();
    dx_elements_ = part[2].tensor.padded_elements();
    single_ = built_pool(backward, attrs, part);
  }

  int64_t workspace_bytes() const { return dy_bytes() + dx_bytes() + single_->workspace_bytes(); }

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    std::byte *const dy = workspace, *const dx = dy + dy_bytes();
    for (int64_t i = 0; i < parts_; ++i) {
      widen_elements(context, DataType::bf16, operands[1] + i * dy_elements_ * kBf16Bytes, dy, dy_elements_);
      std::byte* const part[] = {operands[0] + i * index_bytes_, dy, dx};
      single_->run(context, part, dx + dx_bytes());
      narrow_elements(context, DataType::bf16, dx, operands[2] + i * dx_elements_ * kBf16Bytes, dx_elements_);
    }
  }

 private:
  static constexpr int64_t kElementsAtOnce = 1 << 18, kBf16Bytes = 2;

  static int64_t aligned_floats(int64_t elements) { return (elements * 4 + 255) / 256 * 256; }
  int64_t dy_bytes() const { return aligned_floats(dy_elements_); }
  int64_t dx_bytes() const { return aligned_floats(dx_elements_); }

  int64_t parts_, index_bytes_, dy_elements_, dx_elements_;
  BuiltPool single_;
};

bool is_backward_in_bf16(std::span<const OperandDesc> operands) { return operands[2].tensor.type == DataType::bf16; }

}  // namespace

std::vector<Algorithm> MaxPoolForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = built_pool(forward, attrs, operands)->workspace_bytes()}};
}

std::unique_ptr<Kernel> MaxPoolForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                             std::string_view) {
  return built_pool(forward, attrs, operands);
}

std::vector<Algorithm> MaxPoolBackward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  if (is_backward_in_bf16(operands))
    return {{.workspace_bytes = Bf16BackwardKernel(attrs, operands).workspace_bytes()}};
  return {{.workspace_bytes = built_pool(backward, attrs, operands)->workspace_bytes()}};
}

std::unique_ptr<Kernel> MaxPoolBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                              std::string_view) {
  if (is_backward_in_bf16(operands)) return std::make_unique<Bf16BackwardKernel>(attrs, operands);
  return built_pool(backward, attrs, operands);
}

}  // namespace plimsoll
