// Shares out the rows of a loop nest, its innermost loops, to the threads.
#pragma once

#include <algorithm>

#include "runtime/loops.h"

namespace plimsoll::host {

// body(offsets) for every row; offsets[k] is where the row of operand k begins. A thread takes some adjacent rows at a
// time: to find the offsets of a row by divisions would take longer than a short row itself.
template <size_t K, class Body>
void for_rows(const Loops<K>& loops, Body body) {
  constexpr int64_t kMostRows = 64, kStretches = 512;
  const int64_t rows = loops.count(1), length = loops.counts[0];
  const int64_t at_once = std::clamp<int64_t>(rows / kStretches, 1, kMostRows);
  const int64_t stretches = (rows + at_once - 1) / at_once;
#pragma omp parallel for schedule(static) firstprivate(body) if (rows * length > 16384)
  for (int64_t i = 0; i < stretches; ++i) loops.walk(1, i * at_once, std::min(rows, (i + 1) * at_once), body);
}

}  // namespace plimsoll::host
