// The host's own kernel for the weights of depthwise convolutions, compared with sums in double precision.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "executor.h"
#include "runtime/backend.h"
#include "runtime/kernels.h"
#include "runtime/precision.h"
#include "team.h"

namespace plimsoll::test {
namespace {

struct DepthwiseCase {
  const char* what;
  int64_t samples, channels, height, width, kernel_height, kernel_width;
  IntList strides = {1, 1}, dilations = {1, 1}, pads = {0, 0, 0, 0};

  int64_t size(size_t axis) const {
    const int64_t pixels = axis == 0 ? height : width, taps = axis == 0 ? kernel_height : kernel_width;
    return (pixels + pads[axis] + pads[axis + 2] - (taps - 1) * dilations[axis] - 1) / strides[axis] + 1;
  }
  TensorDesc x() const { return f32({samples, channels, height, width}); }
  TensorDesc dy() const { return f32({samples, channels, size(0), size(1)}); }
  TensorDesc dw() const { return f32({channels, 1, kernel_height, kernel_width}); }
  TensorDesc db() const { return f32({channels}); }
  ConvAttrs attrs() const { return {.strides = strides, .dilations = dilations, .pads = pads, .group = channels}; }
};

const DepthwiseCase kDepthwiseCases[] = {
    {"ConvNeXt", 2, 32, 14, 14, 7, 7, {1, 1}, {1, 1}, {3, 3, 3, 3}},
    {"MobileNet", 3, 48, 15, 12, 3, 3, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {"EfficientNet", 1, 16, 11, 13, 5, 5, {2, 1}, {1, 1}, {2, 2, 2, 2}},
    {"channels out of blocks", 2, 21, 9, 8, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"one channel", 1, 1, 6, 6, 3, 3},
    {"a row and a column", 2, 24, 6, 9, 1, 9, {1, 1}, {1, 1}, {0, 4, 0, 4}},
    {"more rows than a tile has", 2, 16, 23, 10, 13, 2, {1, 3}, {1, 1}, {6, 0, 6, 1}},
    {"dilated", 2, 16, 12, 13, 3, 3, {1, 1}, {2, 3}, {2, 3, 2, 3}},
    {"dilated and strided", 2, 8, 17, 16, 4, 3, {2, 3}, {3, 2}, {1, 4, 0, 0}},
    {"asymmetric pads", 2, 16, 7, 8, 2, 3, {1, 1}, {1, 1}, {1, 0, 0, 2}},
    {"smaller than the kernel", 3, 16, 2, 3, 7, 7, {1, 1}, {1, 1}, {3, 3, 3, 3}},
    {"some windows are only padding", 1, 16, 2, 2, 3, 3, {1, 1}, {1, 1}, {4, 5, 4, 5}},
    {"columns that no window reads", 2, 16, 8, 8, 2, 2, {3, 3}},
    {"a point", 4, 32, 5, 5, 1, 1, {2, 2}},
    {"several parts for each channel", 3, 17, 33, 40, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}},
};

float wave_of(size_t slot, int64_t i) { return std::sin(0.61F * static_cast<float>(i + 1) + static_cast<float>(slot)); }

Values waves_of(size_t slot, const TensorDesc& desc) {
  Values values(static_cast<size_t>(desc.elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    const float wave = wave_of(slot, static_cast<int64_t>(i));
    values[i] = static_cast<double>(desc.type == DataType::bf16 ? widened(narrowed(wave)) : wave);
  }
  return values;
}

// {dw, db}
std::pair<Values, Values> expected_gradients(const DepthwiseCase& c, const Values& x, const Values& dy) {
  Values dw(static_cast<size_t>(c.dw().elements())), db(static_cast<size_t>(c.channels));
  const int64_t rows = c.size(0), columns = c.size(1);
  for (int64_t n = 0; n < c.samples * c.channels; ++n) {
    const int64_t channel = n % c.channels;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        const double g = dy[static_cast<size_t>((n * rows + row) * columns + column)];
        db[static_cast<size_t>(channel)] += g;
        for (int64_t i = 0; i < c.kernel_height; ++i) {
          for (int64_t j = 0; j < c.kernel_width; ++j) {
            const int64_t h = row * c.strides[0] + i * c.dilations[0] - c.pads[0];
            const int64_t w = column * c.strides[1] + j * c.dilations[1] - c.pads[1];
            if (h < 0 || h >= c.height || w < 0 || w >= c.width) continue;
            dw[static_cast<size_t>((channel * c.kernel_height + i) * c.kernel_width + j)] +=
                g * x[static_cast<size_t>((n * c.height + h) * c.width + w)];
          }
        }
      }
    }
  }
  return {dw, db};
}

// One way to call the kernel for a case.
struct DepthwiseCall {
  std::vector<OperandDesc> operands;
  std::vector<Values> given;

  DepthwiseCall(const DepthwiseCase& c, DataType type, Layout x, Layout dy, Layout dw, Access weights, Access bias)
      : operands{read(c.x()), read(c.dy()), {c.dw(), weights}, {c.db(), bias}} {
    operands[0].tensor.type = operands[1].tensor.type = type;
    operands[0].tensor.layout = x;
    operands[1].tensor.layout = dy;
    operands[2].tensor.layout = dw;
    for (size_t slot = 0; slot < 4; ++slot) given.push_back(waves_of(slot, operands[slot].tensor));
  }

