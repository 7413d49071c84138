// A sample of an operator made concrete: a network of one node, its forward and backward tasks, and contents for all
// that is given. Inputs that are intermediates or parameters (f32) want a gradient; every f32 output gets a random one,
// unless the operator is a loss, whose forward task makes the gradients itself.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/ops/op.h"
#include "values.h"

namespace plimsoll::test {

// Which 4-D activations lie otherwise than plain; parameters then lie as the operator likes best.
struct Lying {
  Layout images = Layout::plain;
  bool inputs = true, outputs = true;
};

// Those of this backend, beside plain.
#if defined(PLIMSOLL_CHANNELS_LAST_BACKEND)
inline constexpr Layout kImageLayouts[] = {Layout::nhwc};
#else
inline constexpr Layout kImageLayouts[] = {Layout::nChw8c, Layout::nChw16c};
#endif

struct Instance {
  Network network;
  TaskGraph graph;
  size_t forward_tasks = 0;                // the tasks in front are the forward's
  bool is_loss = false;
  std::vector<ValueId> inputs, outputs;    // in the node's order; invalid where left out
  std::map<ValueId, TensorId> tensor_of;   // of inputs and outputs
  std::map<ValueId, TensorId> gradient_of;  // of inputs that want one, and of seeded outputs
  std::map<TensorId, Values> given;        // contents for kSamples: inputs and seeds

  const TensorType& type_of(ValueId value) const { return network.values[value].type; }
};

inline constexpr int64_t kSamples = 4;

// Fails the running test when the operator refuses its own sample.
Instance make_instance(const Op& op, const Sample& sample, const Lying& lying = {});

// Can the sample lie so: are there 4-D activations, and do all channels that must divide?
bool can_lie(const Op& op, const Sample& sample, const Lying& lying);

// Runs `body` in a section of its own for every sample of every operator.
void for_each_sample(const std::function<void(const Op&, const Sample&)>& body);
// The same, and for each layout that the sample can have; of blocks, the larger.
void for_each_instance(const std::function<void(const Instance&)>& body);

}  // namespace plimsoll::test
