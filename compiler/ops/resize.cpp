// Resize: images at another height and width, by the nearest pixel or by interpolation of four.
//   ResizeForward {x, y}   ResizeBackward {dy, dx}
// Along each axis, output pixel o lies at start + o · step in the input, for every coordinate_transformation_mode; the
// kernels see only start and step. Opset 10 has scales only; along an axis that shrinks, its nearest pixel is the one
// after the position, and along others the one before it, as in ONNX's tests and onnxruntime. Since opset 18 `axes` may
// select a subset of the axes. An entry of -1 in sizes is the number of samples; no file contains it
// (compiler/network/simplify/builder.cpp).
#include <algorithm>
#include <cmath>

#include "compiler/ops/op.h"
#include "compiler/ops/reshaping.h"
#include "runtime/attrs/resize.h"

namespace plimsoll {
namespace resize {

// One axis of the input, and how it is resized.
struct Axis {
  int64_t in = 0, out = 0;
  double scale = 1;
};

constexpr int64_t kKeep = -1;

// One entry of `given` per axis: for the axes in `axes`; the other axes do not change.
Result<std::vector<double>> per_axis(const NodeView& node, const std::vector<double>& given, double kept) {
  const size_t rank = node.input_type(0).rank();
  std::vector<double> all(rank, kept);
  std::vector<size_t> axes(rank);
  for (size_t i = 0; i < rank; ++i) axes[i] = i;
  if (node.has("axes")) {
    axes.clear();
    for (const int64_t axis : node.integers("axes")) {
      PLIMSOLL_ASSIGN(const size_t at, axis_of(node, axis, rank));
      axes.push_back(at);
    }
  }
  if (given.size() != axes.size())
    return node.invalid(std::to_string(given.size()) + " scales or sizes are given for " + std::to_string(axes.size()) +
                        " axes");
  for (size_t i = 0; i < axes.size(); ++i) all[axes[i]] = given[i];
  return all;
}

Result<std::vector<Axis>> resized_axes(const NodeView& node) {
  const Dims& x = node.input_type(0).dims;
  const size_t scales_at = node.opset() < 11 ? 1 : 2;
  const auto scales = node.constant_reals(scales_at);
  const auto sizes = node.opset() < 11 ? std::nullopt : node.constant_integers(3);
  const bool has_scales = scales && !scales->empty(), has_sizes = sizes && !sizes->empty();
  if (!has_scales && !has_sizes) return node.unsupported("its scales and sizes are not known at compile time");
  if (has_scales && has_sizes) return node.invalid("has both scales and sizes, expected one");
  std::vector<Axis> axes;
  std::vector<double> given;
  if (has_sizes) {
    PLIMSOLL_ASSIGN(given, per_axis(node, {sizes->begin(), sizes->end()}, static_cast<double>(kKeep)));
  } else {
    PLIMSOLL_ASSIGN(given, per_axis(node, *scales, 1));
  }
  for (size_t i = 0; i < x.size(); ++i) {
    Axis axis{.in = x[i].value, .out = x[i].value};
    const bool kept =
        has_sizes ? static_cast<int64_t>(given[i]) == kKeep || (given[i] == static_cast<double>(axis.in) && !x[i].batch)
                  : given[i] == 1;
    if (!kept) {
      if (x[i].batch || i < 2)
        return node.unsupported("resizes axis " + std::to_string(i) + " of " + to_string(x) +
                                "; only spatial axes are supported");
      if (!(given[i] > 0 && given[i] < 1e9))
        return node.invalid("resizes axis " + std::to_string(i) + " by " + std::to_string(given[i]));
      axis.scale = has_sizes ? given[i] / static_cast<double>(axis.in) : given[i];
      axis.out = has_sizes ? static_cast<int64_t>(given[i])
                           : static_cast<int64_t>(std::floor(static_cast<double>(axis.in) * given[i]));
      if (axis.out < 1) return node.invalid("axis " + std::to_string(i) + " would have no pixels");
    }
    axes.push_back(axis);
  }
  return axes;
}

// The input position of output pixel o is start + o · step.
struct Line {
  double start = 0, step = 1;
};

Result<Line> line_of(const NodeView& node, const Axis& axis) {
  const std::string how = node.opset() < 11 ? "asymmetric" : node.text("coordinate_transformation_mode", "half_pixel");
  const double in = static_cast<double>(axis.in), out = static_cast<double>(axis.out), step = 1 / axis.scale;
  if (how == "asymmetric") return Line{0, step};
  if (how == "align_corners") return axis.out == 1 ? Line{0, 0} : Line{0, (in - 1) / (out - 1)};
  if (how == "pytorch_half_pixel" && axis.out == 1) return Line{0, 0};
  if (how == "half_pixel" || how == "pytorch_half_pixel") return Line{0.5 * step - 0.5, step};
  // Like half_pixel; the remainder from rounding the size is split between both sides.
  if (how == "half_pixel_symmetric") return Line{in / 2 * (1 - out / (axis.scale * in)) + 0.5 * step - 0.5, step};
  return node.unsupported("coordinate_transformation_mode " + how);
}

// compiler/network/simplify/spellings_resize.cpp writes one Resize for the axes that shrink, and one for the others.
Result<std::string> nearest_before_opset_11(const NodeView& node, const std::vector<Axis>& axes) {
  const auto any = [&](auto is) { return std::any_of(axes.begin(), axes.end(), is); };
  const bool shrinks = any([](const Axis& axis) { return axis.scale < 1; });
  if (shrinks && any([](const Axis& axis) { return axis.scale > 1; }))
    return node.unsupported("one axis shrinks and another grows");
  return std::string(shrinks ? "ceil" : "floor");
}

Result<ResizeAttrs> attrs_of(const NodeView& node) {
  PLIMSOLL_ASSIGN(const std::vector<Axis> axes, resized_axes(node));
  const Axis rows = axes.size() > 3 ? axes[axes.size() - 2] : Axis{1, 1, 1};
  PLIMSOLL_ASSIGN(const Line row, line_of(node, rows));
  PLIMSOLL_ASSIGN(const Line column, line_of(node, axes.back()));
  ResizeAttrs attrs{
      .row_start = row.start, .row_step = row.step, .column_start = column.start, .column_step = column.step};
  const std::string mode = node.text("mode", "nearest");
  std::string nearest = node.text("nearest_mode", "round_prefer_floor");
  if (mode == "linear") return attrs;
  if (mode != "nearest") return node.unsupported("mode " + mode + "; supported are nearest and linear");
  if (node.opset() < 11) {
    PLIMSOLL_ASSIGN(nearest, nearest_before_opset_11(node, axes));
  }
  if (nearest == "floor") attrs.nearest = ResizeAttrs::kFloor;
  else if (nearest == "ceil") attrs.nearest = ResizeAttrs::kCeil;
  else if (nearest == "round_prefer_floor") attrs.nearest = ResizeAttrs::kPreferFloor;
  else if (nearest == "round_prefer_ceil") attrs.nearest = ResizeAttrs::kPreferCeil;
  else return node.invalid("nearest_mode is '" + nearest + "'");
  return attrs;
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  const TensorType& x = node.input_type(0);
  if (x.type != DataType::f32) return node.unsupported("only f32 is supported, the input is " + to_string(x));
  if (x.rank() != 3 && x.rank() != 4)
    return node.unsupported("the input is " + to_string(x) + "; supported are [N, C, W] and [N, C, H, W]");
  if (node.integer("antialias", 0) != 0) return node.unsupported("antialias");
  if (node.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    return node.unsupported("keep_aspect_ratio_policy");
  if (node.integer("exclude_outside", 0) != 0) return node.unsupported("exclude_outside");
  PLIMSOLL_TRY(attrs_of(node));
  PLIMSOLL_ASSIGN(const std::vector<Axis> axes, resized_axes(node));
  TensorType y = x;
  for (size_t i = 0; i < axes.size(); ++i) y.dims[i].value = axes[i].out;
  return std::vector{y};
}

void task(TaskBuilder& build, const char* kernel, TaskKind kind, const Operand& from, const Operand& to) {
  build.task({.kernel = kernel,
              .kind = kind,
              .attributes = to_attributes(attrs_of(build.node()).value()),
              .operands = {from, to},
              .flops = flops_per_element(build.node().output_type(0), 8)});
}

// At scale 1 every mode is the identity.
bool resizes_nothing(const NodeView& node) { return node.input_type(0).dims == node.output_type(0).dims; }

void forward(TaskBuilder& build) {
  if (resizes_nothing(build.node())) return build.alias_output(0, 0);
  task(build, "ResizeForward", TaskKind::forward, build.read_input(0), build.write_output(0));
}

void backward(TaskBuilder& build) {
  if (resizes_nothing(build.node())) return backward_alias(build);
  task(build, "ResizeBackward", TaskKind::backward_data, build.read_gradient(0), build.write_gradient(0));
}

std::vector<Sample> samples() {
  using Text = std::string;
  const auto sample = [](std::string name, Dims x, std::vector<double> scales, std::vector<double> sizes,
                         std::map<std::string, NodeAttribute> attributes) {
    const auto list = [](const std::vector<double>& items, DataType type) {
      if (items.empty()) return SampleInput{.kind = ValueKind::constant};
      return SampleInput{
          .dims = {{static_cast<int64_t>(items.size())}}, .kind = ValueKind::constant, .constant = items, .type = type};
    };
    return Sample{.name = std::move(name),
                  .inputs = {{.dims = std::move(x)},
                             {.kind = ValueKind::constant},
                             list(scales, DataType::f32),
                             list(sizes, DataType::i64)},
                  .attributes = std::move(attributes)};
  };
  const Dims image = {kBatch, {3}, {5}, {4}};
  const NodeAttribute linear = Text("linear"), asymmetric = Text("asymmetric"), floor = Text("floor");
  return {
      sample("twice", image, {1, 1, 2, 2}, {},
             {{"coordinate_transformation_mode", asymmetric}, {"nearest_mode", floor}}),
      sample("linear", image, {1, 1, 2, 2}, {}, {{"mode", linear}}),
      sample("corners", image, {}, {-1, 3, 8, 9},
             {{"mode", linear}, {"coordinate_transformation_mode", Text("align_corners")}}),
      sample("smaller", image, {}, {-1, 3, 2, 3},
             {{"mode", linear}, {"coordinate_transformation_mode", Text("pytorch_half_pixel")}}),
      sample("rounded", image, {}, {-1, 3, 7, 3}, {{"nearest_mode", Text("round_prefer_ceil")}}),
      sample("symmetric", image, {1, 1, 1.3, 1.7}, {},
             {{"mode", linear}, {"coordinate_transformation_mode", Text("half_pixel_symmetric")}}),
      sample("one_pixel", {kBatch, {3}, {1}, {1}}, {}, {-1, 3, 4, 5}, {{"mode", linear}}),
      sample("series", {kBatch, {2}, {6}}, {1, 1, 1.5}, {}, {{"mode", linear}}),
      sample("blocked", {kBatch, {32}, {3}, {4}}, {1, 1, 2, 3}, {}, {{"mode", linear}}),
      sample("blocked_nearest", {kBatch, {16}, {3}, {4}}, {1, 1, 3, 2}, {}, {{"nearest_mode", Text("ceil")}}),
      sample("columns", image, {2}, {}, {{"axes", std::vector<int64_t>{3}}, {"mode", linear}}),
      sample("nothing", image, {1, 1, 1, 1}, {}, {}),
  };
}

constexpr std::string_view kModes[] = {"nearest", "linear", "cubic"};
constexpr std::string_view kRoundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
constexpr std::string_view kCoordinates[] = {"half_pixel",        "half_pixel_symmetric", "pytorch_half_pixel",
                                             "align_corners",     "asymmetric",           "tf_half_pixel_for_nn",
                                             "tf_crop_and_resize"};
constexpr std::string_view kPolicies[] = {"stretch", "not_larger", "not_smaller"};

}  // namespace resize

const Op op_Resize{.name = "Resize",
                   .first_opset = 7,  // before 10: rewritten from Upsample
                   .inputs = {Slot::data, Slot::constant, Slot::constant, Slot::sizes},
                   .attributes = {attribute::integer("antialias").since(18), attribute::integers("axes").since(18),
                                  attribute::text("coordinate_transformation_mode", resize::kCoordinates).since(11),
                                  attribute::real("cubic_coeff_a").since(11),
                                  attribute::integer("exclude_outside").since(11),
                                  attribute::real("extrapolation_value").since(11),
                                  attribute::text("keep_aspect_ratio_policy", resize::kPolicies).since(18),
                                  attribute::text("mode", resize::kModes),
                                  attribute::text("nearest_mode", resize::kRoundings).since(11)},
                   .infer = resize::infer,
                   .forward = resize::forward,
                   .backward = resize::backward,
                   .layout = LayoutRule::channels,
                   .samples = resize::samples};

}  // namespace plimsoll
