// MaxPoolForward {x, y, indices}   MaxPoolBackward {indices, dy, dx}
// oneDNN's pooling; `indices` is its workspace, which has the output's shape and layout.
#include <algorithm>

#include "runtime/host/primitive_kernel.h"
#include "runtime/kernels.h"

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

}  // namespace

std::vector<Algorithm> MaxPoolForward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = built_pool(forward, attrs, operands)->workspace_bytes()}};
}

std::unique_ptr<Kernel> MaxPoolForward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                             std::string_view) {
  return built_pool(forward, attrs, operands);
}

std::vector<Algorithm> MaxPoolBackward::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {
  return {{.workspace_bytes = built_pool(backward, attrs, operands)->workspace_bytes()}};
}

std::unique_ptr<Kernel> MaxPoolBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                              std::string_view) {
  return built_pool(backward, attrs, operands);
}

}  // namespace plimsoll
