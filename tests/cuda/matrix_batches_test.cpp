// The calls of a batched matrix product: every matrix of y has its a and b, in as few calls as broadcasting allows.
#include <catch2/catch.hpp>

#include "executor.h"
#include "runtime/cuda/ops/matrix_batches.h"

namespace plimsoll::test {

TEST_CASE("matrices whose batches broadcast are multiplied in few calls") {
  struct Case {
    std::vector<int64_t> a, b, y;  // leading dimensions
    size_t calls;
  };
  const std::vector<Case> cases = {
      {{}, {}, {}, 1},
      {{7}, {7}, {7}, 1},
      {{7}, {1}, {7}, 1},
      {{3, 5}, {3, 5}, {3, 5}, 1},
      {{3, 5}, {1, 1}, {3, 5}, 1},
      {{3, 5}, {3, 1}, {3, 5}, 3},  // one b for each of three: its matrices repeat unevenly
      {{3, 5}, {1, 5}, {3, 5}, 3},
      {{2, 3, 5}, {1, 3, 5}, {2, 3, 5}, 2},
      {{2, 3, 5}, {2, 1, 5}, {2, 3, 5}, 6},
      {{2, 1, 5}, {2, 3, 1}, {2, 3, 5}, 6},
      {{1, 4}, {1, 4}, {1, 4}, 1},
      {{4, 1}, {4, 1}, {4, 1}, 1}};
  for (const Case& one : cases) {
    const auto desc = [](const std::vector<int64_t>& leading, int64_t rows, int64_t columns) {
      TensorDesc made = f32({rows, columns});
      IntList dims;
      for (const int64_t dim : leading) dims.push_back(dim);
      dims.push_back(rows), dims.push_back(columns);
      made.dims = dims;
      return made;
    };
    const TensorDesc a = desc(one.a, 2, 3), b = desc(one.b, 3, 4), y = desc(one.y, 2, 4);
    const cuda::MatrixBatches batches = cuda::matrix_batches(a, b, y);
    INFO("batches of " << one.y.size() << " dimensions, " << batches.calls() << " calls");
    CHECK(batches.calls() == one.calls);
    CHECK(batches.calls() * static_cast<size_t>(batches.count) == cuda::matrix_offsets(y, y).size());
    const std::vector<int64_t> of_a = cuda::matrix_offsets(a, y), of_b = cuda::matrix_offsets(b, y);
    for (size_t call = 0; call < batches.calls(); ++call)
      for (int64_t i = 0; i < batches.count; ++i) {
        const size_t number = call * static_cast<size_t>(batches.count) + static_cast<size_t>(i);
        CHECK(batches.a[call] + i * batches.a_step == of_a[number]);
        CHECK(batches.b[call] + i * batches.b_step == of_b[number]);
      }
  }
}

}  // namespace plimsoll::test
