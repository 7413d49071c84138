// What the profiler lays out for a kernel that it measures.
#include "runtime/profile/measure.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <set>

namespace plimsoll::test {
namespace {

TensorDesc integers(DataType type, int64_t count) {
  TensorDesc desc = f32({count});
  desc.type = type;
  return desc;
}

template <class T>
std::set<T> indices_laid_out(const KernelCall& call, size_t operand, size_t count) {
  const backend::Arena arena(profile::bytes_to_measure(call.operands, 0));
  const profile::Workpiece workpiece(call.operands, arena, profile::indexed_rows(call));
  std::vector<T> values(count);
  backend::copy_out(nullptr, reinterpret_cast<std::byte*>(values.data()), workpiece.addresses[operand],
                    static_cast<int64_t>(count * sizeof(T)));
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("the gradient of a table is measured with indices of different rows") {
  constexpr int64_t kCount = 4096, kRows = 1000;
  const KernelCall calls[] = {
      {.name = "GatherBackward",
       .operands = {read(integers(DataType::i32, kCount)), read(f32({kCount, 8})), update(f32({kRows, 8}))}},
      {.name = "PaddedGatherBackward",
       .operands = {read(integers(DataType::i32, kCount)), read(f32({kCount, 8})), update(f32({2, kRows, 8}))}}};
  for (const KernelCall& call : calls) {
    INFO(call.name);
    const std::set<int32_t> indices = indices_laid_out<int32_t>(call, 0, kCount);
    CHECK(indices.size() > 900);
    CHECK(*indices.begin() >= 0);
    CHECK(*indices.rbegin() < kRows);
  }
  const KernelCall forward{
      .name = "GatherForward",
      .operands = {read(f32({kRows, 8})), read(integers(DataType::i64, kCount)), write(f32({kCount, 8}))}};
  CHECK(indices_laid_out<int64_t>(forward, 1, kCount).size() > 900);
  // The labels of a loss are classes, whose number the operands do not always give.
  const KernelCall loss{.name = "SoftmaxCrossEntropy",
                        .operands = {read(f32({64, 10})), read(integers(DataType::i32, 64))}};
  CHECK(indices_laid_out<int32_t>(loss, 1, 64) == std::set<int32_t>{0});
}

TEST_CASE("a kernel that reads workspace that it has not written gives NaN in a replay") {
  constexpr int64_t kCount = 1000, kBytes = 4 * kCount;
  const backend::Arena arena(3 * kBytes + 256);
  profile::poison_workspace(nullptr, arena.data(), kBytes);
  std::vector<float> all(2 * kCount);
  backend::copy_out(nullptr, reinterpret_cast<std::byte*>(all.data()), arena.data(), 2 * kBytes);
  for (int64_t i = 0; i < kCount; ++i) CHECK(all[static_cast<size_t>(i)] != all[static_cast<size_t>(i)]);
  for (int64_t i = kCount; i < 2 * kCount; ++i) CHECK(all[static_cast<size_t>(i)] == 0);  // no more than the workspace
  // A sum that is made of what the workspace has, as if it had been written.
  const std::vector operands = {read(f32({kCount})), write(f32({1}))};
  std::byte* const addresses[] = {arena.data(), arena.data() + 2 * kBytes};
  make_kernel({.name = "SumToShape", .operands = operands}, "")->run({}, addresses, arena.data() + 2 * kBytes + 256);
  backend::finish(nullptr);
  float sum = 0;
  backend::copy_out(nullptr, reinterpret_cast<std::byte*>(&sum), addresses[1], sizeof sum);
  CHECK(sum != sum);
}

}  // namespace plimsoll::test
