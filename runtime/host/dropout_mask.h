// The mask of a dropout: a factor per element, 0 or the reciprocal of the fraction that is kept.
#pragma once

#include "runtime/host/random.h"

namespace plimsoll::host {

class DropoutMask {
 public:
  // `elements`: of the whole tensor, in this rank's part of the samples.
  DropoutMask(double ratio, int64_t key, int64_t elements, const RunContext& context)
      : stream_(context, key),
        dropped_below_(static_cast<uint32_t>(ratio * 0xFFFFFFFFp0)),
        scale_(ratio < 1 ? static_cast<float>(1 / (1 - ratio)) : 0) {
    stream_.skip(context.rank * elements);
  }

  // The factor of element i, counted in logical order regardless of the layout.
  float at(int64_t i) const { return stream_.at(i) < dropped_below_ ? 0.0F : scale_; }

 private:
  RandomStream stream_;
  uint32_t dropped_below_;  // out of 2^32
  float scale_;
};

}  // namespace plimsoll::host
