// Indices and labels that are out of range, as a model may compute them: kernels access no memory outside of their
// tensors, and the results show the error.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "executor.h"
#include "runtime/backend.h"
#include "runtime/kernels.h"
#include "runtime/selection.h"

namespace plimsoll::test {
namespace {

TensorDesc of(DataType type, std::initializer_list<int64_t> dims) {
  TensorDesc desc = f32(dims);
  desc.type = type;
  return desc;
}

// Between guards.
template <class T>
Buffer buffer_of(const std::vector<T>& values) {
  Buffer buffer(static_cast<int64_t>(values.size() * sizeof(T)));
  std::memcpy(buffer.data(), values.data(), values.size() * sizeof(T));
  return buffer;
}

template <class T>
std::vector<T> values_of(const Buffer& buffer) {
  std::vector<T> values(static_cast<size_t>(buffer.size()) / sizeof(T));
  std::memcpy(values.data(), buffer.data(), values.size() * sizeof(T));
  return values;
}

template <class K>
void run(const typename K::Attrs& attrs, const std::vector<OperandDesc>& operands, std::vector<Buffer>& buffers) {
  const auto kernel = K::make(attrs, operands, "");
  Buffer workspace(K::algorithms(attrs, operands)[0].workspace_bytes + 256);
  std::vector<std::byte*> addresses;
  for (Buffer& buffer : buffers) addresses.push_back(buffer.size() > 0 ? buffer.data() : nullptr);
  kernel->run(RunContext{}, addresses.data(), workspace.data());
  backend::finish(nullptr);
  for (const Buffer& buffer : buffers) CHECK(buffer.guards_intact());
}

constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min(), kLargest = std::numeric_limits<int64_t>::max();
// For 3 rows, each preceded by one that is in range.
const std::vector<int64_t> kWrong = {0, 3, 1, -4, 2, kSmallest, -3, kLargest, -1, int64_t{1} << 40};
const auto kCount = static_cast<int64_t>(kWrong.size());

}  // namespace

TEST_CASE("an index out of range selects NaN or the smallest integer", "[indices]") {
  const auto count = static_cast<size_t>(kCount);
  std::vector<Buffer> rows = {buffer_of<float>({1, 2, 3, 4, 5, 6}), buffer_of(kWrong),
                              buffer_of(std::vector<float>(2 * count))};
  run<GatherForward>({}, {read(f32({3, 2})), read(of(DataType::i64, {kCount})), write(f32({kCount, 2}))}, rows);
  std::vector<Buffer> whole = {buffer_of<int64_t>({1, 2, 3, 4, 5, 6}), buffer_of(kWrong),
                               buffer_of(std::vector<int64_t>(2 * count))};
  run<GatherWhole>(
      {}, {read(of(DataType::i64, {3, 2})), read(of(DataType::i64, {kCount})), write(of(DataType::i64, {kCount, 2}))},
      whole);
  std::vector<Buffer> elements = {buffer_of<float>({1, 2, 3}), buffer_of(kWrong), buffer_of(std::vector<float>(count))};
  run<GatherElementsForward>({}, {read(f32({3})), read(of(DataType::i64, {kCount})), write(f32({kCount}))}, elements);
  for (size_t i = 0; i < count; ++i) {
    CHECK(std::isnan(values_of<float>(rows[2])[2 * i + 1]) == (i % 2 == 1));
    CHECK((values_of<int64_t>(whole[2])[2 * i + 1] == kSmallest) == (i % 2 == 1));
    CHECK(std::isnan(values_of<float>(elements[2])[i]) == (i % 2 == 1));
  }
}

TEST_CASE("the gradient of an index out of range is left out", "[indices]") {
  std::vector<Buffer> rows = {buffer_of(kWrong), buffer_of(std::vector<float>(kWrong.size(), 1)),
                              buffer_of(std::vector<float>(3))};
  run<GatherBackward>({}, {read(of(DataType::i64, {kCount})), read(f32({kCount, 1})), write(f32({3, 1}))}, rows);
  CHECK(values_of<float>(rows[2]) == std::vector<float>{2, 1, 2});
  run<GatherElementsBackward>({}, {read(of(DataType::i64, {kCount})), read(f32({kCount})), write(f32({3}))}, rows);
  CHECK(values_of<float>(rows[2]) == std::vector<float>{2, 1, 2});
}

TEST_CASE("an update at an index out of range makes its line NaN or the smallest integer", "[indices]") {
  const auto written = [](auto zero, int64_t index, bool add) {
    using T = decltype(zero);
    const DataType type = std::is_same_v<T, float> ? DataType::f32 : DataType::i64;
    std::vector<Buffer> buffers = {buffer_of<T>({1, 2, 3, 4, 5, 6}), buffer_of<int64_t>({2, 1, index, 0}),
                                   buffer_of<T>({10, 20, 30, 40}), buffer_of(std::vector<T>(6))};
    run<ScatterElements>(
        {.axis = 1, .add = add},
        {read(of(type, {2, 3})), read(of(DataType::i64, {2, 2})), read(of(type, {2, 2})), write(of(type, {2, 3}))},
        buffers);
    return values_of<T>(buffers[3]);
  };
  for (const int64_t index : {int64_t{3}, int64_t{-4}, kSmallest, kLargest}) {
    CAPTURE(index);
    for (const bool add : {false, true}) {
      const std::vector<float> y = written(0.0F, index, add);
      const std::vector<float> right = add ? std::vector<float>{1, 22, 13} : std::vector<float>{1, 20, 10};
      CHECK(std::vector(y.begin(), y.begin() + 3) == right);
      CHECK(std::isnan(y[3]));
      CHECK(std::vector(y.begin() + 4, y.end()) == std::vector<float>{5, 6});
    }
    CHECK(written(int64_t{}, index, false) == std::vector<int64_t>{1, 20, 10, kSmallest, 5, 6});
  }
}

TEST_CASE("a label that is no class makes the loss NaN", "[indices]") {
  for (const int64_t label : {int64_t{3}, int64_t{1} << 40, kLargest}) {
    CAPTURE(label);
    const std::vector<OperandDesc> operands = {read(f32({2, 3})), read(of(DataType::i64, {2})), write(f32({1})),
                                               write(f32({1})), write(f32({2, 3}))};
    for (const bool weighed : {false, true}) {
      std::vector<Buffer> buffers = {buffer_of<float>({1, 2, 3, 4, 5, 6}), buffer_of<int64_t>({0, label}),
                                     buffer_of<float>({0}), buffer_of<float>({0}), buffer_of(std::vector<float>(6))};
      std::vector<OperandDesc> all = operands;
      if (weighed) buffers.push_back(buffer_of<float>({1, 1, 1})), all.push_back(read(f32({3})));
      run<SoftmaxCrossEntropy>({.smoothing = weighed ? 0.1 : 0}, all, buffers);
      CHECK(std::isnan(values_of<float>(buffers[2])[0]));
      run<NegativeLogLikelihood>({}, all, buffers);
      CHECK(std::isnan(values_of<float>(buffers[2])[0]));
    }
  }
}

TEST_CASE("the range of a kernel's indices and labels is known", "[indices]") {
  const auto selection = [](auto kernel, const auto& attrs, const std::vector<OperandDesc>& operands) {
    return selection_of(maker_of<typename decltype(kernel)::type>(attrs), operands);
  };
  const TensorDesc at = of(DataType::i64, {2, 4});
  const NoAttrs none;
  const auto rows =
      selection(std::type_identity<GatherForward>{}, none, {read(f32({7, 5, 3})), read(at), write(f32({7, 8, 3}))});
  REQUIRE(rows);
  CHECK(rows->slot == 1);
  CHECK((rows->allows(-5) && rows->allows(4) && !rows->allows(-6) && !rows->allows(5)));
  const ElementsAttrs along{.axis = 1};
  const auto elements =
      selection(std::type_identity<GatherElementsForward>{}, along, {read(f32({2, 6})), read(at), write(f32({2, 4}))});
  REQUIRE(elements);
  CHECK((elements->allows(-6) && !elements->allows(6)));
  const auto scattered = selection(std::type_identity<ScatterElements>{}, along,
                                   {read(f32({2, 6})), read(at), read(f32({2, 4})), write(f32({2, 6}))});
  REQUIRE(scattered);
  CHECK((scattered->allows(5) && !scattered->allows(-7)));
  const SoftmaxCrossEntropyAttrs loss{.ignore_index = 255};
  const auto labels = selection(std::type_identity<SoftmaxCrossEntropy>{}, loss,
                                {read(f32({2, 3})), read(of(DataType::i64, {2})), write(f32({1})), {}, {}});
  REQUIRE(labels);
  CHECK((labels->allows(2) && labels->allows(255) && labels->allows(-9) && !labels->allows(3)));
  CHECK(!selection(std::type_identity<ReluForward>{}, none, {read(f32({2})), write(f32({2}))}));
}

}  // namespace plimsoll::test
