#include "compiler/costs/convolution.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "compiler/support/bytes.h"
#include "runtime/attrs/conv.h"

namespace plimsoll {
namespace {

// A task's attributes as the kernel's struct; omitted attributes have their defaults.
ConvAttrs attributes_of(const Task& task) {
  ConvAttrs attrs;
  attrs.visit([&](std::string_view name, auto& field) {
    for (const Attribute& attribute : task.attributes) {
      if (attribute.name != name) continue;
      using Field = std::remove_cvref_t<decltype(field)>;
      if constexpr (std::is_same_v<Field, IntList>) {
        const auto& given = std::get<std::vector<int64_t>>(attribute.value);
        field = IntList{};
        for (const int64_t item : given) field.push_back(item);
      } else {
        field = std::get<Field>(attribute.value);
      }
    }
  });
  return attrs;
}

// Maps a kernel's operands to the tensors of the convolution; see runtime/attrs/kernels.def and compiler/ops/conv.cpp.
struct Slots {
  std::string_view kernel;
  ConvDirection direction;
  size_t x, w, y;
};

constexpr std::array kSlots = {Slots{"ConvForward", ConvDirection::forward, 0, 1, 3},
                               Slots{"ConvBackwardData", ConvDirection::backward_data, 2, 0, 1},
                               Slots{"ConvBackwardWeights", ConvDirection::backward_weights, 0, 2, 1},
                               // the dx of a convolution whose dy is its input
                               Slots{"ConvTransposeForward", ConvDirection::backward_data, 3, 1, 0}};

double real(int64_t value) { return static_cast<double>(value); }
int64_t cut(int64_t length, int64_t piece) { return (length + piece - 1) / piece; }

int64_t weight_bytes(const ConvShape& s) {
  return 4 * s.out_channels * (s.in_channels / s.groups) * s.kernel_depth * s.kernel_height * s.kernel_width;
}

// The work of an algorithm; this is all that distinguishes algorithms.
struct Work {
  double flops = 0;    // actually executed
  double bytes = 0;    // in addition to the operands: intermediates, written and read
  int64_t workspace = 0;
  int64_t launches = 1;
};

// x, w and y, each in a transformed domain of `points` elements per plane tile, with pointwise products there:
// Winograd's tiles, or the frequencies of a Fourier transform.
//
//   x ──► X ─┐
//            ├─ per point, a matrix product over channels ──► Y ──► y
//   w ──► W ─┘
Work transformed(const ConvShape& s, int64_t tiles, int64_t points, int64_t bytes_per_point, double flops_per_product,
                 double flops_per_tile) {
  const int64_t x = s.samples * tiles * s.in_channels, y = s.samples * tiles * s.out_channels,
                w = s.in_channels * s.out_channels;
  const int64_t stored = (x + w + y) * points * bytes_per_point;
  return {.flops = flops_per_product * real(points) * real(s.samples * tiles) * real(s.in_channels) *
                       real(s.out_channels) +
                   flops_per_tile * real(x + w + y),
          .bytes = 2.0 * real(stored),
          .workspace = stored,
          .launches = 4};
}

// A real transform has half of the frequencies, plus one; a complex product takes 8 operations.
Work fourier(const ConvShape& s, int64_t tiles, int64_t height, int64_t width) {
  const double elements = real(height * width);
  return transformed(s, tiles, height * (width / 2 + 1), 8, 8.0, 2.5 * elements * std::log2(elements));
}

// F(m×m, r×r): tiles of m outputs from m + r - 1 inputs. A transform of n×n counts as two products with an n×n matrix.
Work winograd_tiles(const ConvShape& s, int64_t m) {
  const int64_t n = m + s.kernel_height - 1;
  return transformed(s, cut(s.out_height, m) * cut(s.out_width, m), n * n, 4, 2.0, 4.0 * real(n * n * n));
}

std::optional<Work> implicit_gemm(const ConvShape& s) { return Work{.flops = direct_flops(s)}; }

// Offsets of the filter's elements and of the outputs, computed in advance.
std::optional<Work> implicit_precomp_gemm(const ConvShape& s) {
  const int64_t indices = s.in_channels / s.groups * s.kernel_depth * s.kernel_height * s.kernel_width +
                          s.out_depth * s.out_height * s.out_width;
  return Work{.flops = direct_flops(s), .workspace = 4 * indices};
}

// im2col for one sample at a time, then a matrix product.
std::optional<Work> gemm(const ConvShape& s) {
  if (s.direction != ConvDirection::forward || s.groups != 1) return {};
  const int64_t columns =
      4 * s.in_channels * s.kernel_depth * s.kernel_height * s.kernel_width * s.out_depth * s.out_height * s.out_width;
  return Work{.flops = direct_flops(s), .bytes = 2.0 * real(columns) * real(s.samples), .workspace = columns,
              .launches = 2 * s.samples};
}

// Transforms need two-dimensional images and a filter larger than 1×1.
bool has_area(const ConvShape& s) { return !s.is_volume && (s.kernel_height > 1 || s.kernel_width > 1); }

// Whole planes, each side rounded up to a power of two, up to 256.
std::optional<Work> fft(const ConvShape& s) {
  const int64_t height = s.height + s.pad_height, width = s.width + s.pad_width;
  if (s.groups != 1 || !s.dense_steps || !has_area(s) || std::max(height, width) > 256) return {};
  return fourier(s, 1, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(height))),
                 static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(width))));
}

