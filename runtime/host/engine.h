// The oneDNN engine and stream of the host backend, and the conversion of tensor descriptions to oneDNN's. One engine
// per process; primitives run on the calling thread with the OpenMP threads that the trainer fixed.
#pragma once

#include <string>

#include "runtime/host/onednn.h"
#include "runtime/kernel.h"

namespace plimsoll::host {

dnnl::engine& engine();
dnnl::stream& stream();

// Whether oneDNN multiplies bf16 faster than f32 on this processor (runtime/machine/processors.h).
bool multiplies_bf16_faster();

// oneDNN's description of the same bytes. Scalars become [1].
dnnl::memory::desc to_dnnl(const TensorDesc& desc);
// The same dimensions, in the layout that oneDNN chooses for a primitive.
dnnl::memory::desc any_layout(const dnnl::memory::desc& desc, dnnl::memory::data_type type);
dnnl::memory::desc any_layout(const dnnl::memory::desc& desc);
dnnl::memory::dims to_dims(const IntList& list);

// For a window. oneDNN counts the gaps between the elements of a dilated window, and takes two lists of pads.
dnnl::memory::dims gaps(const IntList& dilations);
dnnl::memory::dims pads_before(const IntList& pads);
dnnl::memory::dims pads_after(const IntList& pads);

// The attributes with which every primitive is created: the scratchpad is provided by the user, in the plan's
// workspace.
dnnl::primitive_attr scratchpad_by_user();

// Rounded up to whole cache lines: the parts of a workspace begin on one.
inline int64_t cache_lines(size_t bytes) { return static_cast<int64_t>((bytes + 63) / 64 * 64); }

// Returns the result of `make`. If oneDNN fails, throws a KernelError that begins with `failure` and gives the reason.
template <class Make>
auto made(const std::string& failure, Make make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    throw KernelError(failure + ": " + error.what());
  }
}

// A memory without data, whose address is set when the primitive runs.
dnnl::memory unbound(const dnnl::memory::desc& desc);

}  // namespace plimsoll::host
