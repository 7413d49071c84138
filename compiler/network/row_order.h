// The order of the rows of a value whose dimension of the batch is kN: those of one sample after another, or those of
// one step after another.
//
// Why: the dimensions do not say it, and rows in different orders must not meet. [N,6,4] and [6,N,4] both become
// [6N,4], and only one of these is [6,N,4] again.
#pragma once

#include <optional>
#include <span>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct RowOrder {
  int64_t steps_before = 1;  // all samples of one step follow each other
  int64_t of_sample = 1;     // rows of one sample that follow each other

  friend bool operator==(const RowOrder&, const RowOrder&) = default;
};

// The number of dimensions if none is the batch's.
size_t axis_of_batch(const Dims& dims);

// The order of each value that depends on the batch and that an output depends on; nullopt if it is not known. Error:
// unsupported, with the node that combines rows of different samples.
Result<IdVector<ValueId, std::optional<RowOrder>>> find_row_orders(const Network& network,
                                                                   std::span<const ValueId> outputs);

}  // namespace plimsoll