// Tiles of 32×32 that overlap by the filter size.
std::optional<Work> fft_tiling(const ConvShape& s) {
  constexpr int64_t kTile = 32;
  if (s.groups != 1 || !s.dense_steps || !has_area(s) || std::max(s.kernel_height, s.kernel_width) > kTile / 2)
    return {};
  return fourier(s, cut(s.out_height, kTile - s.kernel_height + 1) * cut(s.out_width, kTile - s.kernel_width + 1),
                 kTile, kTile);
}

bool winograd_fits(const ConvShape& s, int64_t kernel) {
  return !s.is_volume && s.groups == 1 && s.dense_steps && s.kernel_height == kernel && s.kernel_width == kernel;
}

// F(2×2, 3×3) in one kernel; only the filters are transformed in advance.
std::optional<Work> winograd(const ConvShape& s) {
  if (s.direction == ConvDirection::backward_weights || !winograd_fits(s, 3)) return {};
  Work work = winograd_tiles(s, 2);
  work.workspace = s.in_channels * s.out_channels * 16 * 4;
  work.bytes = 2.0 * real(work.workspace);
  work.launches = 2;
  return work;
}

// F(4×4, 3×3) and F(4×4, 5×5), with a kernel per stage.
std::optional<Work> winograd_nonfused(const ConvShape& s) {
  if (!winograd_fits(s, 3) && !winograd_fits(s, 5)) return {};
  return winograd_tiles(s, 4);
}

// As in oneDNN: no workspace except each thread's sums of the weight gradient.
std::optional<Work> direct(const ConvShape& s) {
  Work work{.flops = direct_flops(s)};
  if (s.direction == ConvDirection::backward_weights) work.workspace = weight_bytes(s);
  return work;
}

struct Model {
  std::string_view name;
  std::optional<Work> (*work)(const ConvShape&);
  bool takes_channels_last;  // without a transposition
};

constexpr std::array kModels = {Model{"implicit_gemm", implicit_gemm, true},
                                Model{"implicit_precomp_gemm", implicit_precomp_gemm, false},
                                Model{"gemm", gemm, false},
                                Model{"fft", fft, false},
                                Model{"fft_tiling", fft_tiling, false},
                                Model{"winograd", winograd, false},
                                Model{"winograd_nonfused", winograd_nonfused, false},
                                Model{"direct", direct, true}};

// A transposing copy before for inputs, and one after for outputs.
void turn_around(Work& work, int64_t bytes) {
  if (bytes == 0) return;
  work.bytes += 2.0 * real(bytes);
  work.workspace += bytes;
  work.launches += 2;
}

double share_of(const Device& device, const ConvShape& s, double algorithm) {
  const Efficiency& e = device.efficiency;
  double share = algorithm;
  if (s.groups > 1) share = std::min(share, s.in_channels == s.groups ? e.depthwise : e.grouped);
  if (s.direction == ConvDirection::backward_data) share *= e.backward_data;
  if (s.direction == ConvDirection::backward_weights) share *= e.backward_weights;
  return share;
}

}  // namespace

