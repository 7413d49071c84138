// A concrete sample of an operator: a network of one node, its forward and backward tasks, and contents for all inputs.
// Intermediate and parameter inputs (f32) get a gradient; every f32 output receives a random one, unless the operator
// is a loss, whose forward task computes the gradients itself.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ops/op.h"
#include "values.h"

namespace plimsoll::test {

// The layout of 4-D activations other than plain; parameters then have the operator's preferred layout.
struct Lying {
  Layout images = Layout::plain;
  bool inputs = true, outputs = true;
};

// The layouts of this backend, besides plain.
#if defined(PLIMSOLL_CHANNELS_LAST_BACKEND)
inline constexpr Layout kImageLayouts[] = {Layout::nhwc};
#else
inline constexpr Layout kImageLayouts[] = {Layout::nChw8c, Layout::nChw16c};
#endif

struct Instance {
  Network network;
  TaskGraph graph;
  size_t forward_tasks = 0;                // the first tasks are the forward's
  bool is_loss = false;
  std::vector<ValueId> inputs, outputs;    // in the node's order; invalid if omitted
  std::map<ValueId, TensorId> tensor_of;   // of inputs and outputs
  std::map<ValueId, TensorId> gradient_of;  // of inputs that need one, and of seeded outputs
  std::map<TensorId, Values> given;        // contents for kSamples: inputs and seeds

  const TensorType& type_of(ValueId value) const { return network.values[value].type; }
};

inline constexpr int64_t kSamples = 4;

// Fails the running test if the operator rejects its own sample. `unread`: an output that the node does not have.
Instance make_instance(const Op& op, const Sample& sample, const Lying& lying = {}, std::optional<int> unread = {});

// Whether the sample can have these layouts: it has 4-D activations, and all channels fill blocks where required.
bool can_lie(const Op& op, const Sample& sample, const Lying& lying);

// Runs `body` in a separate section for every sample of every operator.
void for_each_sample(const std::function<void(const Op&, const Sample&)>& body);
// The same, for each layout that the sample can have; of the blocked ones, only the larger.
void for_each_instance(const std::function<void(const Instance&)>& body);

}  // namespace plimsoll::test
