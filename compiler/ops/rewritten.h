// Evaluation of operators without kernels (their tables are in rewritten.cpp).
#pragma once

#include "compiler/ops/evaluate.h"

namespace plimsoll::rewritten {

Known constant(const KnownCall& call);
Known constant_of_shape(const KnownCall& call);
Known window(const KnownCall& call);
Known eye_like(const KnownCall& call);
Known shape(const KnownCall& call);
Known size(const KnownCall& call);
Known non_zero(const KnownCall& call);
Known range(const KnownCall& call);
Known gather_nd(const KnownCall& call);
Known scatter_nd(const KnownCall& call);
std::optional<Dims> scatter_nd_dims(const KnownCall& call);
Known tile(const KnownCall& call);
Known trilu(const KnownCall& call);
Known cast_like(const KnownCall& call);

}  // namespace plimsoll::rewritten
