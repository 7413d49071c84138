// Concat and Split: many pieces in few launches, for any widths.
#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

#include "emulation/cuda_runtime.h"
#include "runtime/backend.h"
#include "runtime/kernels.h"

namespace plimsoll::test {
namespace {

struct alignas(16) Four {
  float of[4];
};

// Pieces of these widths, next to each other in rows; the last operand (or the first) is the whole.
struct Pieces {
  int64_t rows;
  std::vector<int64_t> widths;
  std::vector<std::vector<Four>> parts;
  std::vector<Four> whole;
  int64_t width;

  Pieces(int64_t row_count, std::vector<int64_t> of) : rows(row_count), widths(std::move(of)) {
    width = std::accumulate(widths.begin(), widths.end(), int64_t{0});
    whole.resize(static_cast<size_t>((rows * width + 3) / 4));
    for (const int64_t one : widths) parts.emplace_back(static_cast<size_t>((rows * one + 3) / 4));
  }
  float& in_part(size_t i, int64_t row, int64_t at) {
    return reinterpret_cast<float*>(parts[i].data())[row * widths[i] + at];
  }
  float& in_whole(int64_t row, int64_t at) { return reinterpret_cast<float*>(whole.data())[row * width + at]; }
  // visit(index of the piece, row, offset in the piece, offset in the whole)
  template <class Visit>
  void for_each(Visit visit) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0, begin = 0; i < static_cast<int64_t>(widths.size()); begin += widths[static_cast<size_t>(i++)])
        for (int64_t at = 0; at < widths[static_cast<size_t>(i)]; ++at)
          visit(static_cast<size_t>(i), row, at, begin + at);
  }
};

std::vector<int64_t> many(size_t count, int64_t width) { return std::vector<int64_t>(count, width); }

}  // namespace

TEST_CASE("pieces are gathered and split in as many launches as their lists need") {
  struct Case {
    Pieces pieces;
    size_t launches;
  };
  // In groups of four; one by one; both; more than one list holds.
  for (Case one :
       {Case{{3, {8, 4, 32}}, 1}, Case{{3, {5, 1, 3}}, 1}, Case{{2, {8, 4, 3, 1, 4}}, 2}, Case{{2, many(200, 4)}, 3}}) {
    Pieces& p = one.pieces;
    INFO(p.widths.size() << " pieces in " << p.rows << " rows");
    std::vector<OperandDesc> operands;
    std::vector<std::byte*> addresses;
    for (size_t i = 0; i < p.widths.size(); ++i) {
      operands.push_back(read(f32({p.rows, p.widths[i]})));
      addresses.push_back(reinterpret_cast<std::byte*>(p.parts[i].data()));
    }
    operands.push_back(write(f32({p.rows, p.width})));
    addresses.push_back(reinterpret_cast<std::byte*>(p.whole.data()));
    float value = 0;
    p.for_each([&](size_t i, int64_t row, int64_t at, int64_t) { p.in_part(i, row, at) = ++value; });
    const uint64_t before = emulation::kernels_launched();
    Concat::make({.axis = 1}, operands, "")->run({}, addresses.data(), nullptr);
    backend::finish(nullptr);
    CHECK(emulation::kernels_launched() - before == one.launches);
    int64_t wrong = 0;
    p.for_each([&](size_t i, int64_t row, int64_t at, int64_t there) {
      wrong += p.in_whole(row, there) == p.in_part(i, row, at) ? 0 : 1;
    });
    CHECK(wrong == 0);

    std::rotate(addresses.begin(), addresses.end() - 1, addresses.end());
    std::rotate(operands.begin(), operands.end() - 1, operands.end());
    for (OperandDesc& operand : operands) operand.access = &operand == operands.data() ? Access::read : Access::update;
    Split::make({.axis = 1}, operands, "")->run({}, addresses.data(), nullptr);  // accumulated
    backend::finish(nullptr);
    p.for_each([&](size_t i, int64_t row, int64_t at, int64_t there) {
      wrong += p.in_part(i, row, at) == 2 * p.in_whole(row, there) ? 0 : 1;
    });
    CHECK(wrong == 0);
  }
}

}  // namespace plimsoll::test
