#include "instance.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

namespace plimsoll::test {
namespace {

using Random = std::mt19937_64;

// In [low, high), rounded to float precision, or to an integer.
Values random_values(Random& random, const TensorDesc& desc, double low, double high) {
  Values values(static_cast<size_t>(desc.elements()));
  for (double& value : values) {
    value = low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
    value = desc.type == DataType::f32 ? static_cast<double>(static_cast<float>(value)) : std::floor(value);
  }
  return values;
}

bool left_out(const SampleInput& input) {
  return input.kind == ValueKind::constant && input.constant.empty() && input.dims.empty();
}

Value value_of(const SampleInput& input, size_t i) {
  Value value{.name = "in" + std::to_string(i), .kind = input.kind, .type = {input.type, input.dims}};
  // Data without a gradient comes from the trainer: labels, indices.
  if (input.kind == ValueKind::intermediate && input.type != DataType::f32) value.kind = ValueKind::input;
  value.trainable = input.kind == ValueKind::parameter && !input.frozen;
  if (input.kind == ValueKind::constant) {
    value.constant.emplace();
    if (input.type == DataType::f32) {
      value.constant->reals = input.constant;
    } else {
      value.constant->ints.assign(input.constant.begin(), input.constant.end());
    }
  }
  return value;
}

Network make_network(const Op& op, const Sample& sample) {
  Network network{.name = std::string(op.name) + "/" + sample.name};
  Node node{.name = "node",
            .op = std::string(op.name),
            .opset = sample.opset,
            .attributes = sample.attributes,
            .marks = sample.marks};
  for (const auto& [name, value] : sample.attributes) {
    INFO(network.name << " has an attribute '" << name << "', which its operator does not state and would ignore");
    REQUIRE((!op.of_onnx() || has_attribute(op, name)));
  }
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    const bool given = !left_out(sample.inputs[i]);
    node.inputs.push_back(given ? network.values.push_back(value_of(sample.inputs[i], i)) : ValueId{});
    if (given && network.values[node.inputs.back()].kind == ValueKind::input)
      network.inputs.push_back(node.inputs.back());
  }
  for (int i = 0; i < sample.outputs; ++i)
    node.outputs.push_back(network.values.push_back({.name = "out" + std::to_string(i)}));
  network.nodes.push_back(node);
  const auto types = op.infer(NodeView(network, network.nodes.back()));
  INFO((types.ok() ? std::string() : types.error().message));
  REQUIRE(types.ok());
  REQUIRE(types->size() >= node.outputs.size());
  for (size_t i = 0; i < node.outputs.size(); ++i) network.values[node.outputs[i]].type = (*types)[i];
  return network;
}

bool is_image(const Value& value) {
  return value.type.rank() == 4 && value.type.type == DataType::f32 &&
         (value.kind == ValueKind::intermediate || value.kind == ValueKind::input);
}

LayoutRule rule_of(const Op& op, const Network& network) {
  return op.layout_of ? op.layout_of(NodeView(network, network.nodes[NodeId(0)])) : op.layout;
}

bool fits(const Value& image, Layout layout) { return image.type.dims[1].value % std::max(1, block_of(layout)) == 0; }

void lay(const Op& op, Network& network, const Lying& lying) {
  if (lying.images == Layout::plain) return;
  const Node& node = network.nodes[NodeId(0)];
  const NodeView view(network, node);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid()) continue;
    Value& value = network.values[node.inputs[i]];
    if (value.kind == ValueKind::parameter && op.weight_layout)
      value.type.layout = op.weight_layout(view, i, lying.images);
    if (lying.inputs && is_image(value) && fits(value, lying.images)) value.type.layout = lying.images;
  }
  for (const ValueId output : node.outputs) {
    if (!output.valid()) continue;
    Value& value = network.values[output];
    if (lying.outputs && is_image(value) && fits(value, lying.images)) value.type.layout = lying.images;
  }
}

}  // namespace

