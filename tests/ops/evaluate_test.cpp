// Op::evaluate computes the same as the kernels, on every sample of every operator that can be evaluated.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "compiler/ops/slice_range.h"
#include "executor.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

ElementType element_of(const Op& op, DataType type) {
  switch (type) {
    case DataType::f32: return ElementType::f32;
    case DataType::i32: return ElementType::i32;
    case DataType::i64: return ElementType::i64;
    default: return op.element_type.empty() ? ElementType::boolean : ElementType::u8;
  }
}

KnownValue known_of(const Op& op, const TensorType& type, const std::vector<double>& numbers) {
  KnownValue known{.element = element_of(op, type.type)};
  for (const Dim dim : type.dims) known.dims.push_back({dim.at(kSamples)});
  for (const double number : numbers) {
    if (known.real()) known.reals.push_back(number);
    else known.ints.push_back({static_cast<int64_t>(number)});
  }
  return known;
}

// The node as it would be in a file.
ModelNode model_node_of(const Op& op, const Sample& sample, size_t inputs) {
  ModelNode node{
      .op = std::string(op.name), .name = "node", .inputs = std::vector<std::string>(inputs, "x"), .outputs = {"y"}};
  for (const auto& [name, value] : sample.attributes) {
    ModelAttribute attribute{.name = name};
    if (const auto* whole = std::get_if<int64_t>(&value)) attribute.value = *whole;
    else if (const auto* real = std::get_if<double>(&value)) attribute.value = static_cast<float>(*real);
    else if (const auto* text = std::get_if<std::string>(&value)) attribute.value = *text;
    else if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) attribute.value = *list;
    node.attributes.push_back(std::move(attribute));
  }
  return node;
}

// The number of the operator's samples that are evaluated and agree.
bool agrees(const Op& op, const Sample& sample) {
  const Instance instance = make_instance(op, sample);
  std::vector<KnownValue> known(instance.inputs.size());
  std::vector<KnownInput> inputs(instance.inputs.size());
  ModelNode node = model_node_of(op, sample, inputs.size());
  const std::map<TensorId, Values>& given = instance.given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId id = instance.inputs[i];
    if (!id.valid()) {
      node.inputs[i].clear();
      continue;
    }
    const Value& value = instance.network.values[id];
    if (value.constant) {
      known[i] = known_of(op, value.type, value.constant->reals);
      for (const int64_t item : value.constant->ints) {
        if (known[i].real()) return false;
        known[i].ints.push_back({item});
      }
    } else {
      const Values& numbers = given.at(instance.tensor_of.at(id));
      known[i] = known_of(op, value.type, {numbers.begin(), numbers.end()});
    }
    inputs[i] = {.known = &known[i], .dims = &known[i].dims, .element = known[i].element};
  }
  const Known made = op.evaluate({node, sample.opset, inputs});
  if (!made) return false;

  Executor executor(instance, kSamples);
  const Buffers buffers = executor.run(given, true);
  const ValueId output = instance.outputs[0];
  const Values expected = executor.values(buffers, instance.tensor_of.at(output), instance.type_of(output));
  Dims dims;
  for (const Dim dim : instance.type_of(output).dims) dims.push_back({dim.at(kSamples)});
  CHECK(made->dims == dims);
  CHECK(data_type_of(made->element) == instance.type_of(output).type);
  REQUIRE(made->elements() == static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    const double item = made->real() ? made->number(i) : static_cast<double>(made->integer(i).value),
                 other = expected[i];
    if (std::isnan(item) && std::isnan(other)) continue;
    CHECK(item == Approx(other).epsilon(1e-5).margin(1e-6));
  }
  return true;
}

// The output dimensions of a node whose other inputs are constant lists: by infer, and by evaluating zeros of these
// dimensions. nullopt: rejected.
struct BothWays {
  std::optional<Dims> inferred, evaluated;

