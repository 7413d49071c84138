// Kernels whose work is divided by shape: the same bits for any number of threads, in a workspace of the stated size.
#include "runtime/host/work_items.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "executor.h"
#include "narrow_operands.h"
#include "runtime/backend.h"
#include "runtime/kernels.h"
#include "team.h"

namespace plimsoll::test {
namespace {

float wave_at(size_t slot, int64_t i) { return std::sin(0.37F * static_cast<float>(i + 1) + static_cast<float>(slot)); }

// What a kernel leaves in its operands, of which those that are read have waves.
std::vector<Buffer> run_by(int threads, const KernelCall& call) {
  const Team team(threads);
  const Algorithm algorithm = algorithms_of(call).front();
  std::vector<Buffer> buffers;
  for (size_t slot = 0; slot < call.operands.size(); ++slot) {
    const OperandDesc& operand = call.operands[slot];
    buffers.emplace_back(operand.access == Access::absent ? 0 : operand.tensor.bytes());
    if (operand.access == Access::absent || operand.access == Access::write) continue;
    Buffer wave(operand.tensor.padded_elements() * 4);
    for (int64_t i = 0; i < operand.tensor.padded_elements(); ++i)
      reinterpret_cast<float*>(wave.data())[i] = wave_at(slot, i);
    buffers.back() = operand.tensor.type == DataType::bf16 ? in_narrow(DataType::bf16, wave) : wave;
  }
  std::vector<std::byte*> addresses;
  for (size_t slot = 0; slot < buffers.size(); ++slot)
    addresses.push_back(call.operands[slot].access == Access::absent ? nullptr : buffers[slot].data());
  Buffer workspace(algorithm.workspace_bytes);
  make_kernel(call, algorithm.name)->run({}, addresses.data(), workspace.data());
  backend::finish(nullptr);
  CHECK(workspace.guards_intact());
  for (const Buffer& buffer : buffers) CHECK(buffer.guards_intact());
  return buffers;
}

std::vector<Buffer> same_by_any_team(const KernelCall& call) {
  INFO(call.name);
  std::vector<Buffer> expected = run_by(1, call);
  for (const int threads : {2, 3, 7}) {
    const std::vector<Buffer> got = run_by(threads, call);
    for (size_t slot = 0; slot < got.size(); ++slot) {
      INFO(threads << " threads, slot " << slot);
      CHECK((got[slot].contents() == expected[slot].contents()));
    }
  }
  return expected;
}

const float* floats(const Buffer& buffer) { return reinterpret_cast<const float*>(buffer.data()); }

TensorDesc bf16(const IntList& dims) { return {.type = DataType::bf16, .dims = dims}; }

}  // namespace

TEST_CASE("lanes and parts follow from the shape") {
  CHECK(host::lanes_of(7, 1 << 20, 1 << 20) == 7);         // not more than work items
  CHECK(host::lanes_of(1000, 1 << 20, 1 << 20) == 32);     // the workspace of more would be large beside the operands
  CHECK(host::lanes_of(1000, 1024, 50 * 8 * 1024) == 50);  // an eighth of the operands
  CHECK(host::lanes_of(1000, 1024, int64_t{1} << 40) == host::kManyItems);
  CHECK(host::lanes_of(1000, 0, 0) == host::kManyItems);   // no workspace
  CHECK(host::parts_of(1, 16383) == 1);                    // not worth it
  CHECK(host::parts_of(1, 4 * 16384) == 4);
  CHECK(host::parts_of(6, int64_t{1} << 40) == 22);        // 132 work items
  CHECK(host::parts_of(host::kManyItems, int64_t{1} << 40) == 1);
  for (int64_t i = 0, end = 0; i < 5; ++i) {
    const host::Part part = host::part_of(i, 5, 13);
    CHECK(part.first == end);
    end = part.end;
    if (i == 4) CHECK(end == 13);
  }
}

TEST_CASE("each work item runs once, and a lane has one at a time") {
  const Team team(5);
  std::vector<std::atomic<int>> runs(100), in_lane(3);
  std::atomic<int> together{0};
  host::for_work_items(100, 3, [&](int64_t item, int64_t lane) {
    if (in_lane[static_cast<size_t>(lane)].fetch_add(1) != 0) ++together;
    ++runs[static_cast<size_t>(item)];
    in_lane[static_cast<size_t>(lane)].fetch_sub(1);
  });
  CHECK(together == 0);
  for (const std::atomic<int>& run : runs) CHECK(run == 1);
}

TEST_CASE("sums in parts are those of their terms, by any number of threads") {
  // {x, y}, and how the elements of x are numbered: by the sum to which each belongs.
  struct Sum {
    IntList x, y;
    int64_t (*of)(int64_t);
  };
  const Sum sums[] = {
      {{2000, 200}, {200}, [](int64_t i) { return i % 200; }},                   // the gradient of a bias
      {{70, 5, 1000}, {5, 1}, [](int64_t i) { return i / 1000 % 5; }},           // of a channel
      {{3, 100001}, {1, 1}, [](int64_t) { return int64_t{0}; }},                 // of everything
      {{40, 3, 50, 33}, {3, 1, 33}, [](int64_t i) { return i / 1650 % 3 * 33 + i % 33; }},
  };
  for (const Sum& sum : sums) {
    const TensorDesc x = f32(sum.x), y = f32(sum.y);
    const KernelCall call{"SumToShape", {}, {read(x), write(y)}};
    CHECK(algorithms_of(call).front().workspace_bytes > 0);  // it is divided
    const std::vector<Buffer> got = same_by_any_team(call);
    std::vector<double> expected(static_cast<size_t>(y.elements()));
    for (int64_t i = 0; i < x.elements(); ++i)
      expected[static_cast<size_t>(sum.of(i))] += static_cast<double>(wave_at(0, i));
    for (int64_t i = 0; i < y.elements(); ++i)
      CHECK(std::abs(static_cast<double>(floats(got[1])[i]) - expected[static_cast<size_t>(i)]) < 1e-2);
  }
}

TEST_CASE("batch normalization over parts of planes, by any number of threads") {
  for (const Layout layout : {Layout::plain, Layout::nChw16c}) {
    // 2 planes of 20,449 pixels, or 6 blocks of them, of which two, of one sample each, fit what is processed together
    TensorDesc image = f32({2, layout == Layout::plain ? 1 : 48, 143, 143});
    image.layout = layout;
    const int64_t channels = image.dim(1), pixels = 143 * 143, block = layout == Layout::plain ? 1 : 16;
    const auto place = [&](int64_t n, int64_t c, int64_t p) {
      return (n * channels + c / block * block) * pixels + p * block + c % block;
    };
    const TensorDesc channel = f32({channels});
    const KernelCall call{"BatchNormForward",
                          {},
                          {read(image), read(channel), read(channel), {channel, Access::update},
                           {channel, Access::update}, write(image), write(channel), write(channel)}};
    const std::vector<Buffer> got = same_by_any_team(call);
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0, squares = 0;
      for (int64_t n = 0; n < 2; ++n)
        for (int64_t p = 0; p < pixels; ++p) {
          const double x = static_cast<double>(wave_at(0, place(n, c, p)));
          sum += x;
          squares += x * x;
        }
      const double mean = sum / static_cast<double>(2 * pixels);
      CHECK(std::abs(static_cast<double>(floats(got[6])[c]) - mean) < 1e-5);
      const double variance = squares / static_cast<double>(2 * pixels) - mean * mean;
      CHECK(std::abs(static_cast<double>(floats(got[7])[c]) - variance) < 1e-5);
    }
    const KernelCall back{"BatchNormBackward",
                          {},
                          {read(image), read(image), read(channel), read(channel), read(channel), {}, write(image),
                           write(channel), write(channel)}};
    const std::vector<Buffer> gradients = same_by_any_team(back);
    for (int64_t c = 0; c < channels; ++c) {
      double dbias = 0;
      for (int64_t n = 0; n < 2; ++n)
        for (int64_t p = 0; p < pixels; ++p) dbias += static_cast<double>(wave_at(1, place(n, c, p)));
      CHECK(std::abs(static_cast<double>(floats(gradients[8])[c]) - dbias) < 1e-2);
    }
  }
}

