// ConvForward {x, w, b, y}   ConvBackwardData {w, dy, dx, addend?}   ConvBackwardWeights {x, dy, dw, db}
// ConvTransposeForward {x, w, b, y}: dx of a convolution whose dy is x, and a bias.
//
// oneDNN chooses the layout of the weights; if the plan has another, the task includes a reorder into (or out of) the
// workspace, because weights are small compared to activations. Algorithms:
//   direct     activations are used in their layout
//   reordered  copies of them in the workspace, if oneDNN prefers another layout
//   winograd   3x3 with stride 1, two dimensions; faster, but needs much workspace
//   depthwise  an own kernel for the weights of depthwise convolutions (runtime/host/depthwise_weights.h)
#include <algorithm>

#include "runtime/host/depthwise_weights.h"
#include "runtime/host/primitive_kernel.h"
#include "runtime/kernels.h"
#include "runtime/precision.h"

namespace plimsoll {
namespace {

using dnnl::memory;

// ONNX has [G·O, I, kH, kW], or [G·O, I, kD, kH, kW]; oneDNN needs the group as a separate dimension. The bytes are the
// same: a block never spans groups.
memory::desc weights_desc(const TensorDesc& w, int64_t group) {
  if (group == 1) return host::to_dnnl(w);
  memory::dims dims = {group, w.dim(0) / group};
  for (size_t axis = 1; axis < w.rank(); ++axis) dims.push_back(w.dim(axis));
  const auto fits = [&](int64_t block) { return dims[1] % block == 0 && dims[2] % block == 0; };
  const bool depthwise = dims[1] == 1 && dims[2] == 1;
  using tag = memory::format_tag;
  tag layout = tag::undef;
  if (w.layout == Layout::plain) layout = w.rank() == 5 ? tag::goidhw : tag::goihw;
  if (w.layout == Layout::OIhw16i16o && fits(16)) layout = tag::gOIhw16i16o;
  if (w.layout == Layout::OIhw8i8o && fits(8)) layout = tag::gOIhw8i8o;
  if (w.layout == Layout::Goihw16g && depthwise) layout = tag::Goihw16g;
  if (w.layout == Layout::Goihw8g && depthwise) layout = tag::Goihw8g;
  if (layout == tag::undef)
    throw KernelError("weights in layout " + std::string(name_of(w.layout)) + " do not fit a convolution of " +
                      std::to_string(group) + " groups");
  return memory::desc(dims, host::type_of(host::to_dnnl({w.type, {1}})), layout);
}

// How a task is computed: the library's algorithm, and whether the activations are used in their layout.
struct Way {
  const char* name;
  dnnl::algorithm algorithm;
  bool reordered;  // copies of the activations in oneDNN's preferred layout are in the workspace
};

constexpr Way kDirect = {"direct", dnnl::algorithm::convolution_direct, false};
constexpr Way kReordered = {"reordered", dnnl::algorithm::convolution_direct, true};
constexpr Way kWinograd = {"winograd", dnnl::algorithm::convolution_winograd, false};

// `given` has the layouts of x, w and y; `x`, `w` and `y` are the descriptions passed to oneDNN.
struct ConvProblem {
  struct { memory::desc x, w, y; } given;
  memory::desc x, w, y;
  memory::desc b;  // empty: no bias
  dnnl::algorithm algorithm;
  memory::dims strides, dilates, pads_begin, pads_end;

  ConvProblem(const ConvAttrs& a, const Way& way, const TensorDesc& x_, const TensorDesc& w_, const OperandDesc& b_,
          const TensorDesc& y_)
      : given{host::to_dnnl(x_), weights_desc(w_, a.group), host::to_dnnl(y_)},
        x(way.reordered ? host::any_layout(given.x) : given.x),
        w(host::any_layout(given.w)),
        y(way.reordered ? host::any_layout(given.y) : given.y),
        algorithm(way.algorithm),
        strides(host::to_dims(a.strides)),
        dilates(host::gaps(a.dilations)),
        pads_begin(host::pads_before(a.pads)),
        pads_end(host::pads_after(a.pads)) {
    if (b_.access != Access::absent) b = host::to_dnnl(b_.tensor);
  }

