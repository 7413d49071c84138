#include "runtime/host/primitive_kernel.h"

#include <algorithm>

namespace plimsoll::host {
namespace {

// Setting a handle and executing fail only for invalid arguments, which building the kernel has ruled out.
void check(dnnl_status_t status) { dnnl::error::wrap_c_api(status, "a oneDNN primitive failed"); }

}  // namespace

dnnl::memory PrimitiveKernel::operand(size_t slot, const dnnl::memory::desc& desc) {
  bound_.push_back({unbound(desc), slot, -1});
  return bound_.back().memory;
}

dnnl::memory PrimitiveKernel::temporary(const dnnl::memory::desc& desc) {
  bound_.push_back({unbound(desc), 0, temporary_bytes_});
  temporary_bytes_ += cache_lines(desc.get_size());
  return bound_.back().memory;
}

void PrimitiveKernel::add(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad,
                          const Arguments& arguments) {
  Stage stage{.primitive = primitive, .arguments = {}, .scratchpad = {}};
  for (const auto& [name, memory] : arguments) stage.arguments.push_back({name, memory.get()});
  if (const size_t bytes = scratchpad.get_size(); bytes > 0) {
    stage.scratchpad = unbound(scratchpad);
    stage.arguments.push_back({DNNL_ARG_SCRATCHPAD, stage.scratchpad.get()});
    scratchpad_bytes_ = std::max(scratchpad_bytes_, cache_lines(bytes));
  }
  stages_.push_back(std::move(stage));
}

void PrimitiveKernel::add_reorder(const dnnl::memory& from, const dnnl::memory& to, bool accumulate) {
  dnnl::primitive_attr attr = scratchpad_by_user();
  if (accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attr.set_post_ops(sum);
  }
  const dnnl::reorder::primitive_desc desc(engine(), from.get_desc(), engine(), to.get_desc(), attr);
  add(dnnl::reorder(desc), desc.scratchpad_desc(), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

dnnl::memory PrimitiveKernel::read_as(const dnnl::memory::desc& wanted, size_t slot, const dnnl::memory::desc& given) {
  if (wanted == given) return operand(slot, given);
  const dnnl::memory copy = temporary(wanted);
  add_reorder(operand(slot, given), copy);
  return copy;
}

PrimitiveKernel::Result PrimitiveKernel::write_as(const dnnl::memory::desc& made, size_t slot,
                                                  const dnnl::memory::desc& given, bool accumulate) {
  if (made == given && !accumulate) return {.made = operand(slot, given), .target = {}};
  return {.made = temporary(made), .target = operand(slot, given), .accumulate = accumulate};
}

void PrimitiveKernel::finish(const Result& result) {
  if (result.target) add_reorder(result.made, result.target, result.accumulate);
}

void PrimitiveKernel::run(const RunContext&, std::byte* const* operands, std::byte* workspace) {
  for (const Bound& bound : bound_)
    check(dnnl_memory_set_data_handle(bound.memory.get(),
                                      bound.offset < 0 ? operands[bound.slot] : workspace + bound.offset));
  for (const Stage& stage : stages_) {
    if (stage.scratchpad) check(dnnl_memory_set_data_handle(stage.scratchpad.get(), workspace + temporary_bytes_));
    check(dnnl_primitive_execute(stage.primitive.get(), stream().get(), static_cast<int>(stage.arguments.size()),
                                 stage.arguments.data()));
  }
}

}  // namespace plimsoll::host
