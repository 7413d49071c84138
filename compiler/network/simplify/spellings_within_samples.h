// Reads and writes by indices within each sample, and writes by known indices, as operators that have kernels.
#pragma once

#include "compiler/network/simplify/spelling_writer.h"

namespace plimsoll::spelling {

// Gather, GatherND and ScatterND by sample numbers and indices within each sample.
Result<Nodes> gather_of_samples(Writer& w, const SampleIndices& indices);
Result<Nodes> gather_nd_of_samples(Writer& w, const SampleIndices& indices);
Result<Nodes> scatter_nd_of_samples(Writer& w, const SampleIndices& indices);

// x viewed as dimensions `around` with one of `length` at `axis`, along which is written.
struct KnownPlaces {
  size_t axis = 0;
  int64_t length = 1;
  Ints around = {};  // -1: the samples
};

// ScatterND at positions known at compile time.
Result<Nodes> scatter_known(Writer& w, const Ints& at, const KnownPlaces& places);

}  // namespace plimsoll::spelling
