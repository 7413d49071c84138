// A convolution's gradient of data that is added to another gradient, by every algorithm of the backend.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <vector>

#include "executor.h"
#include "runtime/backend.h"
#include "runtime/kernels.h"

namespace plimsoll::test {
namespace {

Buffer waves(const TensorDesc& desc, float step) {
  Buffer buffer(desc.bytes());
  for (int64_t i = 0; i < desc.elements(); ++i)
    reinterpret_cast<float*>(buffer.data())[i] = std::sin(step * static_cast<float>(i + 1));
  return buffer;
}

}  // namespace

TEST_CASE("a convolution adds another gradient to that of its input, in place or out of place") {
  const ConvAttrs attrs{.pads = {1, 1, 1, 1}};
  const TensorDesc image = f32({2, 16, 5, 7}), filter = f32({16, 16, 3, 3});
  const std::vector<OperandDesc> alone = {read(filter), read(image), write(image)},
                                 added = {read(filter), read(image), write(image), read(image)};
  Buffer w = waves(filter, 0.37F), dy = waves(image, 0.73F), other = waves(image, 0.11F), dx(image.bytes());
  const auto run =
      [&](const std::vector<OperandDesc>& operands, const Algorithm& algorithm, std::byte* result, std::byte* addend) {
    Buffer workspace(algorithm.workspace_bytes);
    std::byte* const addresses[] = {w.data(), dy.data(), result, addend};
    ConvBackwardData::make(attrs, operands, algorithm.name)->run({}, addresses, workspace.data());
    backend::finish(nullptr);
    CHECK(workspace.guards_intact());
  };
  run(alone, ConvBackwardData::algorithms(attrs, alone).front(), dx.data(), nullptr);
  const auto value = [](const Buffer& buffer, int64_t i) { return reinterpret_cast<const float*>(buffer.data())[i]; };
  for (const Algorithm& algorithm : ConvBackwardData::algorithms(attrs, added)) {
    INFO(algorithm.name);
    Buffer beside(image.bytes()), within(image.bytes()), same(image.bytes());
    run(added, algorithm, beside.data(), other.data());
    within.copy_from(other);
    run(added, algorithm, within.data(), within.data());
    CHECK(std::memcmp(beside.data(), within.data(), static_cast<size_t>(image.bytes())) == 0);
    run(added, algorithm, same.data(), dy.data());  // the gradient that the convolution reads
    int64_t wrong = 0;
    for (int64_t i = 0; i < image.elements(); ++i) {
      wrong += !(std::abs(value(beside, i) - (value(dx, i) + value(other, i))) < 1e-4F);
      wrong += !(std::abs(value(same, i) - (value(dx, i) + value(dy, i))) < 1e-4F);
    }
    CHECK(wrong == 0);
    CHECK((beside.guards_intact() && within.guards_intact() && same.guards_intact()));
  }
}

}  // namespace plimsoll::test
