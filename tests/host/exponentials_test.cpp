// A row in lanes: the largest element, the exponentials and their sum are those of one element after another.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/attrs/bf16.h"
#include "runtime/host/exponentials.h"

using namespace plimsoll;

namespace {

constexpr float kMinus = -std::numeric_limits<float>::infinity();

std::vector<float> row_of(int64_t n) {
  std::vector<float> row;
  for (int64_t i = 0; i < n; ++i) row.push_back(static_cast<float>((i * 37 + 11) % 23) / 4 - 3);
  return row;
}

}  // namespace

TEST_CASE("rows of every length, in place and without storing the exponentials") {
  for (int64_t n = 1; n <= 50; ++n) {
    INFO(n << " elements");
    const std::vector<float> row = row_of(n);
    float largest = row[0];
    for (const float one : row) largest = std::max(largest, one);
    CHECK(host::largest_of(row.data(), n) == largest);
    float lanes[16] = {};
    for (size_t i = 0; i < row.size(); ++i) lanes[i % 16] += host::exp_of(row[i] - largest);
    for (size_t half = 8; half > 0; half /= 2)
      for (size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    const float sum = lanes[0];
    CHECK(host::exponentials(row.data(), n, largest, nullptr).total<float>() == sum);
    std::vector<float> kept = row;
    kept.push_back(99);
    CHECK(host::exponentials(kept.data(), n, largest, kept.data()).total<float>() == sum);
    for (size_t i = 0; i < row.size(); ++i) CHECK(kept[i] == host::exp_of(row[i] - largest));
    CHECK(kept.back() == 99);  // nothing is written beyond the row
  }
}

TEST_CASE("the largest element in every place, and numbers that are not finite") {
  for (size_t at = 0; at < 37; ++at) {
    std::vector<float> row = row_of(37);
    row[at] = 1000;
    CHECK(host::largest_of(row.data(), 37) == 1000);
    row[at] = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(host::largest_of(row.data(), 37)) == (at == 0));
    CHECK(std::isnan(host::exponentials(row.data(), 37, 3, nullptr).total<double>()));
  }
  const std::vector<float> hidden(21, kMinus);
  CHECK(host::largest_of(hidden.data(), 21) == kMinus);
  CHECK(host::exponentials(hidden.data(), 21, 0, nullptr).total<float>() == 0);
}

TEST_CASE("a row in bf16") {
  std::vector<Bf16> row(19);
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i) - 9;
  CHECK(host::largest_of(row.data(), 19) == 9);
}