  BothWays(const Op& op, Dims dims, const std::vector<std::vector<int64_t>>& lists,
           const std::map<std::string, NodeAttribute>& attributes = {}) {
    int64_t elements = 1;
    for (const Dim dim : dims) elements *= dim.value;
    std::vector<KnownValue> known = {{.dims = dims, .reals = std::vector<double>(static_cast<size_t>(elements))}};
    Network network;
    Node node{.name = "node", .op = std::string(op.name), .opset = 20, .attributes = attributes};
    node.inputs.push_back(network.values.push_back({.name = "x", .type = {.dims = std::move(dims)}}));
    for (const std::vector<int64_t>& list : lists) {
      known.push_back({.element = ElementType::i64, .dims = {{static_cast<int64_t>(list.size())}}});
      for (const int64_t item : list) known.back().ints.push_back({item});
      Value constant{.name = "list", .kind = ValueKind::constant, .type = {DataType::i64, known.back().dims}};
      constant.constant = ConstantData{.ints = list};
      node.inputs.push_back(network.values.push_back(std::move(constant)));
    }
    network.nodes.push_back(node);
    const auto types = op.infer(NodeView(network, network.nodes.back()));
    if (types.ok()) inferred = (*types)[0].dims;
    const ModelNode source = model_node_of(op, {.attributes = attributes}, known.size());
    std::vector<KnownInput> inputs;
    for (const KnownValue& value : known) inputs.push_back({&value, &value.dims, value.element});
    if (const Known made = op.evaluate({source, 20, inputs})) evaluated = made->dims;
  }
};

}  // namespace

TEST_CASE("what is evaluated while compiling is what kernels compute") {
  std::set<std::string_view> evaluated, agreeing;
  for (const Op* op : all_ops()) {
    if (!op->evaluate || !op->of_onnx()) continue;
    evaluated.insert(op->name);
    for (const Sample& sample : op->samples()) {
      if (sample.marks != NodeMarks{}) continue;
      INFO(op->name << ", " << sample.name);
      if (agrees(*op, sample)) agreeing.insert(op->name);
    }
  }
  // Samples of these have real elements, or shapes that express the batch in their own way.
  for (const std::string_view name : {"Expand", "Reshape", "ReduceProd"}) evaluated.erase(name);
  for (const std::string_view name : agreeing) evaluated.erase(name);
  CAPTURE(std::vector<std::string_view>(evaluated.begin(), evaluated.end()));
  CHECK(evaluated.empty());
}

TEST_CASE("bounds of a slice as ONNX has them") {
  const auto range = [](int64_t start, int64_t end, int64_t step, int64_t size) {
    const SliceRange made = slice_range(start, end, step, size);
    return std::pair(made.first, made.count);
  };
  using Pair = std::pair<int64_t, int64_t>;
  CHECK(range(0, 5, 1, 5) == Pair(0, 5));
  CHECK(range(-2, INT64_MAX, 1, 5) == Pair(3, 2));
  CHECK(range(1, -1, 2, 5) == Pair(1, 2));
  CHECK(range(-1, INT64_MIN, -1, 5) == Pair(4, 5));
  CHECK(range(INT64_MAX, INT64_MIN, INT64_MIN, 5) == Pair(4, 1));
  CHECK(range(INT64_MIN, INT64_MAX, INT64_MAX, 5) == Pair(0, 1));
  CHECK(range(3, 3, 1, 5).second == 0);
  CHECK(range(0, 9, 1, 0).second == 0);
  CHECK(range(0, -9, -1, 0).second == 0);
  // A start before the first element is the first element, in both directions (in NumPy nothing would remain).
  CHECK(range(-100, INT64_MIN, -1, 3) == Pair(0, 1));
}