bool can_lie(const Op& op, const Sample& sample, const Lying& lying) {
  const Network network = make_network(op, sample);
  const LayoutRule rule = rule_of(op, network);
  if (rule == LayoutRule::plain || (rule == LayoutRule::blocks && lying.images == Layout::nhwc)) return false;
  const bool apart = rule == LayoutRule::any && (lying.images != Layout::nhwc || !op.of_onnx());
  if (!apart && !(lying.inputs && lying.outputs)) return false;
  size_t images = 0, fitting = 0;
  for (const Value& value : network.values) {
    if (!is_image(value)) continue;
    ++images;
    if (fits(value, lying.images)) ++fitting;
  }
  // For volumes only the weights can have another layout, and the operator decides.
  if (rule == LayoutRule::any && images == 0) return op.weight_layout != nullptr;
  return rule == LayoutRule::any ? fitting > 0 : images > 0 && fitting == images;
}

Instance make_instance(const Op& op, const Sample& sample, const Lying& lying, std::optional<int> unread) {
  Instance made;
  made.network = make_network(op, sample);
  if (unread) made.network.nodes[NodeId(0)].outputs[static_cast<size_t>(*unread)] = ValueId{};
  lay(op, made.network, lying);
  Network& network = made.network;
  const NodeId node(0);
  made.inputs = network.nodes[node].inputs;
  made.outputs = network.nodes[node].outputs;
  made.graph.batch = kSamples;
  TaskBuilder builder(network, made.graph);
  Random random(1);

  for (size_t i = 0; i < made.inputs.size(); ++i) {
    const ValueId input = made.inputs[i];
    if (!input.valid() || network.values[input].kind == ValueKind::constant) continue;
    const Value& value = network.values[input];
    const TensorKind kind = value.kind == ValueKind::parameter   ? TensorKind::weight
                            : value.kind == ValueKind::statistic ? TensorKind::statistic
                                                                 : TensorKind::input;
    const TensorId tensor = builder.add_tensor({.name = value.name, .kind = kind, .type = value.type});
    builder.bind(input, tensor);
    made.tensor_of[input] = tensor;
    made.given[tensor] = random_values(random, value.type.at(kSamples), sample.inputs[i].low, sample.inputs[i].high);
    const bool differentiated = value.trainable || value.kind == ValueKind::intermediate;
    if (differentiated && op.backward != nullptr) builder.set_wants_gradient(input);
  }
  builder.enter_forward(node);
  op.forward(builder);
  made.forward_tasks = made.graph.tasks.size();
  for (const ValueId output : made.outputs)
    if (output.valid() && builder.tensor_of(output).valid()) made.tensor_of[output] = builder.tensor_of(output);

  for (const ValueId input : made.inputs)
    if (input.valid() && builder.gradient_of(input).valid()) made.is_loss = true;
  if (op.backward != nullptr && !made.is_loss) {
    for (const ValueId output : made.outputs) {
      if (!output.valid()) continue;
      const Value& value = network.values[output];
      if (value.type.type != DataType::f32 || !builder.tensor_of(output).valid()) continue;
      const TensorId seed = builder.add_tensor(
          {.name = "d" + value.name, .kind = TensorKind::activation_gradient, .type = value.type});
      builder.seed_gradient(output, seed);
      made.gradient_of[output] = seed;
      made.given[seed] = random_values(random, value.type.at(kSamples), -1, 1);
    }
    if (!made.gradient_of.empty()) {  // integers have none
      builder.enter_backward(node);
      op.backward(builder);
      builder.leave_backward();
    }
  }
  builder.settle_names();
  for (const ValueId input : made.inputs)
    if (input.valid() && builder.gradient_of(input).valid()) made.gradient_of[input] = builder.gradient_of(input);
  return made;
}

void for_each_sample(const std::function<void(const Op&, const Sample&)>& body) {
  for (const Op* op : all_ops()) {
    if (op->samples == nullptr) continue;  // has a separate test
    for (const Sample& sample : op->samples()) {
      DYNAMIC_SECTION(op->name << "/" << sample.name) { body(*op, sample); }
    }
  }
}


void for_each_instance(const std::function<void(const Instance&)>& body) {
  for_each_sample([&](const Op& op, const Sample& sample) {
    body(make_instance(op, sample));
    const Lying lying{.images = std::end(kImageLayouts)[-1]};
    if (!can_lie(op, sample, lying)) return;
    INFO("images in " << name_of(lying.images));
    body(make_instance(op, sample, lying));
  });
}

}  // namespace plimsoll::test
