#include "compiler/network/simplify/slots.h"

#include <limits>
#include <string>
#include <unordered_map>

namespace plimsoll {

Slot slot_of(std::string_view op, size_t input) {
  // One letter per input: d data, c constant, n number, w weight, z state, s statistic. Inputs beyond the last letter are like the last.
  static const std::unordered_map<std::string_view, std::string_view> kSlots = {
      {"BatchNormalization", "dwwss"}, {"Conv", "dww"}, {"ConvTranspose", "dww"}, {"Gemm", "dww"}, {"MatMul", "dw"},
      {"LayerNormalization", "dww"}, {"RMSNormalization", "dw"}, {"GroupNormalization", "dww"},
      {"InstanceNormalization", "dww"}, {"PRelu", "dw"},
      {"GRU", "dwwwdz"}, {"LSTM", "dwwwdzzw"}, {"RNN", "dwwwdz"},
      {"Add", "n"}, {"Sub", "n"}, {"Mul", "n"}, {"Div", "dn"},
      {"Clip", "dcc"}, {"ConstantOfShape", "c"}, {"CumSum", "dc"}, {"Dropout", "dcc"}, {"Expand", "dc"}, {"Gather", "dc"},
      {"OneHot", "dcc"}, {"Pad", "dccc"}, {"Pow", "dc"}, {"Range", "ccc"}, {"ReduceL1", "dc"}, {"ReduceL2", "dc"},
      {"ReduceLogSum", "dc"}, {"ReduceLogSumExp", "dc"}, {"ReduceMax", "dc"}, {"ReduceMean", "dc"},
      {"ReduceMin", "dc"}, {"ReduceProd", "dc"}, {"ReduceSum", "dc"}, {"ReduceSumSquare", "dc"}, {"Reshape", "dc"},
      {"Resize", "dccc"}, {"Slice", "dcccc"}, {"Split", "dc"}, {"Squeeze", "dc"}, {"Tile", "dcc"}, {"TopK", "dc"},
      {"Trilu", "dc"}, {"Unsqueeze", "dc"}, {"Upsample", "dc"}, {"Where", "dnn"},
      {"And", "n"}, {"Or", "n"}, {"Xor", "n"}, {"Mod", "n"}, {"Equal", "n"}, {"Less", "n"}, {"LessOrEqual", "n"}, {"Greater", "n"},
      {"GreaterOrEqual", "n"},
  };
  const auto found = kSlots.find(op);
  if (found == kSlots.end()) return Slot::data;
  const std::string_view letters = found->second;
  switch (letters[input < letters.size() ? input : letters.size() - 1]) {
    case 'c': return Slot::constant;
    case 'n': return Slot::number;
    case 'w': return Slot::weight;
    case 'z': return Slot::state;
    case 's': return Slot::statistic;
    default: return Slot::data;
  }
}

size_t required_inputs(std::string_view op) {
  static const std::unordered_map<std::string_view, size_t> kRequired = {
      {"Add", 2}, {"And", 2}, {"Attention", 3}, {"BatchNormalization", 5}, {"BitShift", 2}, {"Conv", 2}, {"ConvTranspose", 2}, {"Div", 2},
      {"Equal", 2}, {"Expand", 2}, {"GRU", 3}, {"Gather", 2}, {"GatherElements", 2}, {"ScatterElements", 3}, {"OneHot", 3}, {"GatherND", 2}, {"Gemm", 2},
      {"Greater", 2}, {"GreaterOrEqual", 2}, {"GroupNormalization", 3}, {"InstanceNormalization", 3}, {"LSTM", 3},
      {"LayerNormalization", 2}, {"Less", 2}, {"LessOrEqual", 2}, {"MatMul", 2}, {"Mod", 2}, {"Mul", 2},
      {"NegativeLogLikelihoodLoss", 2}, {"Or", 2}, {"PRelu", 2}, {"Pow", 2}, {"RMSNormalization", 2}, {"RNN", 3},
      {"Reshape", 2}, {"RotaryEmbedding", 3}, {"SoftmaxCrossEntropyLoss", 2}, {"Sub", 2}, {"TensorScatter", 2}, {"Tile", 2}, {"Where", 3}, {"Xor", 2},
  };
  const auto found = kRequired.find(op);
  return found == kRequired.end() ? 1 : found->second;
}

size_t most_outputs(std::string_view op) {
  static const std::unordered_map<std::string_view, size_t> kMost = {
      {"Attention", 4}, {"BatchNormalization", 5}, {"Dropout", 2}, {"GRU", 2}, {"LSTM", 3}, {"LayerNormalization", 3}, {"MaxPool", 2},
      {"RNN", 2}, {"SoftmaxCrossEntropyLoss", 2}, {"Split", std::numeric_limits<size_t>::max()}, {"TopK", 2}, {"Unique", 4},
  };
  const auto found = kMost.find(op);
  return found == kMost.end() ? 1 : found->second;
}

}  // namespace plimsoll
