// Max pools compared with one loop over the positions of each window: equal values, NaN, infinities, padding and every
// layout of the backend. Gradients are small whole numbers, so their sums have no rounding.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "executor.h"
#include "runtime/backend.h"
#include "runtime/kernels.h"

namespace plimsoll::test {
namespace {

#if defined(PLIMSOLL_CHANNELS_LAST_BACKEND)
constexpr Layout kLayouts[] = {Layout::plain, Layout::nhwc};
constexpr bool kVolumesInBf16 = false;
#else
constexpr Layout kLayouts[] = {Layout::plain, Layout::nChw8c, Layout::nChw16c};
constexpr bool kVolumesInBf16 = true;
#endif

struct MaxPoolCase {
  const char* what;
  IntList x;  // samples, channels, (depth,) height, width
  IntList kernel, strides, dilations, pads;
  int64_t ceil = 0;  // 1: one more window along the width, beyond the padding

  size_t axes() const { return x.size() - 2; }
  PoolAttrs attrs() const { return {.kernel = kernel, .strides = strides, .dilations = dilations, .pads = pads}; }
  IntList y() const {
    IntList dims = x;
    for (size_t i = 0; i < axes(); ++i)
      dims[2 + i] = (x[2 + i] + pads[i] + pads[i + axes()] - (kernel[i] - 1) * dilations[i] - 1) / strides[i] + 1;
    dims[dims.size() - 1] += ceil;
    return dims;
  }
};

const MaxPoolCase kMaxPoolCases[] = {
    {"ResNet", {2, 16, 9, 10}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {"VGG", {2, 32, 8, 6}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
    {"Inception", {3, 48, 7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {"channels out of blocks", {2, 5, 9, 11}, {3, 2}, {2, 3}, {1, 1}, {1, 0, 1, 1}},
    {"more columns than are computed at a time", {1, 16, 5, 150}, {2, 3}, {1, 1}, {1, 1}, {0, 1, 0, 1}},
    {"wide strides", {1, 8, 4, 140}, {1, 5}, {1, 3}, {1, 1}, {0, 2, 0, 2}},
    {"beyond the padding", {2, 16, 6, 6}, {3, 3}, {2, 2}, {1, 1}, {0, 0, 0, 0}, 1},
    {"dilated", {1, 16, 9, 9}, {3, 2}, {1, 2}, {2, 3}, {1, 1, 1, 1}},
    {"padding before the image only", {1, 16, 5, 6}, {4, 4}, {1, 1}, {1, 1}, {2, 2, 0, 0}},
    {"large windows", {1, 16, 18, 17}, {17, 16}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {"a volume", {2, 16, 4, 5, 6}, {2, 3, 2}, {2, 1, 2}, {1, 2, 1}, {1, 1, 0, 0, 1, 1}},
};

// Few different values, so that windows have several maxima; NaN and infinities among them.
double pixel_at(int64_t i) {
  if (i % 29 == 3) return std::nan("");
  if (i % 3 == 0 || i / 40 % 4 == 1) return -std::numeric_limits<double>::infinity();
  return i % 31 == 5 ? std::numeric_limits<double>::infinity() : static_cast<double>(i * 7 % 5 - 2);
}

// {y, dx}
std::pair<Values, Values> expected_of(const MaxPoolCase& c, const Values& x, const Values& dy) {
  const bool flat = c.axes() == 2;
  const auto along = [&](const auto& numbers, size_t axis, size_t first, int64_t flat_one) {
    return flat && axis == 0 ? flat_one : static_cast<int64_t>(numbers[first + axis - (flat ? 1 : 0)]);
  };
  int64_t in[3], out[3], kernel[3], stride[3], step[3], pad[3];
  const IntList dims = c.y();
  for (size_t axis = 0; axis < 3; ++axis) {
    in[axis] = along(c.x, axis, 2, 1), out[axis] = along(dims, axis, 2, 1), kernel[axis] = along(c.kernel, axis, 0, 1);
    stride[axis] = along(c.strides, axis, 0, 1), step[axis] = along(c.dilations, axis, 0, 1);
    pad[axis] = along(c.pads, axis, 0, 0);
  }
  Values y, dx(x.size());
  for (int64_t plane = 0; plane < c.x[0] * c.x[1]; ++plane)
    for (int64_t window = 0; window < out[0] * out[1] * out[2]; ++window) {
      const int64_t at[] = {window / out[2] / out[1], window / out[2] % out[1], window % out[2]};
      size_t best = x.size();
      for (int64_t position = 0; position < kernel[0] * kernel[1] * kernel[2]; ++position) {
        const int64_t of[] = {position / kernel[2] / kernel[1], position / kernel[2] % kernel[1], position % kernel[2]};
        int64_t pixel = plane;
        bool inside = true;
        for (size_t axis = 0; axis < 3; ++axis) {
          const int64_t i = at[axis] * stride[axis] + of[axis] * step[axis] - pad[axis];
          inside = inside && i >= 0 && i < in[axis];
          pixel = pixel * in[axis] + i;
        }
        if (!inside) continue;
        const double value = x[static_cast<size_t>(pixel)];
        if (best == x.size() || value > x[best] || std::isnan(value)) best = static_cast<size_t>(pixel);
      }
      dx[best] += dy[y.size()];
      y.push_back(x[best]);
    }
  return {y, dx};
}

bool same_values(const Values& a, const Values& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  return true;
}

// Runs the kernel's first algorithm on these operands; every byte of a result is written.
template <class KernelType>
void run_pool(const PoolAttrs& attrs, const std::vector<OperandDesc>& operands, std::vector<Buffer>& buffers) {
  const std::vector<Algorithm> offered = KernelType::algorithms(attrs, operands);
  Buffer workspace(offered.front().workspace_bytes);
  std::vector<std::byte*> addresses;
  for (Buffer& buffer : buffers) addresses.push_back(buffer.data());
  KernelType::make(attrs, operands, offered.front().name)->run({}, addresses.data(), workspace.data());
  backend::finish(nullptr);
  CHECK(workspace.guards_intact());
  for (const Buffer& buffer : buffers) CHECK(buffer.guards_intact());
}

}  // namespace

TEST_CASE("max pools: the first of equal maxima, and NaN above all, in every layout") {
  for (const MaxPoolCase& c : kMaxPoolCases)
    for (const Layout layout : kLayouts)
      for (const DataType type : {DataType::f32, DataType::bf16}) {
        if (c.x[1] % std::max(1, block_of(layout)) != 0) continue;
        if (c.axes() == 3 && (layout != Layout::plain || (type != DataType::f32 && !kVolumesInBf16))) continue;
        INFO(c.what << ", " << name_of(layout) << ", " << name_of(type));
        int64_t positions = 1;
        for (size_t i = 0; i < c.axes(); ++i) positions *= c.kernel[i];
        const TensorDesc x = {type, c.x, layout}, y = {type, c.y(), layout};
        const TensorDesc indices = {positions > 255 ? DataType::i32 : DataType::u8, c.y(), layout};
        Values pixels, gradient;
        for (int64_t i = 0; i < x.elements(); ++i) pixels.push_back(pixel_at(i));
        for (int64_t i = 0; i < y.elements(); ++i) gradient.push_back(static_cast<double>(i % 7 - 3));
        const auto [wanted, wanted_gradient] = expected_of(c, pixels, gradient);

        std::vector<Buffer> buffers;
        for (const TensorDesc& desc : {x, y, indices}) buffers.emplace_back(desc.bytes());
        store(x, pixels, buffers[0].data());
        run_pool<MaxPoolForward>(c.attrs(), {{x, Access::read}, {y, Access::write}, {indices, Access::write}}, buffers);
        CHECK(same_values(load(y, buffers[1].data()), wanted));

        std::vector<Buffer> backwards;
        for (const TensorDesc& desc : {indices, y, x}) backwards.emplace_back(desc.bytes());
        backwards[0].copy_from(buffers[2]);
        store(y, gradient, backwards[1].data());
        run_pool<MaxPoolBackward>(c.attrs(), {{indices, Access::read}, {y, Access::read}, {x, Access::write}},
                                  backwards);
        CHECK(same_values(load(x, backwards[2].data()), wanted_gradient));

        // Without indices, as in an evaluation.
        std::vector<Buffer> evaluated;
        for (const TensorDesc& desc : {x, y, indices}) evaluated.emplace_back(desc.bytes());
        evaluated[0].copy_from(buffers[0]);
        run_pool<MaxPoolForward>(c.attrs(), {{x, Access::read}, {y, Access::write}, {}}, evaluated);
        CHECK(same_values(load(y, evaluated[1].data()), wanted));
      }
}

}  // namespace plimsoll::test
