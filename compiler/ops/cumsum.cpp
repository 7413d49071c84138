// CumSum along an axis known at compile time, for f32, i32 or i64.   CumulativeSum {x, y}
// The gradient is the cumulative sum in the opposite direction.
#include <numeric>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reshaping.h"
#include "compiler/ops/whole.h"
#include "runtime/attrs/cumulative.h"

namespace plimsoll {
namespace cumsum {

Result<Dims> view_of(const NodeView& node) {
  const Dims& x = node.input_type(0).dims;
  const auto given = node.constant_integers(1);
  if (!given || given->size() != 1) return node.unsupported("the axis (input 1) is not known at compile time");
  PLIMSOLL_ASSIGN(const size_t axis, axis_of(node, (*given)[0], x.size()));
  if (x[axis].batch) return node.unsupported("sums over the batch of " + to_string(x));
  PLIMSOLL_ASSIGN(const Dim outer, product_of(node, x, 0, axis));
  PLIMSOLL_ASSIGN(const Dim inner, product_of(node, x, axis + 1, x.size()));
  return Dims{outer, x[axis], inner};
}

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  if (node.input_type(0).type == DataType::u8)
    return node.unsupported("only f32, i32 and i64 are supported, the input is " + to_string(node.input_type(0)));
  PLIMSOLL_TRY(view_of(node));
  return std::vector{TensorType{node.input_type(0).type, node.input_type(0).dims}};
}

CumulativeSumAttrs attrs_of(const NodeView& node) {
  return {.exclusive = node.integer("exclusive", 0) != 0, .reverse = node.integer("reverse", 0) != 0};
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const Dims view = view_of(node).value();
  build.task({.kernel = "CumulativeSum",
              .attributes = to_attributes(attrs_of(node)),
              .operands = {viewed(build.read_input(0), view), viewed(build.write_output(0), view)},
              .in_place = {{0, 1}},
              .flops = flops_per_element(node.output_type(0), 1)});
}

void backward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const Dims view = view_of(node).value();
  CumulativeSumAttrs attrs = attrs_of(node);
  attrs.reverse = !attrs.reverse;
  build.task({.kernel = "CumulativeSum",
              .kind = node.input(0).kind == ValueKind::parameter ? TaskKind::backward_weights : TaskKind::backward_data,
              .attributes = to_attributes(attrs),
              .operands = {viewed(build.read_gradient(0), view), viewed(build.write_gradient(0), view)},
              .in_place = {{0, 1}},
              .flops = flops_per_element(node.output_type(0), 1)});
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, SampleInput x, double axis, int64_t exclusive, int64_t reverse) {
    return Sample{.name = std::move(name),
                  .inputs = {std::move(x), {.kind = ValueKind::constant, .constant = {axis}, .type = DataType::i64}},
                  .attributes = {{"exclusive", exclusive}, {"reverse", reverse}}};
  };
  const SampleInput words{.dims = {kBatch, {5}, {3}}};
  return {sample("steps", words, 1, 0, 0),
          sample("exclusive", words, 1, 1, 0),
          sample("reverse", words, -1, 0, 1),
          sample("both", words, 1, 1, 1),
          sample("parameter", {.dims = {{4}, {3}}, .kind = ValueKind::parameter}, 0, 0, 0),
          sample("positions", {.dims = {kBatch, {9}}, .type = DataType::i64, .low = 0, .high = 2}, 1, 0, 0),
          sample("narrow", {.dims = {kBatch, {9}}, .type = DataType::i32, .low = -9, .high = 9}, -1, 1, 0)};
}

Known evaluate(const KnownCall& call) {
  const KnownValue *data = call.known(0), *along = call.known(1);
  if (!data || !along || along->real() || along->elements() != 1 || along->integer(0).batch || !data->elements() ||
      *data->elements() > kKnownLimit)
    return std::nullopt;
  const auto axis = constants::axis_of(along->integer(0).value, data->dims.size());
  if (!axis) return std::nullopt;
  const constants::Extents e = constants::extents(data->dims, *axis);
  const bool exclusive = call.integer("exclusive", 0) != 0, reverse = call.integer("reverse", 0) != 0;
  std::vector<size_t> all(static_cast<size_t>(*data->elements()));
  std::iota(all.begin(), all.end(), size_t{0});
  KnownValue known = constants::picked(*data, data->dims, all);
  for (size_t outer = 0; outer < e.outer; ++outer)
    for (size_t inner = 0; inner < e.inner; ++inner) {
      double real = 0;
      int64_t whole = 0;
      for (size_t step = 0; step < e.at; ++step) {
        const size_t i = (outer * e.at + (reverse ? e.at - 1 - step : step)) * e.inner + inner;
        if (known.real()) {
          const double item = data->number(i), before = real;
          real = constants::rounded(real + item, known.element);
          known.reals[i] = exclusive ? before : real;
        } else {
          const Dim item = data->integer(i);
          const int64_t before = whole;
          if (item.batch || __builtin_add_overflow(whole, item.value, &whole)) return std::nullopt;
          known.ints[i] = {exclusive ? before : whole};
        }
      }
    }
  return known;
}

}  // namespace cumsum

const Op op_CumSum{.name = "CumSum",
                   .first_opset = 11,
                   .inputs = {Slot::data, Slot::constant},
                   .attributes = {attribute::integer("exclusive"), attribute::integer("reverse")},
                   .evaluate = cumsum::evaluate,
                   .infer = cumsum::infer,
                   .forward = cumsum::forward,
                   .backward = cumsum::backward,
                   .any_type = true,
                   .precision = PrecisionRule::single,
                   .samples = cumsum::samples};

}  // namespace plimsoll