TEST_CASE("kernels in lanes give the same bits by any number of threads") {
  const KernelAttribute size{"size", int64_t{5}};
  const TensorDesc image = f32({3, 8, 41, 31}), rows = f32({700, 96}), row = f32({96}), of_row = f32({700});
  same_by_any_team({"LrnForward", {size}, {read(image), write(image)}});
  same_by_any_team({"LrnBackward", {size}, {read(image), read(image), write(image)}});
  same_by_any_team(
      {"LayerNormBackward",
       {},
       {read(rows), read(rows), read(row), read(of_row), read(of_row), write(rows), write(row), write(row)}});
  const KernelAttribute window{"kernel", std::vector<int64_t>{3, 3}}, strides{"strides", std::vector<int64_t>{2, 2}},
      dilations{"dilations", std::vector<int64_t>{1, 1}}, pads{"pads", std::vector<int64_t>{1, 1, 1, 1}};
  same_by_any_team({"AveragePoolBackward",
                    {window, strides, dilations, pads},
                    {read(bf16({3, 80, 8, 8})), write(bf16({3, 80, 16, 16}))}});
  const TensorDesc indices{.type = DataType::u8, .dims = {3, 80, 8, 8}};
  same_by_any_team({"MaxPoolForward",
                    {window, strides, dilations, pads},
                    {read(f32({3, 80, 16, 16})), write(f32({3, 80, 8, 8})), write(indices)}});
  const TensorDesc heads = bf16({2, 3, 300, 16}), statistics = f32({2, 3, 300, 2});
  const KernelAttribute causal{"right", int64_t{0}};
  same_by_any_team(
      {"AttentionForward", {causal}, {read(heads), read(heads), read(heads), {}, write(heads), write(statistics)}});
  same_by_any_team({"AttentionBackward",
                    {causal},
                    {read(heads), read(heads), read(heads), {}, read(heads), read(statistics), read(heads),
                     write(heads), write(heads), write(heads), {}}});
}

}  // namespace plimsoll::test
