// Who makes a value and how many read it.
#pragma once

#include "compiler/ir/network.h"

namespace plimsoll {

struct ValueUses {
  IdVector<ValueId, int> readers;   // nodes, by their inputs; an output of the network has one more
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
