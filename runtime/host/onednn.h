// Hides the API differences between oneDNN 2 (2.6 or later) and oneDNN 3: the only file that depends on the library's
// version. oneDNN 3 has no operation descriptors: a primitive descriptor is created from the operation's parameters.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include <unordered_map>
#include <vector>

#if DNNL_VERSION_MAJOR < 2 || (DNNL_VERSION_MAJOR == 2 && DNNL_VERSION_MINOR < 6) || DNNL_VERSION_MAJOR > 3
#error "oneDNN 2.6 or later, or oneDNN 3, is needed (Debian: libdnnl-dev)"
#endif

namespace plimsoll::host {

// The arguments of an execution, keyed by number: DNNL_ARG_SRC, ...
using Arguments = std::unordered_map<int, dnnl::memory>;

#if DNNL_VERSION_MAJOR == 2

inline dnnl::memory::dims dims_of(const dnnl::memory::desc& desc) { return desc.dims(); }
inline dnnl::memory::data_type type_of(const dnnl::memory::desc& desc) { return desc.data_type(); }

// The descriptor of a primitive: its attributes, then the parameters of its operation in oneDNN's order.
template <class Primitive, class... Parameters>
typename Primitive::primitive_desc describe(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                                            const Parameters&... parameters) {
  return {{parameters...}, attr, engine};
}

// The descriptors of all implementations, in oneDNN's order of preference. oneDNN 2 reads the operation for each of
// them, so it must outlive the loop.
template <class Primitive, class... Parameters>
std::vector<typename Primitive::primitive_desc> describe_all(const dnnl::engine& engine,
                                                             const dnnl::primitive_attr& attr,
                                                             const Parameters&... parameters) {
  const typename Primitive::desc operation(parameters...);
  typename Primitive::primitive_desc next(operation, attr, engine);
  std::vector<typename Primitive::primitive_desc> all = {next};
  while (next.next_impl()) all.push_back(next);
  return all;
}

// Like describe(), for a gradient; `forward` is the descriptor of the forward primitive.
template <class Primitive, class Forward, class... Parameters>
typename Primitive::primitive_desc describe_backward(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                                                     const Forward& forward, const Parameters&... parameters) {
  return {{parameters...}, attr, engine, forward};
}

// oneDNN 2 has no such attribute.
inline void require_determinism(dnnl::primitive_attr&) {}

inline void append_relu(dnnl::post_ops& after) { after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0); }

// Multiplies the product by `factor` before post-operations. Returns the arguments that every execution needs for this;
// the caller keeps them alive.
inline Arguments scale_product(const dnnl::engine&, dnnl::primitive_attr& attr, float factor) {
  attr.set_output_scales(0, {factor});
  return {};
}

#else

inline dnnl::memory::dims dims_of(const dnnl::memory::desc& desc) { return desc.get_dims(); }
inline dnnl::memory::data_type type_of(const dnnl::memory::desc& desc) { return desc.get_data_type(); }

template <class Primitive, class... Parameters>
typename Primitive::primitive_desc describe(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                                            const Parameters&... parameters) {
  return {engine, parameters..., attr};
}

// oneDNN 3 modifies the descriptor in place, and C++ copies share it.
template <class Primitive, class... Parameters>
std::vector<typename Primitive::primitive_desc> describe_all(const dnnl::engine& engine,
                                                             const dnnl::primitive_attr& attr,
                                                             const Parameters&... parameters) {
  typename Primitive::primitive_desc next = describe<Primitive>(engine, attr, parameters...);
  std::vector<typename Primitive::primitive_desc> all;
  do {
    all.emplace_back(next.get());  // created from the C descriptor, which it clones
  } while (next.next_impl());
  return all;
}

template <class Primitive, class Forward, class... Parameters>
typename Primitive::primitive_desc describe_backward(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                                                     const Forward& forward, const Parameters&... parameters) {
  return {engine, parameters..., forward, attr};
}

// A trainer's results are the same on every run. The attribute exists since oneDNN 3.4.
inline void require_determinism([[maybe_unused]] dnnl::primitive_attr& attr) {
#if DNNL_VERSION_MINOR >= 4
  attr.set_deterministic(true);
#endif
}

inline void append_relu(dnnl::post_ops& after) { after.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0); }

// Output scales were removed. A scale of the weights is applied at the same point, and is an argument of the execution.
inline Arguments scale_product(const dnnl::engine& engine, dnnl::primitive_attr& attr, float factor) {
  attr.set_scales_mask(DNNL_ARG_WEIGHTS, 0);
  const dnnl::memory scale({{1}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a}, engine);
  *static_cast<float*>(scale.get_data_handle()) = factor;
  return {{DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, scale}};
}

#endif

}  // namespace plimsoll::host
