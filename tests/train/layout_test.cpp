// Weights converted between file and arena, compared with oneDNN's own reorders.
#include <catch2/catch.hpp>

#include <numeric>

#include "runtime/kernels.h"
#include "runtime/train/layout.h"

using namespace plimsoll;
using namespace plimsoll::train;

TEST_CASE("our order of a blocked layout is oneDNN's") {
  struct Case {
    Layout layout;
    IntList dims;
  };
  const std::vector<Case> cases = {
      {Layout::plain, {5, 3, 2, 2}},          {Layout::nChw8c, {2, 19, 3, 2}},       {Layout::nChw16c, {2, 32, 3, 2}},
      {Layout::nChw16c, {1, 5, 2, 2}},        {Layout::OIhw8i8o, {16, 24, 3, 3}},    {Layout::OIhw8i8o, {9, 10, 1, 1}},
      {Layout::OIhw16i16o, {32, 16, 3, 1}},   {Layout::OIhw16i16o, {17, 3, 2, 2}},   {Layout::Ohwi8o, {16, 3, 3, 3}},
      {Layout::Ohwi16o, {32, 3, 7, 7}},       {Layout::Ohwi16o, {20, 2, 1, 3}},
      {Layout::nhwc, {2, 19, 3, 2}},          {Layout::nhwc, {8, 3, 5, 5}},
  };
  for (const Case& each : cases) {
    INFO(name_of(each.layout) << " of " << each.dims[0] << "x" << each.dims[1]);
    const TensorDesc plain = f32(each.dims), blocked = f32(each.dims, each.layout);
    std::vector<float> values(static_cast<size_t>(plain.elements()));
    std::iota(values.begin(), values.end(), 1.0f);
    std::vector<float> ours(static_cast<size_t>(blocked.padded_elements()), -1), theirs(ours.size(), -1),
        back(values.size());
    to_blocked(blocked, values.data(), ours.data());

    const OperandDesc operands[] = {read(plain), write(blocked)};
    std::vector<std::byte> workspace(static_cast<size_t>(Reorder::algorithms({}, operands)[0].workspace_bytes) + 64);
    std::byte* addresses[] = {reinterpret_cast<std::byte*>(values.data()), reinterpret_cast<std::byte*>(theirs.data())};
    Reorder::make({}, operands, "")->run({}, addresses, workspace.data());
    CHECK(ours == theirs);

    to_plain(blocked, ours.data(), back.data());
    CHECK(back == values);
  }
}

TEST_CASE("depthwise weights: one block of groups, their kernels plain") {
  const TensorDesc desc = f32({10, 1, 2, 2}, Layout::Goihw8g);
  std::vector<float> values(40), blocked(static_cast<size_t>(desc.padded_elements())), back(40);
  std::iota(values.begin(), values.end(), 0.0f);
  to_blocked(desc, values.data(), blocked.data());
  CHECK(blocked.size() == 64);
  CHECK(blocked[0 * 8 + 3] == 12);            // group 3, first tap
  CHECK(blocked[3 * 8 + 7] == 31);            // group 7, last tap
  CHECK(blocked[32 + 2 * 8 + 1] == 9 * 4 + 2);  // group 9, third tap
  to_plain(desc, blocked.data(), back.data());
  CHECK(back == values);
}
