// ConvForward {x, w, b, y}   ConvBackwardData {w, dy, dx}   ConvBackwardWeights {x, dy, dw, db}
// ConvTransposeForward {x, w, b, y}: dx of a convolution whose dy is x, and a bias.
//
// Activations are taken as they lie. The weights' layout is oneDNN's choice; where the plan has another, a reorder into
// (or out of) the workspace comes with the task: weights are small beside activations. Algorithms: "direct", and
// "winograd" where oneDNN has it (3x3, stride 1), faster for much workspace.
#include "runtime/host/primitive_kernel.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

using dnnl::memory;

// ONNX has [G·O, I, kH, kW]; oneDNN wants the group as a dimension of its own. Same bytes: a block never spans groups.
memory::desc weights_desc(const TensorDesc& w, int64_t group) {
  if (group == 1) return host::to_dnnl(w);
  const memory::dims dims = {group, w.dim(0) / group, w.dim(1), w.dim(2), w.dim(3)};
  const auto fits = [&](int64_t block) { return dims[1] % block == 0 && dims[2] % block == 0; };
  const bool depthwise = dims[1] == 1 && dims[2] == 1;
  using tag = memory::format_tag;
  tag layout = tag::undef;
  if (w.layout == Layout::plain) layout = tag::goihw;
  if (w.layout == Layout::OIhw16i16o && fits(16)) layout = tag::gOIhw16i16o;
  if (w.layout == Layout::OIhw8i8o && fits(8)) layout = tag::gOIhw8i8o;
  if (w.layout == Layout::Goihw16g && depthwise) layout = tag::Goihw16g;
  if (w.layout == Layout::Goihw8g && depthwise) layout = tag::Goihw8g;
  if (layout == tag::undef)
    throw KernelError("weights in layout " + std::string(name_of(w.layout)) + " do not fit a convolution of " +
                      std::to_string(group) + " groups");
  return memory::desc(dims, memory::data_type::f32, layout);
}

struct Problem {
  memory::desc x, w, any_w, y;
  memory::desc b;  // empty: no bias
  memory::dims strides, dilates, pads_begin, pads_end;

  Problem(const ConvAttrs& a, const TensorDesc& x_, const TensorDesc& w_, const OperandDesc& b_, const TensorDesc& y_)
      : x(host::to_dnnl(x_)),
        w(weights_desc(w_, a.group)),
        any_w(w.dims(), memory::data_type::f32, memory::format_tag::any),
        y(host::to_dnnl(y_)),
        strides(host::to_dims(a.strides)),
        dilates{a.dilations[0] - 1, a.dilations[1] - 1},  // oneDNN counts the gaps
        pads_begin{a.pads[0], a.pads[1]},
        pads_end{a.pads[2], a.pads[3]} {
    if (b_.access != Access::absent) b = host::to_dnnl(b_.tensor);
  }

  dnnl::convolution_forward::primitive_desc forward(dnnl::algorithm algorithm, bool relu = false) const {
    dnnl::primitive_attr attr = host::scratchpad_by_user();
    if (relu) {
      dnnl::post_ops after;
      after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
      attr.set_post_ops(after);
    }
    return {{dnnl::prop_kind::forward_training, algorithm, x, any_w, b, y, strides, dilates, pads_begin, pads_end},
            attr, host::engine()};
  }
};

using Built = std::unique_ptr<host::PrimitiveKernel>;

Built forward(const ConvAttrs& attrs, std::span<const OperandDesc> operands, dnnl::algorithm algorithm) {
  const Problem p(attrs, operands[0].tensor, operands[1].tensor, operands[2], operands[3].tensor);
  const auto desc = p.forward(algorithm, attrs.relu);
  auto kernel = std::make_unique<host::PrimitiveKernel>();
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, kernel->operand(0, p.x)},
                                               {DNNL_ARG_WEIGHTS, kernel->read_as(desc.weights_desc(), 1, p.w)},
                                               {DNNL_ARG_DST, kernel->operand(3, p.y)}};
  if (p.b) arguments[DNNL_ARG_BIAS] = kernel->operand(2, p.b);
  kernel->add(dnnl::convolution_forward(desc), desc.scratchpad_desc(), arguments);
  return kernel;
}

