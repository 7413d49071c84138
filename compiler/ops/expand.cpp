// Expand: x broadcast to a shape known at compile time (a class token for every sample).   BroadcastTo {x, y}
// The gradient is summed over the broadcast dimensions, samples included. An entry of -1 is the number of samples; no
// file contains it (compiler/network/simplify/builder.cpp).
#include <algorithm>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/dims.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reshaping.h"
#include "compiler/ops/whole.h"
#include "runtime/attrs/scale.h"

namespace plimsoll {
namespace expand {

Result<std::vector<TensorType>> infer(const NodeView& node) {
  if (!node.has_input(0)) return node.invalid("requires an input");
  const TensorType& x = node.input_type(0);
  const auto target = node.constant_integers(1);
  if (!target) return node.unsupported("the shape (input 1) is not known at compile time");
  Dims shape;
  for (const int64_t entry : *target) shape.push_back(entry == -1 ? kBatch : Dim{entry});
  PLIMSOLL_ASSIGN(const Dims dims, broadcast(node, x.dims, shape));
  return std::vector{TensorType{x.type, dims}};
}

bool stretches(const NodeView& node) { return node.input_type(0).elements() != node.output_type(0).elements(); }

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  if (!stretches(node)) return forward_alias(build);
  if (is_whole_input(node)) {
    const Dims &x = node.input_type(0).dims, &y = node.output_type(0).dims;
    MoveAttrs attrs = as_it_is(x.size());
    attrs.order = attrs.steps = {};
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t in_front = y.size() - x.size();
      const bool walks = i >= in_front && x[i - in_front] == y[i];
      attrs.order.push_back(walks ? static_cast<int64_t>(i - in_front) : -1);
      attrs.steps.push_back(1);
    }
    return move_elements(build, attrs);
  }
  build.task({.kernel = "BroadcastTo", .operands = {build.read_input(0), build.write_output(0)}});
}

void backward(TaskBuilder& build) {
  if (!stretches(build.node())) return backward_alias(build);
  give_summed_gradient(build, 0, build.read_gradient(0));
}

std::vector<Sample> samples() {
  const auto sample = [](std::string name, Dims dims, ValueKind kind, std::vector<double> target) {
    return Sample{.name = std::move(name),
                  .inputs = {{.dims = std::move(dims), .kind = kind},
                             {.dims = {{static_cast<int64_t>(target.size())}},
                              .kind = ValueKind::constant,
                              .constant = target,
                              .type = DataType::i64}}};
  };
  return {sample("class_token", {{1}, {1}, {5}}, ValueKind::parameter, {-1, 1, 5}),
          sample("column", {kBatch, {3}, {1}}, ValueKind::intermediate, {1, 1, 4}),
          sample("row", {{5}}, ValueKind::parameter, {-1, 2, 5}),
          {.name = "mask",
           .inputs = {{.dims = {kBatch, {1}, {1}, {5}}, .type = DataType::u8, .low = 0, .high = 2},
                      {.dims = {{4}}, .kind = ValueKind::constant, .constant = {1, 2, 3, 5}, .type = DataType::i64}}},
          {.name = "ids",
           .inputs = {{.dims = {{1}, {5}}, .kind = ValueKind::input, .type = DataType::i64, .low = -9, .high = 9},
                      {.dims = {{2}}, .kind = ValueKind::constant, .constant = {-1, 5}, .type = DataType::i64}}},
          sample("as_it_is", {kBatch, {3}}, ValueKind::intermediate, {1, 1, 3})};
}

Known evaluate(const KnownCall& call) {
  const KnownValue* data = call.known(0);
  const auto wanted = constants::items(call.known(1));
  if (!data || !wanted) return std::nullopt;
  if (data->elements() == 1 && wanted->size() >= data->dims.size()) {  // of any size, including the batch's
    if (std::any_of(wanted->begin(), wanted->end(), [](Dim dim) { return dim.value < 0; })) return std::nullopt;
    return constants::reshaped(*data, *wanted);
  }
  const auto dims = constants::broadcast({&data->dims, &*wanted});
  if (!dims) return std::nullopt;
  if (data->splat()) return constants::reshaped(*data, *dims);
  return constants::picked(*data, *dims, constants::broadcast_indices(data->dims, *dims));
}

std::optional<Progression> evaluate_spaced(const KnownCall& call, const Progression& first) {
  const auto wanted = constants::items(call.known(1));
  if (!wanted) return std::nullopt;
  const Result<Dims> dims = dims::broadcast(first.dims, *wanted);
  return dims.ok() ? spaced::broadcast(first, *dims) : std::nullopt;
}

}  // namespace expand

const Op op_Expand{.name = "Expand",
                   .first_opset = 8,
                   .inputs = {Slot::data, Slot::shape},
                   .required_inputs = 2,
                   .elements = Elements::shown,
                   .sample_numbers = SampleNumbers::kept,
                   .axes = AxesRule::changed,
                   .evaluate = expand::evaluate,
                   .evaluate_spaced = expand::evaluate_spaced,
                   .infer = expand::infer,
                   .forward = expand::forward,
                   .backward = expand::backward,
                   .any_type = true,
                   .samples = expand::samples};

}  // namespace plimsoll
