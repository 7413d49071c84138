// Networks as text, for dumps, bug reports and tests: one fact per line, names and no numbers, canonical.
//
//   network three-convs v1 fused
//   value %x input f32[N,3,64,64]
//   value %c1.W parameter f32[16,3,3,3] trainable initializer=c1.weight
//   value %shape constant i64[2] = [0,-1]
//   value %c1.Y intermediate f32[N,16,64,64]:nChw16c
//   node c1 Conv opset=17 module=layer1.0.conv1 read %x %c1.W absent write %c1.Y {pads=[1,1,1,1]} relu
//   …
//   input %x
//   output %c1.Y
//
// The word behind v1 says how far the network's passes went (NetworkStage). Values of reals print with a point: [1.0,0.5].
// An attribute is 5, 0.5, "linear", [1,1], reals [0.5] or tensor [1]. What passes say of a node (NodeMarks) stands behind them.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

std::string to_text(const Network& network);

// to_text(network_from_text(text)) is the canonical printing of `text`. `what` names the text in errors.
// Error: invalid_model, with line and column: of the text, of a value that is read before it is made, and of one that is made twice.
// Whether operators are known and make what the values say is for check_network (compiler/network/check.h).
Result<Network> network_from_text(std::string_view text, const std::string& what = "network");

}  // namespace plimsoll
