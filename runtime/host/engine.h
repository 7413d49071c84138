// The oneDNN engine and stream of the host backend, and the bridge from our tensor descriptions to oneDNN's.
// One engine for the process; primitives run on the calling thread with the OpenMP team that the trainer fixed.
#pragma once

#include <string>

#include "runtime/host/onednn.h"
#include "runtime/kernel.h"

namespace plimsoll::host {

dnnl::engine& engine();
dnnl::stream& stream();

// oneDNN's description of the same bytes. Scalars become [1].
dnnl::memory::desc to_dnnl(const TensorDesc& desc);
dnnl::memory::dims to_dims(const IntList& list);

// Of a window. oneDNN counts the gaps between the elements of a dilated one, and has two lists of pads.
dnnl::memory::dims gaps(const IntList& dilations);
dnnl::memory::dims pads_before(const IntList& pads);
dnnl::memory::dims pads_after(const IntList& pads);

// Attributes that every primitive is made with: the scratchpad is the user's (it lies in the plan's workspace).
dnnl::primitive_attr scratchpad_by_user();

// What `make` returns. Where oneDNN fails, a KernelError that begins with `failure` and says why.
template <class Make>
auto made(const std::string& failure, Make make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    throw KernelError(failure + ": " + error.what());
  }
}

// An absent memory whose address is given when the primitive runs.
dnnl::memory unbound(const dnnl::memory::desc& desc);

}  // namespace plimsoll::host
