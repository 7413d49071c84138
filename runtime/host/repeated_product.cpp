#include "runtime/host/repeated_product.h"

#include <algorithm>

namespace plimsoll::host {
namespace {

using dnnl::memory;

memory::data_type element_of(DataType type) {
  return type == DataType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory::desc matrix(int64_t rows, int64_t columns, DataType type, bool transposed) {
  const memory::dims strides = transposed ? memory::dims{1, rows} : memory::dims{columns, 1};
  return {{rows, columns}, element_of(type), strides};
}

dnnl::primitive_attr attributes(bool accumulates) {
  dnnl::primitive_attr attr = scratchpad_by_user();
  if (accumulates) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attr.set_post_ops(sum);
  }
  return attr;
}

void set(const memory& of, const void* address) {
  dnnl::error::wrap_c_api(dnnl_memory_set_data_handle(of.get(), const_cast<void*>(address)), "an address was refused");
}

}  // namespace

dnnl::matmul::primitive_desc preferred(const std::vector<dnnl::matmul::primitive_desc>& offered, DataType factors) {
  const auto found = std::find_if(offered.begin(), offered.end(), [](const auto& desc) {
    const std::string name = desc.impl_info_str();
    return !name.starts_with("ref") && !name.starts_with("gemm");
  });
  if (found != offered.end()) return *found;
  if (offered.empty() || is_narrow(factors)) throw KernelError("oneDNN has no such matrix multiplication");
  return offered.front();
}

RepeatedProduct::RepeatedProduct(const Sizes& sizes) {
  const memory::desc a = matrix(sizes.rows, sizes.inner, sizes.factors, sizes.transpose_a),
                     b = matrix(sizes.inner, sizes.columns, sizes.factors, sizes.transpose_b),
                     y = matrix(sizes.rows, sizes.columns, sizes.result, false),
                     row = matrix(1, sizes.columns, DataType::f32, false),
                     any({sizes.inner, sizes.columns}, element_of(sizes.factors), memory::format_tag::any);
  const dnnl::primitive_attr attr = attributes(sizes.accumulates);
  const memory::desc& wanted = sizes.packs ? any : b;
  const auto desc = preferred(sizes.adds_row ? describe_all<dnnl::matmul>(engine(), attr, a, wanted, row, y)
                                             : describe_all<dnnl::matmul>(engine(), attr, a, wanted, y),
                              sizes.factors);
  if (sizes.adds_row) row_ = unbound(row);
  product_ = dnnl::matmul(desc);
  a_ = unbound(a), b_ = unbound(b), y_ = unbound(y);
  scratchpad_ = unbound(desc.scratchpad_desc());
  scratchpad_bytes_ = cache_lines(desc.scratchpad_desc().get_size());
  packed_ = b_;
  if (desc.weights_desc() == b) return;
  packed_ = unbound(desc.weights_desc());
  packed_bytes_ = cache_lines(desc.weights_desc().get_size());
  const dnnl::reorder::primitive_desc packing(engine(), b, engine(), desc.weights_desc(), scratchpad_by_user());
  packing_ = dnnl::reorder(packing);
  packing_scratchpad_ = unbound(packing.scratchpad_desc());
  scratchpad_bytes_ = std::max(scratchpad_bytes_, cache_lines(packing.scratchpad_desc().get_size()));
}

void RepeatedProduct::begin(const void* b, std::byte* workspace, const float* row) {
  if (row_) set(row_, row);
  set(b_, b);
  std::byte* const scratchpad = workspace + packed_bytes_;
  set(scratchpad_, scratchpad);
  if (!packing_) return;
  set(packed_, workspace);
  set(packing_scratchpad_, scratchpad);
  packing_.execute(stream(), {{DNNL_ARG_FROM, b_}, {DNNL_ARG_TO, packed_}, {DNNL_ARG_SCRATCHPAD, packing_scratchpad_}});
}

void RepeatedProduct::run(const void* a, void* y) {
  set(a_, a);
  set(y_, y);
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, a_.get()},
                                       {DNNL_ARG_WEIGHTS, packed_.get()},
                                       {DNNL_ARG_DST, y_.get()},
                                       {DNNL_ARG_SCRATCHPAD, scratchpad_.get()},
                                       {DNNL_ARG_BIAS, row_ ? row_.get() : nullptr}};
  dnnl::error::wrap_c_api(dnnl_primitive_execute(product_.get(), stream().get(), row_ ? 5 : 4, arguments),
                          "a matrix product failed");
}

}  // namespace plimsoll::host
