// The same sample in other layouts and in halves of the batch gives the same outputs and gradients.
#include <catch2/catch.hpp>

#include <algorithm>

#include "executor.h"

namespace plimsoll::test {
namespace {

// Outputs and gradients of inputs by name, in logical order.
struct Outcome {
  struct Entry {
    TensorType type;
    bool sum;  // of a parameter, a loss or a sum over samples: the results of both halves are added
    Values values;
  };
  std::map<std::string, Entry> entries;
};

// Whether the outputs no longer have the sample dimension.
bool takes_samples(const Instance& instance) {
  const auto has = [&](ValueId value) { return value.valid() && instance.type_of(value).depends_on_batch(); };
  return std::any_of(instance.inputs.begin(), instance.inputs.end(), has) &&
         std::none_of(instance.outputs.begin(), instance.outputs.end(), has);
}

bool sums_samples(const Instance& instance) {
  return takes_samples(instance) && find_op(instance.network.nodes[NodeId(0)].op)->sums_samples;
}

Outcome outcome_of(const Instance& instance, int64_t samples, const std::map<TensorId, Values>& given, int64_t round) {
  Executor executor(instance, samples);
  executor.context.round = round;
  const Buffers buffers = executor.run(given);
  Outcome outcome;
  for (const ValueId output : instance.outputs) {
    const auto tensor = instance.tensor_of.find(output);
    if (tensor == instance.tensor_of.end()) continue;
    const TensorType& type = instance.type_of(output);
    outcome.entries["output " + instance.network.values[output].name] = {
        type, sums_samples(instance) && !type.depends_on_batch(), executor.values(buffers, tensor->second, type)};
  }
  for (const ValueId input : instance.inputs) {
    const auto gradient = instance.gradient_of.find(input);
    if (!input.valid() || gradient == instance.gradient_of.end()) continue;
    const TensorType& type = instance.type_of(input);
    outcome.entries["gradient of " + instance.network.values[input].name] = {
        type, !type.depends_on_batch(), executor.values(buffers, gradient->second, type)};
  }
  return outcome;
}

std::map<TensorId, Values> part_of(const Instance& instance, int64_t first, int64_t count) {
  std::map<TensorId, Values> part;
  for (const auto& [id, values] : instance.given)
    part[id] = rows_of(values, instance.graph.tensors[id].type, kSamples, first, count);
  return part;
}

// A random mask differs between rounds, so such results cannot be compared between rounds.
bool depends_on_round(const Outcome& a, const Outcome& b) {
  for (const auto& [name, entry] : a.entries)
    if (entry.values != b.entries.at(name).values) return true;
  return false;
}

}  // namespace

TEST_CASE("other layouts give the same results") {
  for_each_sample([](const Op& op, const Sample& sample) {
    const Instance plain = make_instance(op, sample);
    const Outcome expected = outcome_of(plain, kSamples, plain.given, 0);
    for (const Layout images : kImageLayouts) {
      for (const auto& [inputs, outputs] : {std::pair(true, true), {true, false}, {false, true}}) {
        const Lying lying{.images = images, .inputs = inputs, .outputs = outputs};
        if (!can_lie(op, sample, lying)) continue;
        const Instance other = make_instance(op, sample, lying);
        const Outcome actual = outcome_of(other, kSamples, other.given, 0);
        for (const auto& [name, entry] : expected.entries) {
          INFO(name << ", " << name_of(images) << (inputs ? ", inputs" : "") << (outputs ? ", outputs" : ""));
          CHECK(distance(actual.entries.at(name).values, entry.values, 1e-3) < 1e-5);
        }
      }
    }
  });
}

TEST_CASE("half batches add up to the whole") {
  for_each_sample([](const Op& op, const Sample& sample) {
    const Instance instance = make_instance(op, sample);
    for (const Task& task : instance.graph.tasks)
      if (task.mixes_samples) return;
    if (takes_samples(instance) && !sums_samples(instance)) return;  // such a batch is never split
    const NodeView node(instance.network, instance.network.nodes[NodeId(0)]);
    if (op.wants_all_samples && op.wants_all_samples(node)) return;  // likewise
    const auto& tensors = instance.graph.tensors;
    if (std::none_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.type.depends_on_batch(); })) return;
    const int64_t half = kSamples / 2;
    const Outcome whole = outcome_of(instance, kSamples, instance.given, 0);
    const bool random = depends_on_round(whole, outcome_of(instance, kSamples, instance.given, 1));
    const Outcome first = outcome_of(instance, half, part_of(instance, 0, half), 0);
    const Outcome second = outcome_of(instance, half, part_of(instance, half, half), 1);
    for (const auto& [name, entry] : whole.entries) {
      INFO(name);
      const Values& a = first.entries.at(name).values;
      const Values& b = second.entries.at(name).values;
      if (entry.sum) {
        if (random) continue;
        Values sum = a;
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
        CHECK(distance(sum, entry.values, 1e-3) < 1e-5);
      } else {
        CHECK(distance(a, rows_of(entry.values, entry.type, kSamples, 0, half), 1e-3) < 1e-5);
        if (!random && entry.type.depends_on_batch())
          CHECK(distance(b, rows_of(entry.values, entry.type, kSamples, half, half), 1e-3) < 1e-5);
      }
    }
  });
}

}  // namespace plimsoll::test