  dnnl::convolution_forward::primitive_desc forward(bool relu = false) const {
    dnnl::primitive_attr attr = host::scratchpad_by_user();
    if (relu) {
      dnnl::post_ops after;
      host::append_relu(after);
      attr.set_post_ops(after);
    }
    return host::describe<dnnl::convolution_forward>(host::engine(), attr, dnnl::prop_kind::forward_training, algorithm,
                                                     x, w, b, y, strides, dilates, pads_begin, pads_end);
  }

  dnnl::convolution_backward_data::primitive_desc backward_data() const {
    // Of factors in bf16 dx may be f32, but the forward has x in bf16.
    ConvProblem hint = *this;
    if (host::type_of(x) != host::type_of(y)) hint.x = host::any_layout(x, host::type_of(y));
    return host::describe_backward<dnnl::convolution_backward_data>(host::engine(), host::scratchpad_by_user(),
                                                                    hint.forward(), algorithm, x, w, y, strides,
                                                                    dilates, pads_begin, pads_end);
  }

  dnnl::convolution_backward_weights::primitive_desc backward_weights() const {
    // Of factors in bf16 the gradient is f32, but the forward has weights in bf16.
    ConvProblem hint = *this;
    if (host::type_of(w) != host::type_of(x)) hint.w = host::any_layout(w, host::type_of(x));
    return host::describe_backward<dnnl::convolution_backward_weights>(host::engine(), host::scratchpad_by_user(),
                                                                       hint.forward(), algorithm, x, w, b, y, strides,
                                                                       dilates, pads_begin, pads_end);
  }
};

// One number per channel of these images.
memory::desc per_channel(const memory::desc& images) {
  const memory::dims like = host::dims_of(images);
  memory::dims dims(like.size(), 1);
  dims[1] = like[1];
  return {dims, memory::data_type::f32, dims.size() == 5 ? memory::format_tag::ncdhw : memory::format_tag::nchw};
}

struct BuiltConv {
  std::unique_ptr<host::PrimitiveKernel> kernel = std::make_unique<host::PrimitiveKernel>();
  bool slow = false;  // oneDNN's reference implementation, a thousand times slower
};

bool is_reference(const char* implementation) { return std::string_view(implementation).starts_with("ref"); }

BuiltConv forward(const ConvAttrs& attrs, std::span<const OperandDesc> operands, const Way& way) {
  const ConvProblem p(attrs, way, operands[0].tensor, operands[1].tensor, operands[2], operands[3].tensor);
  const auto desc = p.forward(attrs.relu);
  BuiltConv built{.slow = is_reference(desc.impl_info_str())};
  host::PrimitiveKernel& kernel = *built.kernel;
  const auto y = kernel.write_as(desc.dst_desc(), 3, p.given.y, false);
  host::Arguments arguments = {{DNNL_ARG_SRC, kernel.read_as(desc.src_desc(), 0, p.given.x)},
                               {DNNL_ARG_WEIGHTS, kernel.read_as(desc.weights_desc(), 1, p.given.w)},
                               {DNNL_ARG_DST, y.made}};
  if (!p.b.is_zero()) arguments[DNNL_ARG_BIAS] = kernel.operand(2, p.b);
  kernel.add(dnnl::convolution_forward(desc), desc.scratchpad_desc(), arguments);
  kernel.finish(y);
  return built;
}

struct DataSlots {
  size_t w, dy, dx;
  bool accumulate = false;  // added to what dx has
};

// dx of a convolution; returns its location.
memory add_backward_data(BuiltConv& built, const ConvProblem& p, const DataSlots& slots, bool dx_in_temporary = false) {
  const auto desc = p.backward_data();
  built.slow = is_reference(desc.impl_info_str());
  host::PrimitiveKernel& kernel = *built.kernel;
  const auto dx = dx_in_temporary
                      ? host::PrimitiveKernel::Result{.made = kernel.temporary(desc.diff_src_desc()), .target = {}}
                      : kernel.write_as(desc.diff_src_desc(), slots.dx, p.given.x, slots.accumulate);
  const memory w = kernel.read_as(desc.weights_desc(), slots.w, p.given.w);
  kernel.add(dnnl::convolution_backward_data(desc), desc.scratchpad_desc(),
             {{DNNL_ARG_WEIGHTS, w},
              {DNNL_ARG_DIFF_DST, kernel.read_as(desc.diff_dst_desc(), slots.dy, p.given.y)},
              {DNNL_ARG_DIFF_SRC, dx.made}});
  kernel.finish(dx);
  return dx.target ? dx.target : dx.made;
}

BuiltConv backward_data(const ConvAttrs& attrs, std::span<const OperandDesc> operands, const Way& way) {
  BuiltConv built;
  const ConvProblem p(attrs, way, operands[2].tensor, operands[0].tensor, absent(), operands[1].tensor);
  const bool adds = operands.size() > 3 && operands[3].access != Access::absent;
  if (adds) built.kernel->add_reorder(built.kernel->operand(3, p.given.x), built.kernel->operand(2, p.given.x));
  add_backward_data(built, p, {.w = 0, .dy = 1, .dx = 2, .accumulate = adds});
  return built;
}

BuiltConv transpose_forward(const ConvAttrs& attrs, std::span<const OperandDesc> operands, const Way& way) {
  BuiltConv built;
  const bool has_bias = operands[2].access != Access::absent;
  // In bf16 the sum with the bias is rounded once.
  const bool in_f32 = has_bias && operands[3].tensor.type == DataType::bf16;
  TensorDesc product = operands[3].tensor;
  if (in_f32) product.type = DataType::f32;
  const ConvProblem p(attrs, way, product, operands[1].tensor, absent(), operands[0].tensor);
  const memory made = add_backward_data(built, p, {.w = 1, .dy = 0, .dx = 3}, in_f32);
  if (has_bias) {
    const memory::desc b = per_channel(p.x), sum = made.get_desc();
    const auto add = host::describe<dnnl::binary>(host::engine(), host::scratchpad_by_user(),
                                                  dnnl::algorithm::binary_add, sum, b, sum);
    built.kernel->add(dnnl::binary(add), add.scratchpad_desc(),
                      {{DNNL_ARG_SRC_0, made}, {DNNL_ARG_SRC_1, built.kernel->operand(2, b)}, {DNNL_ARG_DST, made}});
  }
  if (in_f32) built.kernel->add_reorder(made, built.kernel->operand(3, host::to_dnnl(operands[3].tensor)));
  return built;
}

// Only the bias is trained: db is the sum of dy over all dimensions but the channels.
BuiltConv backward_bias(std::span<const OperandDesc> operands) {
  const memory::desc dy = host::to_dnnl(operands[1].tensor);
  const memory::desc sums = per_channel(dy);
  const auto desc = host::describe<dnnl::reduction>(host::engine(), host::scratchpad_by_user(),
                                                    dnnl::algorithm::reduction_sum, dy, sums, 0.0F, 0.0F);
  BuiltConv built;
  const auto db = built.kernel->write_as(sums, 3, sums, operands[3].access == Access::update);
  built.kernel->add(dnnl::reduction(desc), desc.scratchpad_desc(),
                    {{DNNL_ARG_SRC, built.kernel->operand(1, dy)}, {DNNL_ARG_DST, db.made}});
  built.kernel->finish(db);
  return built;
}

BuiltConv backward_weights(const ConvAttrs& attrs, std::span<const OperandDesc> operands, const Way& way) {
  if (operands[2].access == Access::absent) return backward_bias(operands);
  const ConvProblem p(attrs, way, operands[0].tensor, operands[2].tensor, operands[3], operands[1].tensor);
  const auto desc = p.backward_weights();
  BuiltConv built{.slow = is_reference(desc.impl_info_str())};
  host::PrimitiveKernel& kernel = *built.kernel;
  const auto dw = kernel.write_as(desc.diff_weights_desc(), 2, p.given.w, operands[2].access == Access::update);
  host::PrimitiveKernel::Result db;
  host::Arguments arguments = {
      {DNNL_ARG_SRC, kernel.read_as(desc.src_desc(), 0, p.given.x)},
      {DNNL_ARG_DIFF_DST, kernel.read_as(desc.diff_dst_desc(), 1, p.given.y)},
      {DNNL_ARG_DIFF_WEIGHTS, dw.made}};
  if (!p.b.is_zero()) {
    db = kernel.write_as(p.b, 3, p.b, operands[3].access == Access::update);
    arguments[DNNL_ARG_DIFF_BIAS] = db.made;
  }
  kernel.add(dnnl::convolution_backward_weights(desc), desc.scratchpad_desc(), arguments);
  kernel.finish(dw);
  kernel.finish(db);
  return built;
}

using Build = BuiltConv (*)(const ConvAttrs&, std::span<const OperandDesc>, const Way&);

struct Offer {
  const char* name;
  std::unique_ptr<Kernel> kernel;
  int64_t workspace_bytes;
};

constexpr const char* kDepthwise = "depthwise";

// The algorithms for this shape, the default first. The default uses activations in their layout, unless oneDNN has
// only its reference implementation for that: if blocked channels are combined with plain ones, or groups are narrower
// than a block.
std::vector<Offer> offers(Build build, const ConvAttrs& attrs, std::span<const OperandDesc> operands) {
  std::string reason;
  const auto attempt = [&](const Way& way) {
    try {
      return build(attrs, operands, way);
    } catch (const dnnl::error& failure) {
      reason = failure.what();
      return BuiltConv{.kernel = nullptr};
    }
  };
  std::vector<Offer> found;
  const auto offer = [&](const Way& way, BuiltConv built) {
    const int64_t bytes = built.kernel->workspace_bytes();
    found.push_back({way.name, std::move(built.kernel), bytes});
  };
  BuiltConv direct = attempt(kDirect);
  if (direct.kernel && !direct.slow) offer(kDirect, std::move(direct));
  BuiltConv reordered = attempt(kReordered);
  const auto differs = [&] {
    return found.empty() || reordered.kernel->workspace_bytes() != found[0].workspace_bytes;
  };
  if (reordered.kernel && !reordered.slow && differs()) offer(kReordered, std::move(reordered));
  if (build == &backward_weights)
    if (auto own = host::depthwise_weights(attrs, operands); own.kernel)
      found.push_back({kDepthwise, std::move(own.kernel), own.workspace_bytes});
  // In bf16 the kernel for f32 on widened operands is faster than the reference implementation (runtime/precision.h).
  if (found.empty() && direct.kernel && !uses_narrow(operands)) offer(kDirect, std::move(direct));
  if (found.empty()) throw KernelError("oneDNN has no such convolution: " + reason);
  const auto is_ones = [](const IntList& list) {
    return std::all_of(list.begin(), list.end(), [](int64_t item) { return item == 1; });
  };
  if (attrs.group == 1 && attrs.strides.size() == 2 && !uses_narrow(operands) && is_ones(attrs.strides) &&
      is_ones(attrs.dilations))
    if (BuiltConv winograd = attempt(kWinograd); winograd.kernel) offer(kWinograd, std::move(winograd));
  return found;
}

std::vector<Algorithm> list(Build build, const ConvAttrs& attrs, std::span<const OperandDesc> operands) {
  std::vector<Algorithm> algorithms;
  for (const Offer& offer : offers(build, attrs, operands))
    algorithms.push_back({.name = offer.name, .workspace_bytes = offer.workspace_bytes});
  return algorithms;
}

std::unique_ptr<Kernel> pick(Build build, const ConvAttrs& attrs, std::span<const OperandDesc> operands,
                             std::string_view algorithm) {
  if (algorithm.empty()) return std::move(offers(build, attrs, operands).front().kernel);
  for (const Way& way : {kDirect, kReordered, kWinograd})
    if (algorithm == way.name)
      return host::made("oneDNN has no '" + std::string(algorithm) + "' for this convolution",
                        [&] { return build(attrs, operands, way).kernel; });
  if (build == &backward_weights && algorithm == kDepthwise)
    if (auto own = host::depthwise_weights(attrs, operands); own.kernel) return std::move(own.kernel);
  throw KernelError("there is no convolution algorithm '" + std::string(algorithm) + "' for this convolution");
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
