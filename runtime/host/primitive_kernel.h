// Kernels that are a chain of oneDNN primitives. Everything is built in advance; run() only sets the addresses.
//
//   workspace  | temporary 0 | temporary 1 | … | scratchpad, shared by the primitives |
#pragma once

#include <vector>

#include "runtime/host/engine.h"

namespace plimsoll::host {

class PrimitiveKernel final : public Kernel {
 public:
  // The operand in that slot, described by `desc`, which covers no more bytes than the operand has.
  dnnl::memory operand(size_t slot, const dnnl::memory::desc& desc);
  dnnl::memory temporary(const dnnl::memory::desc& desc);

  // `scratchpad` is the primitive's scratchpad_desc(); the primitive must have the attributes of scratchpad_by_user().
  void add(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad,
           const Arguments& arguments);
  // to = from, or to += from, for any layouts.
  void add_reorder(const dnnl::memory& from, const dnnl::memory& to, bool accumulate = false);

  // A memory described by `wanted` with the contents of operand `slot`: the operand itself, or a temporary filled by a
  // reorder.
  dnnl::memory read_as(const dnnl::memory::desc& wanted, size_t slot, const dnnl::memory::desc& given);

  // The result of a primitive that writes it in layout `made` and always overwrites. finish() copies it to the operand
  // if the layouts differ or the operand accumulates; call it after the primitive.
  struct Result {
    dnnl::memory made;
    dnnl::memory target;  // empty: `made` is the operand
    bool accumulate = false;
  };
  Result write_as(const dnnl::memory::desc& made, size_t slot, const dnnl::memory::desc& given, bool accumulate);
  void finish(const Result& result);

  int64_t workspace_bytes() const { return temporary_bytes_ + scratchpad_bytes_; }
  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override;

 private:
  struct Bound {
    dnnl::memory memory;
    size_t slot;     // of an operand, or
    int64_t offset;  // in the workspace, -1 for operands
  };
  struct Stage {
    dnnl::primitive primitive;
    std::vector<dnnl_exec_arg_t> arguments;
    dnnl::memory scratchpad;  // empty: not needed
  };
  std::vector<Bound> bound_;
  std::vector<Stage> stages_;
  int64_t temporary_bytes_ = 0, scratchpad_bytes_ = 0;
};

}  // namespace plimsoll::host
