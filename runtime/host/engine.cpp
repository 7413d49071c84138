#include "runtime/host/engine.h"

#include "runtime/machine/processors.h"

namespace plimsoll::host {

dnnl::engine& engine() {
  static dnnl::engine the_engine(dnnl::engine::kind::cpu, 0);
  return the_engine;
}

dnnl::stream& stream() {
  static dnnl::stream the_stream(engine());
  return the_stream;
}

bool multiplies_bf16_faster() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
#if defined(__x86_64__) || defined(__i386__)
  const bool is_intel = __builtin_cpu_is("intel");
#else
  const bool is_intel = false;
#endif
  return plimsoll::multiplies_bf16_faster(isa >= dnnl::cpu_isa::avx512_core_amx,
                                          isa >= dnnl::cpu_isa::avx512_core_bf16, is_intel);
}

namespace {

dnnl::memory::data_type to_dnnl(DataType type) {
  switch (type) {
    case DataType::f32: return dnnl::memory::data_type::f32;
    case DataType::i32: return dnnl::memory::data_type::s32;
    case DataType::u8: return dnnl::memory::data_type::u8;
    case DataType::bf16: return dnnl::memory::data_type::bf16;
    case DataType::f16: return dnnl::memory::data_type::f16;
    case DataType::i64: case DataType::q8: case DataType::uq8: case DataType::i16: break;
  }
  throw KernelError("oneDNN has no such elements");
}

dnnl::memory::format_tag tag_of(Layout layout, size_t rank) {
  using tag = dnnl::memory::format_tag;
  switch (layout) {
    case Layout::plain: {
      constexpr tag plain[] = {tag::a, tag::a, tag::ab, tag::abc, tag::abcd, tag::abcde, tag::abcdef};
      if (rank < std::size(plain)) return plain[rank];
      throw KernelError("rank above 6");
    }
    case Layout::nChw8c: return tag::nChw8c;
    case Layout::nChw16c: return tag::nChw16c;
    case Layout::OIhw8i8o: return tag::OIhw8i8o;
    case Layout::OIhw16i16o: return tag::OIhw16i16o;
    case Layout::Ohwi8o: return tag::Ohwi8o;
    case Layout::Ohwi16o: return tag::Ohwi16o;
    case Layout::Goihw8g: return tag::Goihw8g;
    case Layout::Goihw16g: return tag::Goihw16g;
    case Layout::nhwc: return tag::nhwc;
  }
  throw KernelError("unknown layout");
}

}  // namespace

dnnl::memory::dims to_dims(const IntList& list) { return dnnl::memory::dims(list.begin(), list.end()); }

dnnl::memory::dims gaps(const IntList& dilations) {
  dnnl::memory::dims dims = to_dims(dilations);
  for (auto& item : dims) --item;
  return dims;
}

dnnl::memory::dims pads_before(const IntList& pads) { return {pads.begin(), pads.begin() + pads.size() / 2}; }
dnnl::memory::dims pads_after(const IntList& pads) { return {pads.begin() + pads.size() / 2, pads.end()}; }

dnnl::memory::desc to_dnnl(const TensorDesc& desc) {
  dnnl::memory::dims dims = to_dims(desc.dims);
  if (dims.empty()) dims = {1};
  return dnnl::memory::desc(dims, to_dnnl(desc.type), tag_of(desc.layout, dims.size()));
}

dnnl::memory::desc any_layout(const dnnl::memory::desc& desc, dnnl::memory::data_type type) {
  return {dims_of(desc), type, dnnl::memory::format_tag::any};
}
dnnl::memory::desc any_layout(const dnnl::memory::desc& desc) { return any_layout(desc, type_of(desc)); }

dnnl::primitive_attr scratchpad_by_user() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  require_determinism(attr);
  return attr;
}

dnnl::memory unbound(const dnnl::memory::desc& desc) { return dnnl::memory(desc, engine(), DNNL_MEMORY_NONE); }

}  // namespace plimsoll::host
