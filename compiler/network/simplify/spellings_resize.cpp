// Resize with cubic interpolation, or with antialiasing: every row of the result is a sum of input rows with factors
// known at compile time, and so is every column. So it is a product with a constant matrix for each resized axis.
//
// Resize of images whose channels are last becomes one of images whose channels are the second axis, which has kernels:
//
//   [N, H, W, C] ─► [N, C, H, W]   height and width   [N, C, h, w] ─► [N, h, w, C]
//
// A product with a matrix needs no such transpositions: [N, H, W, C] is [N, H, W·C] for it.
//
// Before opset 11, a nearest Resize rounds up along axes that shrink, and down along others: an image of which one axis
// shrinks and the other grows is resized in two nodes.
//
// Upsample, the name before opset 10, becomes Resize as opset 10 defines it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/network/simplify/spelling_writer.h"

namespace plimsoll::spelling {
namespace {

struct ResizedAxis {
  int64_t in = 0, out = 0;
  double scale = 1;
};

// Only the last two axes may change, or the two before the last. nullopt: unknown, or other axes change; the operator
// reports the error.
std::optional<std::vector<ResizedAxis>> resized_axes_of(const Writer& w) {
  const Dims& x = w.x();
  const KnownValue *scales = w.known(2), *sizes = w.known(3);
  const bool by_scale = scales && scales->real() && scales->elements().value_or(0) > 0;
  const KnownValue* given = by_scale ? scales : sizes;
  if (!given || given->dims.size() != 1 || given->elements() != static_cast<int64_t>(x.size())) return std::nullopt;
  if (find_attribute(w.node(), "axes") || w.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    return std::nullopt;
  std::vector<ResizedAxis> axes;
  for (size_t i = 0; i < x.size(); ++i) {
    ResizedAxis axis{.in = x[i].value, .out = x[i].value};
    if (by_scale) {
      axis.scale = scales->number(i);
      axis.out = static_cast<int64_t>(std::floor(static_cast<double>(axis.in) * axis.scale));
    } else {
      const Dim size = sizes->integer(i);
      const bool example =
          x[i].batch && !size.batch && w.exported_batch() && size.value == x[i].value * *w.exported_batch();
      if (size.batch != x[i].batch && !example) return std::nullopt;
      if (!example) axis.out = size.value;
      axis.scale = static_cast<double>(axis.out) / static_cast<double>(axis.in);
    }
    if (axis.out < 1 || (axis.scale != 1 && x[i].batch)) return std::nullopt;
    axes.push_back(axis);
  }
  if (axes.size() < 2) return std::nullopt;
  const bool channels_last = axes.back().scale == 1 && axes.size() > 2;
  const auto kept = std::ssize(axes) - (channels_last ? 3 : 2);
  const bool others = std::any_of(axes.begin(), axes.begin() + kept, [](const ResizedAxis& a) { return a.scale != 1; });
  return others ? std::nullopt : std::optional(std::move(axes));
}

// The input position of the result's element `o`. nullopt: an unsupported mode.
std::optional<double> place_in_input(const Writer& w, const ResizedAxis& axis, int64_t o) {
  const std::string how = w.text("coordinate_transformation_mode", "half_pixel");
  const double in = static_cast<double>(axis.in), out = static_cast<double>(axis.out), at = static_cast<double>(o);
  if (how == "asymmetric") return at / axis.scale;
  if (how == "align_corners") return axis.out == 1 ? 0 : at * (in - 1) / (out - 1);
  if (how == "pytorch_half_pixel" && axis.out == 1) return 0;
  if (how == "half_pixel" || how == "pytorch_half_pixel") return (at + 0.5) / axis.scale - 0.5;
  if (how == "half_pixel_symmetric") return in / 2 * (1 - out / (axis.scale * in)) + (at + 0.5) / axis.scale - 0.5;
  return std::nullopt;
}

// The weight of a pixel at this distance: Keys' cubic, or a triangle.
double weight_of(bool cubic, double a, double distance) {
  const double d = std::abs(distance);
  if (!cubic) return std::max(0.0, 1 - d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// [out, in], or [in, out] if turned.
std::optional<KnownValue> matrix_of(const Writer& w, const ResizedAxis& axis, bool turned) {
  const bool cubic = w.text("mode", "nearest") == "cubic", outside = w.integer("exclude_outside", 0) == 0;
  const double a = static_cast<double>(w.real("cubic_coeff_a", -0.75F)),
               squeezed = w.integer("antialias", 0) != 0 ? std::min(axis.scale, 1.0) : 1;
  if (axis.in > kKnownLimit / axis.out) return std::nullopt;
  KnownValue matrix{.dims = turned ? Dims{{axis.in}, {axis.out}} : Dims{{axis.out}, {axis.in}}};
  matrix.reals.assign(static_cast<size_t>(axis.in * axis.out), 0);
  const double reach = (cubic ? 2 : 1) / squeezed;
  for (int64_t o = 0; o < axis.out; ++o) {
    const auto place = place_in_input(w, axis, o);
    if (!place) return std::nullopt;
    std::vector<double> row(static_cast<size_t>(axis.in), 0);
    double sum = 0;
    for (int64_t i = static_cast<int64_t>(std::floor(*place - reach));
         i <= static_cast<int64_t>(std::ceil(*place + reach)); ++i) {
      if (!outside && (i < 0 || i >= axis.in)) continue;
      const double weight = weight_of(cubic, a, (static_cast<double>(i) - *place) * squeezed);
      row[static_cast<size_t>(std::clamp<int64_t>(i, 0, axis.in - 1))] += weight;
      sum += weight;
    }
    for (int64_t i = 0; i < axis.in; ++i)
      matrix.reals[static_cast<size_t>(turned ? i * axis.out + o : o * axis.in + i)] =
          constants::rounded(row[static_cast<size_t>(i)] / sum, matrix.element);
  }
  return matrix;
}

// The scales or sizes; nullptr: unknown.
const KnownValue* scales_or_sizes(const Writer& w) {
  const KnownValue* scales = w.known(w.opset() < 11 ? 1 : 2);
  return scales && scales->real() && scales->elements().value_or(0) > 0 ? scales : w.known(3);
}

// Whether axis 1 of an image changes, and neither the samples nor the last axis do.
bool has_channels_last(const Writer& w, const KnownValue* given) {
  constexpr size_t kImageRank = 4;
  const Dims& x = w.x();
  if (x.size() != kImageRank || !given || given->dims != Dims{{kImageRank}} || find_attribute(w.node(), "axes") ||
      w.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize")
    return false;
  const auto changes = [&](size_t axis) {
    if (given->real()) return given->number(axis) != 1;
    // The number of samples may be that of the example.
    return axis > 0 && given->integer(axis) != x[axis];
  };
  return changes(1) && !changes(0) && !changes(kImageRank - 1);
}

Nodes resize_channels_last(Writer& w, const KnownValue& given) {
  const size_t order[] = {0, 3, 1, 2};
  KnownValue turned{.element = given.element, .dims = given.dims};
  for (const size_t axis : order) {
    if (given.real()) turned.reals.push_back(given.number(axis));
    else turned.ints.push_back(axis == 0 ? Dim{-1} : given.integer(axis));
  }
  const std::string images = w.write("Transpose", {w.input(0)}, "perm", {0, 3, 1, 2});
  const std::string resized = resize_images(w, images, turned);
  w.write("Transpose", {resized}, "perm", {0, 2, 3, 1});
  return w.finish();
}

void write_one_resize(Writer& w, const std::string& x, const KnownValue& given) {
  const std::string numbers = w.constant(given);
  std::vector<std::string> inputs = {x};
  if (w.opset() >= 11) inputs.emplace_back();  // the region of interest
  if (!given.real()) inputs.emplace_back();
  inputs.push_back(numbers);
  w.write("Resize", inputs);
  for (const ModelAttribute& attribute : w.node().attributes)
    if (attribute.name != "scales") w.take_over(attribute);
}

// Whether a nearest Resize rounds both up and down.
bool rounds_both_ways(const Writer& w, const KnownValue* given) {
  if (w.opset() >= 11 || w.text("mode", "nearest") != "nearest" || !given || !given->real()) return false;
  const auto count = given->elements().value_or(0);
  bool shrinks = false, grows = false;
  for (int64_t i = 0; i < count; ++i) {
    const double scale = given->number(static_cast<size_t>(i));
    shrinks |= scale < 1;
    grows |= scale > 1;
  }
  return shrinks && grows;
}

// The value with the axis i at its new size.
std::optional<std::string> resize_by_product(Writer& w, const std::string& x, const std::vector<ResizedAxis>& axes,
                                             size_t i) {
  const bool last = i + 1 == axes.size();
  const auto matrix = matrix_of(w, axes[i], last);
  if (!matrix) return std::nullopt;
  const std::string factors = w.constant(*matrix);
  if (last) return w.write("MatMul", {x, factors});
  if (i + 2 == axes.size()) return w.write("MatMul", {factors, x});
  Ints rows(i, 0), whole(i, 0);  // 0: the dimension does not change
  rows.insert(rows.end(), {axes[i].in, -1});
  for (size_t k = i; k < axes.size(); ++k) whole.push_back(axes[k].out);
  const std::string product = w.write("MatMul", {factors, w.write("Reshape", {x}, "shape", rows)});
  return w.write("Reshape", {product}, "shape", whole);
}

}  // namespace

// One Resize with the attributes of the node, or two.
std::string resize_images(Writer& w, const std::string& x, const KnownValue& given) {
  if (!rounds_both_ways(w, &given)) {
    write_one_resize(w, x, given);
    return w.last();
  }
  std::string value = x;
  for (const bool shrinking : {true, false}) {
    KnownValue part{.element = given.element, .dims = given.dims};
    for (size_t i = 0; i < static_cast<size_t>(given.elements().value_or(0)); ++i)
      part.reals.push_back((given.number(i) < 1) == shrinking ? given.number(i) : 1);
    write_one_resize(w, value, part);
    value = w.last();
  }
  return value;
}

// The scales are an attribute in opset 7, an input in opset 9.
Result<Nodes> upsample(Writer& w) {
  const KnownValue* scales = w.known(1);
  KnownValue known{.element = ElementType::f32};
  if (const ModelAttribute* listed = find_attribute(w.node(), "scales")) {
    known.dims = {{static_cast<int64_t>(listed->reals().size())}};
    known.reals.assign(listed->reals().begin(), listed->reals().end());
    scales = &known;
  }
  if (!scales) return w.unsupported("its scales are not known at compile time");
  if (w.x().size() == 5) return resize_volume(w, scales);
  const std::string mode = w.text("mode", "nearest");
  w.write("Resize", {w.input(0), w.constant(*scales)});
  w.set_text("mode", mode == "bilinear" ? "linear" : mode);  // the name that some exporters write
  return w.finish();
}

Result<Nodes> resize(Writer& w) {
  const std::string mode = w.text("mode", "nearest");
  const KnownValue* given = scales_or_sizes(w);
  if (w.x().size() == 5) return resize_volume(w, given);
  if (mode != "cubic" && !(mode == "linear" && w.integer("antialias", 0) != 0)) {
    if (has_channels_last(w, given)) return resize_channels_last(w, *given);
    if (!rounds_both_ways(w, given)) return Nodes{};
    resize_images(w, w.input(0), *given);
    return w.finish();
  }
  const auto axes = w.opset() < 11 ? std::nullopt : resized_axes_of(w);
  if (!axes) return Nodes{};
  std::string value = w.input(0);
  for (size_t i = axes->size(); i-- > 0;) {
    if ((*axes)[i].scale == 1) continue;
    const auto resized = resize_by_product(w, value, *axes, i);
    if (!resized) return Nodes{};
    value = *resized;
  }
  if (value == w.input(0)) w.write("Identity", {value});
  return w.finish();
}

}  // namespace plimsoll::spelling
