// The maker of each value and the number of its readers.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

struct ValueUses {
  IdVector<ValueId, int> readers;   // nodes, counted by input; an output of the network counts as one more
  IdVector<ValueId, NodeId> maker;  // invalid: no node

  explicit ValueUses(const Network& network) : readers(network.values.size(), 0), maker(network.values.size()) {
    for (const NodeId id : ids_of(network.nodes)) {
      for (const ValueId input : network.nodes[id].inputs)
        if (input.valid()) ++readers[input];
      for (const ValueId output : network.nodes[id].outputs)
        if (output.valid()) maker[output] = id;
    }
    for (const ValueId output : network.outputs) ++readers[output];
  }
};

}  // namespace plimsoll
