// Resizing, forward and backward, by its formula in double precision: rows longer than what a kernel takes at a time,
// steps of more and of less than a pixel, and each rule for the nearest pixel.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "executor.h"
#include "runtime/backend.h"
#include "runtime/kernels.h"

namespace plimsoll::test {
namespace {

struct PartOfPlace {
  size_t pixel;
  double share;
};

// What each place of a row of the result consists of.
std::vector<std::vector<PartOfPlace>> parts_of_places(double start, double step, int64_t in, int64_t out,
                                                      int64_t nearest) {
  std::vector<std::vector<PartOfPlace>> all;
  for (int64_t o = 0; o < out; ++o) {
    const double place = start + step * static_cast<double>(o), last = static_cast<double>(in - 1);
    if (nearest == ResizeAttrs::kLinear) {
      const double at = std::clamp(place, 0.0, last), low = std::floor(at);
      all.push_back({{static_cast<size_t>(low), 1 - (at - low)},
                     {static_cast<size_t>(std::min(low + 1, last)), at - low}});
    } else {
      const double at = nearest == ResizeAttrs::kFloor ? std::floor(place) : std::ceil(place);
      all.push_back({{static_cast<size_t>(std::clamp(at, 0.0, last)), 1}});
    }
  }
  return all;
}

void check_resize(int64_t planes, int64_t rows_in, int64_t columns_in, int64_t rows, int64_t columns, int64_t nearest) {
  // Steps are sums of powers of two, so that a place is exact.
  const ResizeAttrs attrs{.row_start = -0.25, .row_step = 0.375, .column_start = 0.125, .column_step = 0.28125,
                          .nearest = nearest};
  const auto down = parts_of_places(attrs.row_start, attrs.row_step, rows_in, rows, nearest),
             across = parts_of_places(attrs.column_start, attrs.column_step, columns_in, columns, nearest);
  const auto at = [](int64_t plane, int64_t of_rows, int64_t of_columns, size_t row, size_t column) {
    return static_cast<size_t>((plane * of_rows + static_cast<int64_t>(row)) * of_columns) + column;
  };
  std::vector<float> x(static_cast<size_t>(planes * rows_in * columns_in)), dx(x.size(), 7),
      y(static_cast<size_t>(planes * rows * columns), 7), dy(y.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i) * 1.7F);
  for (size_t i = 0; i < dy.size(); ++i) dy[i] = std::cos(static_cast<float>(i) * 0.7F);
  std::vector<double> wanted_y(y.size()), wanted_dx(x.size());
  for (int64_t plane = 0; plane < planes; ++plane)
    for (size_t r = 0; r < down.size(); ++r)
      for (size_t c = 0; c < across.size(); ++c)
        for (const PartOfPlace& of_row : down[r])
          for (const PartOfPlace& of_column : across[c]) {
            const size_t from = at(plane, rows_in, columns_in, of_row.pixel, of_column.pixel),
                         to = at(plane, rows, columns, r, c);
            wanted_y[to] += of_row.share * of_column.share * static_cast<double>(x[from]);
            wanted_dx[from] += of_row.share * of_column.share * static_cast<double>(dy[to]);
          }
  const TensorDesc small = f32({planes, 1, rows_in, columns_in}), large = f32({planes, 1, rows, columns});
  const std::vector<OperandDesc> forward = {read(small), write(large)}, backward = {read(large), write(small)};
  std::byte* const of_forward[] = {reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(y.data())};
  std::byte* const of_backward[] = {reinterpret_cast<std::byte*>(dy.data()), reinterpret_cast<std::byte*>(dx.data())};
  std::vector<double> workspace(
      static_cast<size_t>(ResizeBackward::algorithms(attrs, backward)[0].workspace_bytes) / sizeof(double) + 1);
  ResizeForward::make(attrs, forward, "")->run({}, of_forward, nullptr);
  ResizeBackward::make(attrs, backward, "")->run({}, of_backward, reinterpret_cast<std::byte*>(workspace.data()));
  backend::finish(nullptr);
  double off_y = 0, off_dx = 0;
  for (size_t i = 0; i < y.size(); ++i) off_y = std::max(off_y, std::abs(static_cast<double>(y[i]) - wanted_y[i]));
  for (size_t i = 0; i < x.size(); ++i) off_dx = std::max(off_dx, std::abs(static_cast<double>(dx[i]) - wanted_dx[i]));
  CHECK(off_y < 1e-6);
  CHECK(off_dx < 1e-5);
}

}  // namespace

TEST_CASE("resizing and its gradient are what their formula says") {
  for (const int64_t nearest : {ResizeAttrs::kLinear, ResizeAttrs::kFloor, ResizeAttrs::kCeil}) {
    check_resize(3, 5, 7, 13, 20, nearest);
    check_resize(2, 4, 320, 9, 1100, nearest);
    check_resize(2, 6, 200, 3, 512, nearest);
    check_resize(1, 1, 150, 1, 513, nearest);
    check_resize(1, 9, 1, 20, 1, nearest);
  }
}

}  // namespace plimsoll::test