TEST_CASE("infer and evaluate make the same dimensions, and refuse the same") {
  using Ints = std::vector<int64_t>;
  const std::optional<Dims> refused;
  const auto both = [](const BothWays& ways, const std::optional<Dims>& expected) {
    const auto text = [](const std::optional<Dims>& dims) { return dims ? to_string(*dims) : "refused"; };
    INFO("inferred " << text(ways.inferred) << ", evaluated " << text(ways.evaluated) << ", not " << text(expected));
    CHECK(ways.inferred == expected);
    CHECK(ways.evaluated == expected);
  };
  const Dims x = {{2}, {3}, {4}};
  both({op_Reshape, x, {{0, -1}}}, Dims{{2}, {12}});
  both({op_Reshape, x, {{-1, 0, 2}}}, Dims{{4}, {3}, {2}});
  both({op_Reshape, x, {{-1, -1}}}, refused);
  both({op_Reshape, x, {{5, -1}}}, refused);
  both({op_Reshape, x, {{2, 3, 4, 0}}}, refused);
  both({op_Reshape, x, {{0, 0, 0}}, {{"allowzero", int64_t{1}}}}, refused);
  both({op_Flatten, x, {}}, Dims{{2}, {12}});
  both({op_Flatten, x, {}, {{"axis", int64_t{-1}}}}, Dims{{6}, {4}});
  both({op_Flatten, x, {}, {{"axis", int64_t{4}}}}, refused);
  both({op_Squeeze, {{1}, {3}, {1}}, {}}, Dims{{3}});
  both({op_Squeeze, {{1}, {3}, {1}}, {{}}}, Dims{{1}, {3}, {1}});  // an empty list of axes is a list
  both({op_Squeeze, {{1}, {3}, {1}}, {{-1}}}, Dims{{1}, {3}});
  both({op_Squeeze, {{1}, {3}, {1}}, {{0, -3}}}, refused);
  both({op_Squeeze, {{1}, {3}, {1}}, {{1}}}, refused);
  both({op_Unsqueeze, x, {{0, -1}}}, Dims{{1}, {2}, {3}, {4}, {1}});
  both({op_Unsqueeze, x, {{1, 1}}}, refused);
  both({op_Unsqueeze, x, {{5}}}, refused);
  both({op_Transpose, x, {}}, Dims{{4}, {3}, {2}});
  both({op_Transpose, x, {}, {{"perm", Ints{1, 0, 2}}}}, Dims{{3}, {2}, {4}});
  both({op_Transpose, x, {}, {{"perm", Ints{1, 0, -1}}}}, refused);
  both({op_Transpose, x, {}, {{"perm", Ints{1, 0, 0}}}}, refused);
  both({op_Slice, x, {{1, -2}, {9, 9}, {0, -1}}}, Dims{{1}, {3}, {2}});
  both({op_Slice, x, {{-1}, {INT64_MIN}, {2}, {-2}}}, Dims{{2}, {3}, {2}});
  both({op_Slice, x, {{0, 1}, {2, 2}, {0, 0}}}, refused);  // the specification does not define this
  both({op_Slice, x, {{0}, {1}, {0}, {0}}}, refused);
  both({op_Slice, x, {{0}, {1}, {3}}}, refused);
  both({op_Expand, {{3}, {1}}, {{2, 1, 4}}}, Dims{{2}, {3}, {4}});
  both({op_Expand, {{3}, {1}}, {{2, 4}}}, refused);
  // Constants may have more dimensions than kernels support.
  CHECK(BothWays(op_Transpose, Dims(11, Dim{1}), {}).evaluated == Dims(11, Dim{1}));
}

TEST_CASE("parts are put together by infer as by evaluate") {
  const auto concatenated = [](const std::vector<Dims>& parts, int64_t axis) {
    Network network;
    Node node{.name = "node", .op = "Concat", .opset = 20, .attributes = {{"axis", axis}}};
    std::vector<KnownValue> known;
    for (const Dims& dims : parts) {
      node.inputs.push_back(network.values.push_back({.name = "x", .type = {.dims = dims}}));
      known.push_back({.dims = dims});
      known.back().reals.resize(static_cast<size_t>(*known.back().elements()));
    }
    network.nodes.push_back(node);
    std::vector<KnownInput> inputs;
    for (const KnownValue& value : known) inputs.push_back({&value, &value.dims, value.element});
    const auto types = op_Concat.infer(NodeView(network, network.nodes.back()));
    const ModelNode source = model_node_of(op_Concat, {.attributes = node.attributes}, parts.size());
    const Known made = op_Concat.evaluate({source, 20, inputs});
    CHECK(types.ok() == made.has_value());
    if (types.ok() && made) CHECK((*types)[0].dims == made->dims);
    return types.ok() ? to_string((*types)[0].dims) : "refused";
  };
  CHECK(concatenated({{{2}, {3}}, {{2}, {1}}}, -1) == "[2,4]");
  CHECK(concatenated({{{2}, {3}}, {{4}, {3}}}, 0) == "[6,3]");
  CHECK(concatenated({{{2}, {3}}, {{4}, {3}}}, 1) == "refused");
  CHECK(concatenated({{{2}, {3}}, {{2}}}, 0) == "refused");
  CHECK(concatenated({{{2}, {3}}, {{2}, {3}}}, 2) == "refused");
}

