// Cast between f32, i32, i64 and u8; booleans are u8 in the arena.   CastTo {x, y}
// Casting a real number to an integer truncates it; casting to a boolean maps every nonzero value to 1. There is no
// gradient, because at least one of the types has none. compiler/import removes a Cast to the same type, and rewrites
// CastLike as Cast.
#include "compiler/ops/activation.h"
#include "compiler/ops/evaluate_elements.h"
#include "compiler/ops/whole.h"

namespace plimsoll {
namespace cast {

// onnx::TensorProto::DataType.
constexpr int64_t kFloat = 1, kUint8 = 2, kInt32 = 6, kInt64 = 7, kBool = 9;

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  const TensorType& x = node.input_type(0);
  switch (node.integer("to", 0)) {
    case kFloat: return std::vector{TensorType{DataType::f32, x.dims}};
    case kInt32: return std::vector{TensorType{DataType::i32, x.dims}};
    case kInt64: return std::vector{TensorType{DataType::i64, x.dims}};
    case kUint8: case kBool: return std::vector{TensorType{DataType::u8, x.dims}};
    default:
      return node.unsupported("converts to " + element_name(static_cast<ElementType>(node.integer("to", 0))) +
                              "; supported are f32, i32, i64, u8 and bool: export the model in float32");
  }
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  const bool truth = node.integer("to", 0) == kBool;
  if (!truth && node.input_type(0).type == node.output_type(0).type) return build.alias_output(0, 0);
  TaskSpec task{.kernel = "CastTo",
                .attributes = to_attributes(CastAttrs{.truth = truth}),
                .operands = {build.read_input(0), build.write_output(0)},
                .flops = flops_per_element(node.output_type(0), 1)};
  if (bytes_of(node.input_type(0).type) == bytes_of(node.output_type(0).type)) task.in_place.push_back({0, 1});
  build.task(std::move(task));
}

// For integers only: a value that the smaller type cannot represent is not a valid label, row or position.
std::optional<Moves> moves(const NodeView& node) {
  const auto whole = [](const TensorType& type) { return type.type == DataType::i32 || type.type == DataType::i64; };
  if (!whole(node.input_type(0)) || !whole(node.output_type(0))) return std::nullopt;
  Moves moves;
  for (size_t axis = 0; axis < node.output_type(0).rank(); ++axis) {
    moves.axis.push_back(static_cast<int64_t>(axis));
    moves.start.push_back(0);
    moves.step.push_back(1);
  }
  return moves;
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, DataType from, int64_t to, double low, double high) {
    return Sample{.name = std::move(name),
                  .inputs = {{.dims = {kBatch, {7}}, .type = from, .low = low, .high = high}},
                  .attributes = {{"to", to}}};
  };
  return {sample("mask", DataType::i64, kBool, 0, 3),      sample("mask_to_real", DataType::i64, kFloat, 0, 2),
          sample("truth", DataType::u8, kFloat, 0, 2),     sample("count", DataType::u8, kInt64, 0, 2),
          sample("narrow", DataType::i64, kInt32, -9, 9),  sample("wide", DataType::i32, kInt64, -9, 9),
          sample("cut_off", DataType::f32, kInt64, -9, 9), sample("set", DataType::f32, kBool, -1, 1),
          sample("bytes", DataType::u8, kBool, 0, 9)};
}

Known evaluate(const KnownCall& call) {
  const ModelAttribute* to = find_attribute(call.node, "to");
  return to && call.inputs.size() == 1 && call.known(0) ? cast_to(*call.known(0), to->element()) : std::nullopt;
}

std::optional<Progression> evaluate_spaced(const KnownCall& call, const Progression& first) {
  const ModelAttribute* to = find_attribute(call.node, "to");
  if (!to || (to->element() != ElementType::i64 && to->element() != ElementType::i32)) return std::nullopt;
  Progression made = first;
  made.element = to->element();
  return made;
}

}  // namespace cast

const Op op_Cast{.name = "Cast",
                 .first_opset = 6,
                 .attributes = {attribute::text("round_mode").since(24), attribute::integer("saturate").since(19),
                                attribute::integer("to")},
                 .element_type = "to",
                 .elements = Elements::shown,
                 .sample_numbers = SampleNumbers::kept,
                 .evaluate = cast::evaluate,
                 .evaluate_spaced = cast::evaluate_spaced,
                 .infer = cast::infer,
                 .forward = cast::forward,
                 .backward = zero_gradient,
                 .any_type = true,
                 .moves = cast::moves,
                 .samples = cast::samples};

}  // namespace plimsoll
