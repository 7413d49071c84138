// ScatterElements: a copy of x in which, along an axis, the element at each index is replaced by an update, or
// incremented by it.
//   ScatterElements {x, indices, updates, y}
//   dx = dy, but 0 where an update replaced x    ScatterElements {dy, indices, absent, dx}
//   dupdates = dy at the index                   GatherElementsForward {dy, indices, dupdates}
// ONNX forbids duplicate indices in a line unless updates are added.
#include <numeric>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/elements.h"
#include "compiler/ops/evaluate.h"

namespace plimsoll {
namespace scatter_elements {

bool adds(const NodeView& node) { return node.text("reduction", "none") == "add"; }

Result<std::vector<TensorType>> infer(const NodeView& node) {
  for (size_t i = 0; i < 3; ++i)
    if (!node.has_input(i)) return node.invalid("requires an input, indices and updates");
  const TensorType &x = node.input_type(0), &indices = node.input_type(1), &updates = node.input_type(2);
  PLIMSOLL_TRY(check_elements(node, indices));
  if (updates.type != x.type || updates.dims != indices.dims)
    return node.invalid("updates are " + to_string(updates) + " for indices " + to_string(indices) + " into " +
                        to_string(x));
  if (!adds(node) && node.text("reduction", "none") != "none")
    return node.unsupported("reduction '" + node.text("reduction", "") + "' is not supported; 'none' and 'add' are");
  return std::vector{TensorType{x.type, x.dims}};
}

Attributes attributes(const NodeView& node, bool add) {
  return to_attributes(ElementsAttrs{.axis = static_cast<int64_t>(elements_axis(node)), .add = add});
}

void forward(TaskBuilder& build) {
  const NodeView& node = build.node();
  build.bound_input(1, node.input_type(0).dims[elements_axis(node)].value);
  build.task({.kernel = "ScatterElements",
              .attributes = attributes(node, adds(node)),
              .operands = {build.read_input(0), build.read_input(1), build.read_input(2), build.write_output(0)},
              .in_place = {{0, 3}},
              .flops = flops_per_element(node.input_type(2), 1)});
}

void backward(TaskBuilder& build) {
  const NodeView& node = build.node();
  if (build.wants_gradient(2)) {
    const bool parameter = node.input(2).kind == ValueKind::parameter;
    const Operand picked = parameter ? build.write_scratch("picked", node.input_type(2)) : build.write_gradient(2);
    build.task({.kernel = "GatherElementsForward",
                .kind = TaskKind::backward_data,
                .attributes = attributes(node, false),
                .operands = {build.read_gradient(0), build.read_input(1), picked}});
    if (parameter) give_summed_gradient(build, 2, picked);
  }
  if (!build.wants_gradient(0)) return;
  if (adds(node)) return give_summed_gradient(build, 0, build.read_gradient(0));
  const bool parameter = node.input(0).kind == ValueKind::parameter;
  const Operand kept = parameter ? build.write_scratch("kept", node.input_type(0)) : build.write_gradient(0);
  build.task({.kernel = "ScatterElements",
              .kind = TaskKind::backward_data,
              .attributes = attributes(node, false),
              .operands = {build.read_gradient(0), build.read_input(1), Operand{}, kept},
              .in_place = {{0, 3}}});
  if (parameter) give_summed_gradient(build, 0, kept);
}

std::vector<Sample> samples() {
  // One index per line, or several if updates are added: no element is replaced twice.
  const auto sample = [](std::string name, SampleInput x, SampleInput updates, std::string reduction, int64_t axis,
                         double rows) {
    const Dims dims = updates.dims;
    return Sample{
        .name = std::move(name),
        .inputs = {std::move(x), {.dims = dims, .type = DataType::i64, .low = -rows, .high = rows}, std::move(updates)},
        .attributes = {{"axis", axis}, {"reduction", std::move(reduction)}}};
  };
  const SampleInput words{.dims = {kBatch, {5}, {3}}};
  return {sample("written", words, {.dims = {kBatch, {1}, {3}}}, "none", 1, 5),
          sample("added", words, {.dims = {kBatch, {5}, {4}}}, "add", -1, 3),
          sample("parameters", {.dims = {{4}, {3}}, .kind = ValueKind::parameter},
                 {.dims = {{4}, {1}}, .kind = ValueKind::parameter}, "none", 1, 3),
          sample("ids", {.dims = {kBatch, {5}}, .type = DataType::i64, .low = -9, .high = 9},
                 {.dims = {kBatch, {1}}, .type = DataType::i64, .low = -9, .high = 9}, "none", 1, 5)};
}

// For masks that forward() makes from a constant table of indices: mask[order[:n]] = 0.
Known evaluate(const KnownCall& call) {
  const KnownValue *data = call.known(0), *indices = call.known(1), *updates = call.known(2);
  const ModelAttribute* const reduction = find_attribute(call.node, "reduction");
  const bool add = reduction && reduction->text() == "add";
  if (!data || !indices || !updates || (reduction && !add && reduction->text() != "none")) return std::nullopt;
  for (const KnownValue* known : {data, indices, updates})
    if (!known->elements() || *known->elements() > kKnownLimit || !known->steps.empty() || !known->probes.empty())
      return std::nullopt;
  const auto places = constants::places_along(data->dims, *indices, call.integer("axis", 0));
  if (!places || updates->dims != indices->dims || updates->real() != data->real()) return std::nullopt;
  std::vector<size_t> all(static_cast<size_t>(*data->elements()));
  std::iota(all.begin(), all.end(), size_t{0});
  KnownValue known = constants::picked(*data, data->dims, all);
  for (size_t i = 0; i < places->size(); ++i) {
    const size_t at = (*places)[i];
    if (known.real()) {
      const double sum = add ? known.reals[at] + updates->number(i) : updates->number(i);
      known.reals[at] = constants::rounded(sum, known.element);
    } else if (!add) {
      known.ints[at] = updates->integer(i);
    } else if (known.ints[at].batch || updates->integer(i).batch ||
               __builtin_add_overflow(known.ints[at].value, updates->integer(i).value, &known.ints[at].value)) {
      return std::nullopt;
    }
  }
  return known;
}

}  // namespace scatter_elements

const Op op_ScatterElements{.name = "ScatterElements",
                            .first_opset = 11,
                            .required_inputs = 3,
                            .attributes = {attribute::integer("axis"),
                                           attribute::text("reduction", attribute::kUpdates).since(16)},
                            .samples_rule = SamplesRule::first_input,
                            .without_gradient = {1},
                            .evaluate = scatter_elements::evaluate,
                            .infer = scatter_elements::infer,
                            .forward = scatter_elements::forward,
                            .backward = scatter_elements::backward,
                            .any_type = true,
                            .samples = scatter_elements::samples};

}  // namespace plimsoll
