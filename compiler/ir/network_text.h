// The text form of networks, for dumps, bug reports and tests: one fact per line, names instead of numbers, canonical.
//
//   network three-convs v1 fused
//   value %x input f32[N,3,64,64]
//   value %c1.W parameter f32[16,3,3,3] trainable initializer=c1.weight
//   value %scale parameter f32[] trainable undecided initializer=scale number=0.001
//   value %shape constant i64[2] = [0,-1]
//   value %c1.Y intermediate f32[N,16,64,64]:nChw16c in_bf16
//   node c1 Conv opset=17 module=layer1.0.conv1 read %x %c1.W absent write %c1.Y {pads=[1,1,1,1]} relu
//   …
//   input %x
//   output %c1.Y
//
// The word after v1 is the last completed pass (NetworkStage). Real values have a decimal point: [1.0,0.5]. An
// attribute is 5, 0.5, "linear", [1,1], reals [0.5] or tensor [1]. NodeMarks follow the attributes. At the end of the
// first line: `attention="fused"`, the form of attention that the model spells out, and `layout="nhwc, as asked"`, how
// the layouts were chosen; each if there was a choice.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/network.h"
#include "compiler/support/status.h"

namespace plimsoll {

std::string to_text(const Network& network);

// to_text(network_from_text(text)) is the canonical form of `text`. `what` names the text in errors. Error:
// invalid_model, with line and column: for the syntax, for a value that is read before it is defined, and for one that
// is defined twice. Operators and the types of their outputs are checked by check_network (compiler/network/check.h).
Result<Network> network_from_text(std::string_view text, const std::string& what = "network");

}  // namespace plimsoll
