// GridSample: samples images [N, C, H, W] or volumes [N, C, D, H, W] at the positions of a grid [N, …, 2 or 3], x
// first, from -1 to 1.
//   GridSampleForward {x, grid, y}   y [N, C, …]
//   GridSampleBackward {grid, dy, dx}   GridSampleBackwardGrid {x, grid, dy, dgrid}
// If the grid needs no gradient, the image need not be kept for the backward pass.
#include "compiler/ops/op.h"
#include "runtime/attrs/grid_sample.h"

namespace plimsoll {
namespace grid_sample {

Result<GridSampleAttrs> attrs_of(const NodeView& node) {
  GridSampleAttrs attrs{.align_corners = node.integer("align_corners", 0) != 0};
  const std::string mode = node.text("mode", "linear"), padding = node.text("padding_mode", "zeros");
  attrs.nearest = mode == "nearest";
  attrs.cubic = mode == "cubic" || mode == "bicubic";
  if (attrs.cubic && node.input_type(0).rank() != 4)
    return node.unsupported("mode " + mode + " of " + to_string(node.input_type(0)) + "; it is supported for images");
  if (padding == "border") attrs.padding = GridSampleAttrs::kBorder;
  if (padding == "reflection") attrs.padding = GridSampleAttrs::kReflection;
  return attrs;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("requires an input and a grid");
  const TensorType &x = node.input_type(0), &grid = node.input_type(1);
  const std::string given = "the grid is " + to_string(grid) + " for " + to_string(x);
  if (x.type != DataType::f32 || grid.type != DataType::f32) return node.unsupported("only f32 is supported, " + given);
  if (x.rank() != 4 && x.rank() != 5)
    return node.unsupported(given + "; supported are [N, C, H, W] and [N, C, D, H, W]");
  if (grid.rank() != x.rank() || grid.dims.back() != Dim{static_cast<int64_t>(x.rank()) - 2})
    return node.invalid(given);
  if (grid.dims[0] != x.dims[0]) return node.unsupported(given + ", with a different batch");
  for (size_t i = 1; i < x.rank(); ++i)
    if (x.dims[i].batch || grid.dims[i].batch)
      return node.unsupported(given + ": the batch is not the first axis");
  PLIMSOLL_TRY(attrs_of(node));
  TensorType y{x.type, {x.dims[0], x.dims[1]}};
  y.dims.insert(y.dims.end(), grid.dims.begin() + 1, grid.dims.end() - 1);
  return std::vector{y};
}

// For each pixel that contributes to a position: its weight, a product and a sum.
Affine flops(const NodeView& node) {
  const bool volume = node.input_type(0).rank() == 5;
  return flops_per_element(node.output_type(0), attrs_of(node)->cubic ? 48 : volume ? 24 : 12);
}

void forward(TaskBuilder& build) {
  build.task({.kernel = "GridSampleForward",
              .attributes = to_attributes(attrs_of(build.node()).value()),
              .operands = {build.read_input(0), build.read_input(1), build.write_output(0)},
              .flops = flops(build.node())});
}

void backward(TaskBuilder& build) {
  const Attributes attributes = to_attributes(attrs_of(build.node()).value());
  if (build.wants_gradient(0))
    build.task({.kernel = "GridSampleBackward",
                .kind = TaskKind::backward_data,
                .attributes = attributes,
                .operands = {build.read_input(1), build.read_gradient(0), build.write_gradient(0)},
                .flops = flops(build.node())});
  if (build.wants_gradient(1))
    build.task({.kernel = "GridSampleBackwardGrid",
                .kind = TaskKind::backward_data,
                .attributes = attributes,
                .operands = {build.read_input(0), build.read_input(1), build.read_gradient(0), build.write_gradient(1)},
                .flops = flops(build.node())});
}

std::vector<Sample> samples() {
  using Text = std::string;
  // Positions beyond the edges, too; with reflection, by more than the width of the image.
  const auto sample = [](std::string name, Dims x, Dims grid, Text mode, Text padding, int64_t align_corners,
                         double far) {
    return Sample{
        .name = std::move(name),
        .inputs = {{.dims = std::move(x)}, {.dims = std::move(grid), .low = -far, .high = far}},
        .attributes = {
            {"mode", std::move(mode)}, {"padding_mode", std::move(padding)}, {"align_corners", align_corners}}};
  };
  const Dims image = {kBatch, {3}, {5}, {4}}, places = {kBatch, {3}, {6}, {2}};
  const Dims volume = {kBatch, {2}, {3}, {4}, {3}}, in_volume = {kBatch, {2}, {3}, {4}, {3}};
  return {
      sample("zeros", image, places, "linear", "zeros", 0, 1.5),
      sample("corners", image, places, "linear", "zeros", 1, 1.5),
      sample("border", image, places, "linear", "border", 0, 1.5),
      sample("reflected", image, places, "linear", "reflection", 0, 4),
      sample("reflected_corners", image, places, "linear", "reflection", 1, 4),
      sample("nearest", image, places, "nearest", "border", 0, 1.5),
      sample("nearest_reflected", image, places, "nearest", "reflection", 1, 4),
      sample("larger", {kBatch, {19}, {9}, {7}}, {kBatch, {11}, {13}, {2}}, "linear", "zeros", 0, 1.2),
      sample("one_pixel", {kBatch, {2}, {1}, {1}}, places, "linear", "reflection", 1, 1.5),
      sample("volume", volume, in_volume, "linear", "zeros", 0, 1.3),
      sample("volume_reflected", volume, in_volume, "linear", "reflection", 0, 3),
      sample("cubic", image, places, "cubic", "zeros", 0, 1.5),
      sample("cubic_corners", image, places, "cubic", "zeros", 1, 1.5),
      sample("cubic_border", image, places, "cubic", "border", 0, 1.5),
      sample("cubic_reflected", image, places, "cubic", "reflection", 0, 4),
      sample("cubic_reflected_corners", image, places, "cubic", "reflection", 1, 4),
      sample("cubic_larger", {kBatch, {19}, {9}, {7}}, {kBatch, {11}, {13}, {2}}, "cubic", "border", 1, 1.2),
      {.name = "parameters",
       .inputs = {{.dims = {{2}, {3}, {5}, {4}}, .kind = ValueKind::parameter},
                  {.dims = {{2}, {3}, {3}, {2}}, .kind = ValueKind::parameter}}},
      {.name = "bilinear",
       .inputs = {{.dims = image}, {.dims = places}},
       .attributes = {{"mode", Text("bilinear")}},
       .opset = 16},
      {.name = "bicubic",
       .inputs = {{.dims = image}, {.dims = places, .low = -1.2, .high = 1.2}},
       .attributes = {{"mode", Text("bicubic")}},
       .opset = 16},
  };
}

// The last two names until opset 20.
constexpr std::string_view kModes[] = {"linear", "nearest", "cubic", "bilinear", "bicubic"};
constexpr std::string_view kPaddings[] = {"zeros", "border", "reflection"};

}  // namespace grid_sample

const Op op_GridSample{.name = "GridSample",
                       .first_opset = 16,
                       .required_inputs = 2,
                       .attributes = {attribute::integer("align_corners"), attribute::text("mode", grid_sample::kModes),
                                      attribute::text("padding_mode", grid_sample::kPaddings)},
                       .infer = grid_sample::infer,
                       .forward = grid_sample::forward,
                       .backward = grid_sample::backward,
                       .samples = grid_sample::samples};

}  // namespace plimsoll