  // What `algorithm` leaves in the operands.
  std::vector<Buffer> run(const ConvAttrs& attrs, const Algorithm& algorithm, int threads, int fill) const {
    const Team team(threads);
    std::vector<Buffer> buffers;
    std::vector<std::byte*> addresses;
    for (size_t slot = 0; slot < 4; ++slot) {
      const OperandDesc& operand = operands[slot];
      buffers.emplace_back(operand.tensor.bytes(), fill);
      if (operand.access == Access::read || operand.access == Access::update)
        store(operand.tensor, given[slot], buffers.back().data());
    }
    for (size_t slot = 0; slot < 4; ++slot)
      addresses.push_back(operands[slot].access == Access::absent ? nullptr : buffers[slot].data());
    Buffer workspace(algorithm.workspace_bytes, fill);
    ConvBackwardWeights::make(attrs, operands, algorithm.name)->run({}, addresses.data(), workspace.data());
    backend::finish(nullptr);
    CHECK(workspace.guards_intact());
    for (const Buffer& buffer : buffers) CHECK(buffer.guards_intact());
    return buffers;
  }
};

void check_call(const DepthwiseCase& c, const DepthwiseCall& call, const std::pair<Values, Values>& expected) {
  const std::vector<Algorithm> offered = ConvBackwardWeights::algorithms(c.attrs(), call.operands);
  const auto own =
      std::find_if(offered.begin(), offered.end(), [](const Algorithm& a) { return a.name == "depthwise"; });
  REQUIRE(own != offered.end());
  CHECK(own->deterministic);
  const std::vector<Buffer> got = call.run(c.attrs(), *own, 1, 0xFF), again = call.run(c.attrs(), *own, 3, 0x3C);
  for (size_t slot = 2; slot < 4; ++slot) {
    const OperandDesc& operand = call.operands[slot];
    if (operand.access == Access::absent) continue;
    INFO((slot == 2 ? "dw" : "db"));
    CHECK((got[slot].contents() == again[slot].contents()));
    Values wanted = slot == 2 ? expected.first : expected.second;
    for (size_t i = 0; operand.access == Access::update && i < wanted.size(); ++i) wanted[i] += call.given[slot][i];
    CHECK(distance(load(operand.tensor, got[slot].data()), wanted, 1e-3) < 5e-5);
  }
}

bool fits_layout(int64_t channels, Layout layout) {
  const int64_t block = layout == Layout::Goihw16g ? 16 : layout == Layout::Goihw8g ? 8 : std::max(1, block_of(layout));
  return channels % block == 0;
}

}  // namespace

TEST_CASE("weights of depthwise convolutions: every shape, layout, type and access") {
  constexpr Layout kImages[] = {Layout::plain, Layout::nChw8c, Layout::nChw16c};
  constexpr Layout kWeights[] = {Layout::plain, Layout::Goihw8g, Layout::Goihw16g};
  for (const DepthwiseCase& c : kDepthwiseCases) {
    INFO(c.what);
    for (const DataType type : {DataType::f32, DataType::bf16}) {
      INFO(name_of(type));
      TensorDesc x = c.x(), dy = c.dy();
      x.type = dy.type = type;
      const auto expected = expected_gradients(c, waves_of(0, x), waves_of(1, dy));
      for (const Layout of_x : kImages) {
        for (const Layout of_dy : kImages) {
          for (const Layout of_dw : kWeights) {
            if (!fits_layout(c.channels, of_x) || !fits_layout(c.channels, of_dy) || !fits_layout(c.channels, of_dw))
              continue;
            INFO("x " << name_of(of_x) << ", dy " << name_of(of_dy) << ", dw " << name_of(of_dw));
            check_call(c, {c, type, of_x, of_dy, of_dw, Access::write, Access::write}, expected);
          }
        }
      }
      check_call(c, {c, type, Layout::plain, Layout::plain, Layout::plain, Access::update, Access::absent}, expected);
      check_call(c, {c, type, Layout::plain, Layout::plain, Layout::plain, Access::write, Access::update}, expected);
    }
  }
}

TEST_CASE("the kernel for depthwise convolutions is offered for these only") {
  const auto offered = [](const ConvAttrs& attrs, const std::vector<OperandDesc>& operands) {
    const std::vector<Algorithm> all = ConvBackwardWeights::algorithms(attrs, operands);
    return std::any_of(all.begin(), all.end(), [](const Algorithm& a) { return a.name == "depthwise"; });
  };
  const TensorDesc image = f32({2, 16, 6, 6}), inner = f32({2, 16, 4, 4}), bias = f32({16});
  const ConvAttrs depthwise{.group = 16};
  CHECK(offered(depthwise, {read(image), read(inner), write(f32({16, 1, 3, 3})), write(bias)}));
  CHECK_FALSE(offered(depthwise, {read(image), read(inner), absent(), write(bias)}));
  CHECK_FALSE(offered({.group = 8}, {read(image), read(inner), write(f32({16, 2, 3, 3})), absent()}));
  // Two output channels for each input channel.
  CHECK_FALSE(offered(depthwise, {read(image), read(f32({2, 32, 4, 4})), write(f32({32, 1, 3, 3})), absent()}));
  const TensorDesc volume = f32({2, 16, 3, 3, 3});
  CHECK_FALSE(offered({.strides = {1, 1, 1}, .dilations = {1, 1, 1}, .pads = {0, 0, 0, 0, 0, 0}, .group = 16},
                      {read(volume), read(volume), write(f32({16, 1, 1, 1, 1})), absent()}));
  const std::vector<OperandDesc> dense = {read(image), read(inner), write(f32({16, 16, 3, 3})), absent()};
  CHECK_THROWS_AS(ConvBackwardWeights::make({}, dense, "depthwise"), KernelError);
}

}  // namespace plimsoll::test