Built backward_data(const ConvAttrs& attrs, std::span<const OperandDesc> operands, dnnl::algorithm algorithm) {
  const Problem p(attrs, operands[2].tensor, operands[0].tensor, absent(), operands[1].tensor);
  const dnnl::convolution_backward_data::primitive_desc desc(
      {algorithm, p.x, p.any_w, p.y, p.strides, p.dilates, p.pads_begin, p.pads_end}, host::scratchpad_by_user(),
      host::engine(), p.forward(algorithm));
  auto kernel = std::make_unique<host::PrimitiveKernel>();
  const memory w = kernel->read_as(desc.weights_desc(), 0, p.w);
  kernel->add(dnnl::convolution_backward_data(desc), desc.scratchpad_desc(),
              {{DNNL_ARG_WEIGHTS, w},
               {DNNL_ARG_DIFF_DST, kernel->operand(1, p.y)},
               {DNNL_ARG_DIFF_SRC, kernel->operand(2, p.x)}});
  return kernel;
}

Built transpose_forward(const ConvAttrs& attrs, std::span<const OperandDesc> operands, dnnl::algorithm algorithm) {
  const Problem p(attrs, operands[3].tensor, operands[1].tensor, absent(), operands[0].tensor);
  const dnnl::convolution_backward_data::primitive_desc desc(
      {algorithm, p.x, p.any_w, p.y, p.strides, p.dilates, p.pads_begin, p.pads_end}, host::scratchpad_by_user(),
      host::engine(), p.forward(algorithm));
  auto kernel = std::make_unique<host::PrimitiveKernel>();
  const memory w = kernel->read_as(desc.weights_desc(), 1, p.w), y = kernel->operand(3, p.x);
  kernel->add(dnnl::convolution_backward_data(desc), desc.scratchpad_desc(),
              {{DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_DST, kernel->operand(0, p.y)}, {DNNL_ARG_DIFF_SRC, y}});
  if (operands[2].access != Access::absent) {
    const memory::desc b({1, p.x.dims()[1], 1, 1}, memory::data_type::f32, memory::format_tag::nchw);
    const dnnl::binary::primitive_desc add({dnnl::algorithm::binary_add, p.x, b, p.x}, host::scratchpad_by_user(),
                                           host::engine());
    kernel->add(dnnl::binary(add), add.scratchpad_desc(),
                {{DNNL_ARG_SRC_0, y}, {DNNL_ARG_SRC_1, kernel->operand(2, b)}, {DNNL_ARG_DST, y}});
  }
  return kernel;
}

// The bias alone is trained: db is a sum of dy over all but the channels.
Built backward_bias(std::span<const OperandDesc> operands) {
  const memory::desc dy = host::to_dnnl(operands[1].tensor);
  const memory::desc sums({1, dy.dims()[1], 1, 1}, memory::data_type::f32, memory::format_tag::nchw);
  const dnnl::reduction::primitive_desc desc({dnnl::algorithm::reduction_sum, dy, sums, 0, 0},
                                             host::scratchpad_by_user(), host::engine());
  auto kernel = std::make_unique<host::PrimitiveKernel>();
  const auto db = kernel->write_as(sums, 3, sums, operands[3].access == Access::update);
  kernel->add(dnnl::reduction(desc), desc.scratchpad_desc(),
              {{DNNL_ARG_SRC, kernel->operand(1, dy)}, {DNNL_ARG_DST, db.made}});
  kernel->finish(db);
  return kernel;
}