std::optional<ConvShape> convolution_of(const Task& task, int64_t samples) {
  const auto slots =
      std::find_if(kSlots.begin(), kSlots.end(), [&](const Slots& s) { return s.kernel == task.kernel; });
  // If only the bias is trained, this is a sum over dy.
  if (slots == kSlots.end() || task.operands[slots->w].access == Access::absent) return {};
  const ConvAttrs attrs = attributes_of(task);
  const TensorDesc x = task.operands[slots->x].type.at(samples), w = task.operands[slots->w].type.at(samples),
                   y = task.operands[slots->y].type.at(samples);
  const auto are_ones = [](const IntList& list) {
    return std::all_of(list.begin(), list.end(), [](int64_t item) { return item == 1; });
  };
  const size_t rows = x.rank() - 2, columns = x.rank() - 1, spatial = x.rank() - 2;
  const bool is_volume = x.rank() == 5;
  return ConvShape{.direction = slots->direction,
                   .samples = x.dim(0),
                   .groups = attrs.group,
                   .in_channels = x.dim(1),
                   .out_channels = y.dim(1),
                   .height = x.dim(rows),
                   .width = x.dim(columns),
                   .out_height = y.dim(rows),
                   .out_width = y.dim(columns),
                   .kernel_height = w.dim(rows),
                   .kernel_width = w.dim(columns),
                   .kernel_depth = is_volume ? w.dim(2) : 1,
                   .out_depth = is_volume ? y.dim(2) : 1,
                   .is_volume = is_volume,
                   .pad_height = attrs.pads[spatial - 2] + attrs.pads[2 * spatial - 2],
                   .pad_width = attrs.pads[spatial - 1] + attrs.pads[2 * spatial - 1],
                   .dense_steps = are_ones(attrs.strides) && are_ones(attrs.dilations),
                   .channels_last = x.layout == Layout::nhwc,
                   .bytes = task.bytes_moved(samples),
                   .image_bytes = x.bytes() + y.bytes()};
}

double direct_flops(const ConvShape& s) {
  return 2.0 * real(s.samples) * real(s.out_channels) * real(s.in_channels / s.groups) * real(s.kernel_height) *
         real(s.kernel_width) * real(s.out_height) * real(s.out_width) * real(s.kernel_depth) * real(s.out_depth);
}

bool is_convolution_algorithm(std::string_view name) {
  return std::any_of(kModels.begin(), kModels.end(), [&](const Model& model) { return model.name == name; });
}

int64_t bytes_turned_around(const ConvShape& s, bool on_tensor_cores) {
  const bool by_four = s.in_channels % 4 == 0 && s.out_channels % 4 == 0;
  const bool fits = on_tensor_cores ? s.channels_last && by_four : !s.channels_last;
  return fits ? 0 : s.image_bytes;
}

double compute_seconds(const Device& device, double flops, double share) {
  // The smallest piece that is worth a unit of its own: a tile of 64×64 outputs over a depth of 256.
  constexpr double kPiece = 2.0 * 64 * 64 * 256;
  const double idle = real(device.units - 1) * std::min(kPiece, flops);
  return (flops + idle) / (device.flops_per_second * share);
}

std::vector<AlgorithmCost> convolution_algorithms(const Device& device, const ConvShape& shape) {
  const double memory = device.memory_bytes_per_second * device.efficiency.memory;
  std::vector<AlgorithmCost> costs;
  for (const Model& model : kModels) {
    const auto algorithm = device.algorithms.find(std::string(model.name));
    if (algorithm == device.algorithms.end()) continue;
    std::optional<Work> work = model.work(shape);
    if (!work) continue;
    if (!model.takes_channels_last) turn_around(*work, bytes_turned_around(shape, false));
    const double compute = compute_seconds(device, work->flops, share_of(device, shape, algorithm->second));
    // The stages of an algorithm run one after another, so traffic to its workspace adds time.
    costs.push_back({.name = std::string(model.name),
                     .workspace_bytes = align_up(work->workspace),
                     .seconds = std::max(compute, real(shape.bytes) / memory) + work->bytes / memory +
                                real(work->launches) * device.launch_seconds});
  }
  std::stable_sort(costs.begin(), costs.end(),
                   [](const AlgorithmCost& a, const AlgorithmCost& b) { return a.seconds < b.seconds; });
  return costs;
}

}  // namespace plimsoll