namespace {

KnownValue list_of(const Dims& items) {
  KnownValue list{.element = ElementType::i64, .dims = {{static_cast<int64_t>(items.size())}}};
  list.ints = items;
  return list;
}

// The same value for that many samples.
KnownValue at_samples(const KnownValue& known, int64_t samples) {
  KnownValue fixed{.element = known.element};
  for (const Dim dim : known.dims) fixed.dims.push_back({dim.at(samples)});
  for (const Dim item : known.ints) fixed.ints.push_back({item.at(samples)});
  if (known.alike_for_each_sample() && !known.splat()) {  // the samples come first
    const std::vector<Dim> sample = fixed.ints;
    for (int64_t i = 1; i < samples; ++i) fixed.ints.insert(fixed.ints.end(), sample.begin(), sample.end());
  }
  if (known.steps.empty()) return fixed;
  fixed.ints.clear();
  const auto items = list_elements({.dims = fixed.dims, .first = known.ints[0].value, .steps = known.steps});
  for (const int64_t item : items.value()) fixed.ints.push_back({item});
  return fixed;
}

// Whether the spaced result, listed for several numbers of samples, is what Op::evaluate makes of the listed inputs.
bool agrees_when_listed(const Op& op, const std::vector<KnownValue>& values,
                        const std::map<std::string, NodeAttribute>& attributes = {}) {
  const ModelNode node = model_node_of(op, {.attributes = attributes}, values.size());
  const auto call = [&](const std::vector<KnownValue>& given, auto evaluate) {
    std::vector<KnownInput> inputs;
    for (const KnownValue& value : given) inputs.push_back({&value, &value.dims, value.element});
    return evaluate(KnownCall{node, 20, inputs});
  };
  const Progression first = progression_of(&values[0]).value();
  const auto made = call(values, [&](const KnownCall& given) { return op.evaluate_spaced(given, first); });
  if (!made) return false;
  const Known spaced = known_of(*made);
  for (int64_t samples = 1; samples <= 4; ++samples) {
    std::vector<KnownValue> listed;
    for (const KnownValue& value : values) listed.push_back(at_samples(value, samples));
    const Known expected = call(listed, op.evaluate);
    const KnownValue actual = at_samples(spaced.value(), samples);
    if (!expected || expected->dims != actual.dims || expected->element != actual.element) return false;
    for (size_t i = 0; i < static_cast<size_t>(expected->elements().value()); ++i)
      if (expected->integer(i) != actual.integer(i)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("NonZero gives the coordinates of what is not zero, and does not list too many") {
  const Op& op = *find_onnx_op("NonZero");
  const ModelNode node = model_node_of(op, {}, 1);
  const auto found = [&](const KnownValue& x) {
    const std::vector<KnownInput> inputs = {{&x, &x.dims, x.element}};
    return op.evaluate(KnownCall{node, 20, inputs});
  };
  const Known some = found({.element = ElementType::i64, .dims = {{2}, {3}}, .ints = {{0}, {4}, {0}, {1}, {0}, {9}}});
  CHECK(some->dims == Dims{{2}, {3}});
  CHECK(some->ints == std::vector<Dim>{{0}, {1}, {1}, {1}, {0}, {2}});
  CHECK(found({.element = ElementType::i64, .dims = {{0}}})->dims == Dims{{1}, {0}});
  // One number stands for all elements, so there may be any number of them.
  CHECK_FALSE(found({.element = ElementType::i64, .dims = {{int64_t{1} << 40}}, .ints = {{1}}}));
}

// Of ONNX's reference implementation; PyTorch's Hamming window begins with 0.08.
TEST_CASE("windows are sums of cosines") {
  const auto window = [](const char* name, int64_t size, int64_t periodic) {
    const Op& op = *find_onnx_op(name);
    const ModelNode node = model_node_of(op, {.attributes = {{"periodic", periodic}}}, 1);
    const KnownValue x{.element = ElementType::i64, .ints = {{size}}};
    const std::vector<KnownInput> inputs = {{&x, &x.dims, x.element}};
    const Known made = op.evaluate(KnownCall{node, 20, inputs});
    return made ? made->reals : std::vector<double>{};
  };
  const auto are = [](const std::vector<double>& numbers) { return Catch::Matchers::Approx(numbers).margin(1e-6); };
  CHECK_THAT(window("HannWindow", 4, 1), are({0, 0.5, 1, 0.5}));
  CHECK_THAT(window("HannWindow", 5, 0), are({0, 0.5, 1, 0.5, 0}));
  CHECK_THAT(window("HammingWindow", 3, 0), are({0.0869565, 1, 0.0869565}));
  CHECK_THAT(window("BlackmanWindow", 4, 1), are({0, 0.34, 1, 0.34}));
  CHECK(window("HannWindow", 0, 1).empty());
  CHECK(window("HannWindow", INT64_MAX, 1).empty());
}

TEST_CASE("evenly spaced integers become what their elements become, for any number of samples") {
  const auto spaced = [](Dims dims, int64_t first, std::vector<int64_t> steps) {
    return KnownValue{
        .element = ElementType::i64, .dims = std::move(dims), .ints = {{first}}, .steps = std::move(steps)};
  };
  std::set<std::string_view> seen;
  const auto agrees = [&](const Op& op, const std::vector<KnownValue>& values,
                          const std::map<std::string, NodeAttribute>& attributes = {}) {
    seen.insert(op.name);
    return agrees_when_listed(op, values, attributes);
  };
  const KnownValue numbers = spaced({kBatch, {4}, {1}}, 3, {12, 2, 0}), column = spaced({kBatch, {1}}, 0, {5, 0});
  const KnownValue row{.element = ElementType::i64, .dims = {{3}}, .ints = {{7}, {5}, {3}}};
  CHECK(agrees(op_Identity, {numbers}));
  CHECK(agrees(op_Cast, {numbers}, {{"to", static_cast<int64_t>(ElementType::i32)}}));
  CHECK(agrees(op_Reshape, {numbers, list_of({{0}, {1}, {-1}})}));
  CHECK(agrees(op_Reshape, {numbers, list_of({kBatch, {4}})}));
  CHECK_FALSE(agrees(op_Reshape, {numbers, list_of({{-1}})}));  // not evenly spaced along one dimension
  CHECK(agrees(op_Flatten, {column}));
  CHECK(agrees(op_Squeeze, {numbers, list_of({{-1}})}));
  CHECK(agrees(op_Transpose, {numbers}, {{"perm", std::vector<int64_t>{1, 2, 0}}}));
  CHECK(agrees(op_Transpose, {column}));
  CHECK(agrees(op_Unsqueeze, {numbers, list_of({{0}, {-1}})}));
  CHECK(agrees(op_Expand, {column, list_of({kBatch, {3}})}));
  CHECK(agrees(op_Expand, {row, list_of({kBatch, {3}})}));
  CHECK(agrees(op_Slice, {numbers, list_of({{0}, {-1}}), list_of({{INT64_MAX}, {-9}}), list_of({{0}, {1}}),
                          list_of({{1}, {-2}})}));
  CHECK(agrees(op_Slice, {numbers, list_of({{1}}), list_of({{3}}), list_of({{1}})}));
  CHECK_FALSE(agrees(op_Slice, {numbers, list_of({{1}}), list_of({{3}}), list_of({{0}})}));
  CHECK(agrees(op_Add, {column, row}));
  CHECK(agrees(op_Sub, {column, row}));
  CHECK(agrees(op_Sub, {row, column}));
  CHECK(agrees(op_Mul, {column, list_of({{-4}})}));
  CHECK(agrees(op_Mul, {list_of({{-4}}), column}));
  CHECK_FALSE(agrees(op_Mul, {column, column}));  // squares
  for (const Op* op : all_ops()) {
    INFO(op->name);
    CHECK(seen.contains(op->name) == (op->evaluate_spaced != nullptr));
  }
}

TEST_CASE("the elements of an output come from where the operator's table says") {
  for (const Op* op : all_ops()) {
    if (op->elements == Elements::computed) continue;
    for (const Sample& sample : op->samples()) {
      INFO(op->name << ", " << sample.name);
      const Instance instance = make_instance(*op, sample);
      const TensorType& type = instance.type_of(instance.outputs[0]);
      if (op->elements == Elements::tested) {
        CHECK(type.type == DataType::u8);
        continue;
      }
      if (!op->element_type.empty()) continue;
      const ValueId like = instance.inputs[op->typed_by];
      if (instance.network.values[like].kind != ValueKind::constant) CHECK(type.type == instance.type_of(like).type);
      if (op->elements == Elements::selected || instance.graph.tasks.empty()) continue;
      std::set<double> read;
      for (size_t i = 0; i < (op->elements == Elements::joined ? instance.inputs.size() : 1); ++i) {
        const Values& values = instance.given.at(instance.tensor_of.at(instance.inputs[i]));
        read.insert(values.begin(), values.end());
      }
      Executor executor(instance, kSamples);
      const Buffers buffers = executor.run(instance.given, true);
      for (const ValueId output : instance.outputs)
        for (const double made : executor.values(buffers, instance.tensor_of.at(output), instance.type_of(output)))
          if (!read.contains(made)) FAIL_CHECK(made << " is no element of an input");
    }
  }
}
