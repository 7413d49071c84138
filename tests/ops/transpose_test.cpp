// Transpose and Reorder of shapes that fill squares and tiles, and leave remainders, compared element by element.
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "executor.h"
#include "runtime/backend.h"
#include "runtime/kernels.h"

namespace plimsoll::test {
namespace {

// Of each element of a transposed tensor, the position in the tensor that it is from.
std::vector<int64_t> origins(const IntList& from, const IntList& perm) {
  const size_t rank = from.size();
  int64_t elements = 1;
  std::vector<int64_t> strides(rank, 1);
  for (size_t axis = rank; axis-- > 0; elements *= from[axis])
    if (axis + 1 < rank) strides[axis] = strides[axis + 1] * from[axis + 1];
  std::vector<int64_t> found;
  for (int64_t at = 0; at < elements; ++at) {
    int64_t rest = at, origin = 0;
    for (size_t axis = rank; axis-- > 0;) {
      const size_t of_x = static_cast<size_t>(perm[axis]);
      origin += rest % from[of_x] * strides[of_x];
      rest /= from[of_x];
    }
    found.push_back(origin);
  }
  return found;
}

template <class T>
void check_transpose(DataType type, const IntList& dims, const IntList& perm, bool accumulates) {
  TensorDesc x{.type = type, .dims = dims}, y = x;
  for (size_t axis = 0; axis < dims.size(); ++axis) y.dims[axis] = dims[static_cast<size_t>(perm[axis])];
  const std::vector<OperandDesc> operands = {read(x), accumulates ? update(y) : write(y)};
  Buffer from(x.bytes()), to(y.bytes()), workspace(Transpose::algorithms({.perm = perm}, operands)[0].workspace_bytes);
  const auto at = [](Buffer& buffer, int64_t i) -> T& { return reinterpret_cast<T*>(buffer.data())[i]; };
  for (int64_t i = 0; i < x.elements(); ++i) {
    at(from, i) = static_cast<T>(i % 30011);
    at(to, i) = static_cast<T>(i % 7);
  }
  std::byte* const addresses[] = {from.data(), to.data()};
  Transpose::make({.perm = perm}, operands, "")->run({}, addresses, workspace.data());
  backend::finish(nullptr);
  CHECK((from.guards_intact() && to.guards_intact()));
  const std::vector<int64_t> expected = origins(dims, perm);
  int64_t wrong = 0;
  for (int64_t i = 0; i < y.elements(); ++i) {
    const int64_t there = accumulates ? i % 7 : 0;
    wrong += at(to, i) != static_cast<T>(expected[static_cast<size_t>(i)] % 30011 + there);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("transposed elements: squares, tiles and their remainders") {
  struct Case {
    IntList dims, perm;
  };
  const Case cases[] = {
      {{64, 32}, {1, 0}},
      {{3, 37, 50}, {0, 2, 1}},
      {{2, 35, 33, 20}, {0, 3, 1, 2}},
      {{2, 7, 7, 48}, {0, 3, 1, 2}},
      {{2, 48, 7, 7}, {0, 2, 3, 1}},
      {{5, 16, 17}, {2, 0, 1}},
      {{19, 3, 40}, {1, 2, 0}},
      {{2, 31, 1, 15}, {3, 2, 1, 0}},
      {{4, 6, 8, 24}, {0, 2, 1, 3}},
      {{2, 21, 4133}, {0, 2, 1}},  // several tiles at a time
      {{2, 11, 3, 4, 5}, {2, 0, 3, 1, 4}},  // queries, keys and values, in the order of x
      {{3, 2, 4, 11, 5}, {1, 3, 0, 2, 4}},
      {{2, 40, 3, 7}, {2, 1, 0, 3}},
  };
  for (const Case& c : cases) {
    INFO("rank " << c.dims.size() << ", last dimension " << c.dims[c.dims.size() - 1]);
    check_transpose<float>(DataType::f32, c.dims, c.perm, false);
    check_transpose<float>(DataType::f32, c.dims, c.perm, true);
    check_transpose<uint16_t>(DataType::bf16, c.dims, c.perm, false);  // as numbers of the same width
    check_transpose<int64_t>(DataType::i64, c.dims, c.perm, false);
  }
}

#if !defined(PLIMSOLL_CHANNELS_LAST_BACKEND)
TEST_CASE("images in bf16 and f32 change between plain and blocked layouts") {
  for (const IntList& dims : {IntList{2, 32, 5, 7}, {1, 48, 7, 7}, {3, 16, 1, 1}, {2, 16, 40, 3}, {2, 64, 16, 16}}) {
    for (const DataType type : {DataType::bf16, DataType::f32}) {
      for (const Layout layout : {Layout::nChw16c, Layout::nChw8c}) {
        INFO(dims[1] << " channels, " << name_of(type) << ", " << name_of(layout));
        const TensorDesc plain{.type = type, .dims = dims}, blocked{.type = type, .dims = dims, .layout = layout};
        Values values(static_cast<size_t>(plain.elements()));
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 251);  // exact in bf16
        for (const auto& [from, to] : {std::pair(plain, blocked), std::pair(blocked, plain)}) {
          const std::vector<OperandDesc> operands = {read(from), write(to)};
          Buffer x(from.bytes()), y(to.bytes()), workspace(Reorder::algorithms({}, operands)[0].workspace_bytes);
          store(from, values, x.data());
          std::byte* const addresses[] = {x.data(), y.data()};
          Reorder::make({}, operands, "")->run({}, addresses, workspace.data());
          backend::finish(nullptr);
          CHECK((x.guards_intact() && y.guards_intact() && workspace.guards_intact()));
          CHECK(load(to, y.data()) == values);
        }
      }
    }
  }
}
#endif

}  // namespace plimsoll::test