Built backward_weights(const ConvAttrs& attrs, std::span<const OperandDesc> operands, dnnl::algorithm algorithm) {
  if (operands[2].access == Access::absent) return backward_bias(operands);
  const Problem p(attrs, operands[0].tensor, operands[2].tensor, operands[3], operands[1].tensor);
  const dnnl::convolution_backward_weights::primitive_desc desc(
      {algorithm, p.x, p.any_w, p.b, p.y, p.strides, p.dilates, p.pads_begin, p.pads_end},
      host::scratchpad_by_user(), host::engine(), p.forward(algorithm));
  auto kernel = std::make_unique<host::PrimitiveKernel>();
  const auto dw = kernel->write_as(desc.diff_weights_desc(), 2, p.w, operands[2].access == Access::update);
  host::PrimitiveKernel::Result db;
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, kernel->operand(0, p.x)},
                                               {DNNL_ARG_DIFF_DST, kernel->operand(1, p.y)},
                                               {DNNL_ARG_DIFF_WEIGHTS, dw.made}};
  if (p.b) {
    db = kernel->write_as(p.b, 3, p.b, operands[3].access == Access::update);
    arguments[DNNL_ARG_DIFF_BIAS] = db.made;
  }
  kernel->add(dnnl::convolution_backward_weights(desc), desc.scratchpad_desc(), arguments);
  kernel->finish(dw);
  kernel->finish(db);
  return kernel;
}

using Build = Built (*)(const ConvAttrs&, std::span<const OperandDesc>, dnnl::algorithm);

Built build_direct(Build build, const ConvAttrs& attrs, std::span<const OperandDesc> operands) try {
  return build(attrs, operands, dnnl::algorithm::convolution_direct);
} catch (const dnnl::error& failure) {
  throw KernelError(std::string("oneDNN has no such convolution: ") + failure.what());
}

// nullptr: not offered for this shape.
Built build_winograd(Build build, const ConvAttrs& attrs, std::span<const OperandDesc> operands) try {
  const auto is_ones = [](const IntList& list) { return list == IntList{1, 1}; };
  if (attrs.group != 1 || !is_ones(attrs.strides) || !is_ones(attrs.dilations)) return nullptr;
  return build(attrs, operands, dnnl::algorithm::convolution_winograd);
} catch (const dnnl::error&) {
  return nullptr;
}

std::vector<Algorithm> list(Build build, const ConvAttrs& attrs, std::span<const OperandDesc> operands) {
  std::vector<Algorithm> found = {
      {.name = "direct", .workspace_bytes = build_direct(build, attrs, operands)->workspace_bytes()}};
  if (const Built winograd = build_winograd(build, attrs, operands))
    found.push_back({.name = "winograd", .workspace_bytes = winograd->workspace_bytes()});
  return found;
}

std::unique_ptr<Kernel> pick(Build build, const ConvAttrs& attrs, std::span<const OperandDesc> operands,
                             std::string_view algorithm) {
  if (algorithm.empty() || algorithm == "direct") return build_direct(build, attrs, operands);
  Built winograd = algorithm == "winograd" ? build_winograd(build, attrs, operands) : nullptr;
  if (!winograd) throw KernelError("no convolution algorithm '" + std::string(algorithm) + "' for this shape");
  return winograd;
}

}  // namespace

#define PLIMSOLL_CONV(kernel, build)                                                                              \
  std::vector<Algorithm> kernel::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {          \
    return list(build, attrs, operands);                                                                          \
  }                                                                                                               \
  std::unique_ptr<Kernel> kernel::make(const Attrs& attrs, std::span<const OperandDesc> operands,                 \
                                       std::string_view algorithm) {                                              \
    return pick(build, attrs, operands, algorithm);                                                               \
  }
PLIMSOLL_CONV(ConvForward, forward)
PLIMSOLL_CONV(ConvBackwardData, backward_data)
PLIMSOLL_CONV(ConvBackwardWeights, backward_weights)
PLIMSOLL_CONV(ConvTransposeForward, transpose_forward)
#undef PLIMSOLL_CONV

}  // namespace plimsoll
