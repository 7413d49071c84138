// Operators that are others in a row, said in those: then they need no kernels, no layouts and no gradients of their own.
//
//   Conv, ConvTranspose, MaxPool, AveragePool over one dimension     the same over two, of which the first is 1
//   Resize of depth, height and width     two Resizes, of height and width and of the depth
//   InstanceNormalization whose scale is 1 and whose bias is 0     LayerNormalization of each channel
//   BatchNormalization whose mean and variance are computed     Sub, Div, Mul, Add
//       of a weight seen as [1, channels, rest]     LayerNormalization, Mul, Add
//   PRelu     Relu(x) + slope · (x - Relu(x))          Mish     x · Tanh(Softplus(x))          Selu     gamma · Elu(x)
//   GlobalMaxPool     MaxPool          DepthToSpace, SpaceToDepth     Reshape, Transpose, Reshape
//   Einsum     ReduceSum, Transpose, Reshape, MatMul, Mul; Slice for diagonals
//   Gather by numbers that are the same for each sample, GatherND by known ones     Reshape, Gather
//   Gather, GatherND, ScatterND by the samples' numbers and others     GatherElements, ScatterElements
//   ScatterND of one known number at known places     Where          of others     Split, Concat; Gather, Where
//   AffineGrid     MatMul with the places of an even grid          Col2Im     ConvTranspose of each channel
//   Clip of whole numbers, or by bounds that are learned or computed     Max, Min
//   IsNaN     x = x, Not          IsInf     Abs(x) > the largest number          Trilu     Where with a constant mask
//   Mod with fmod     a - b · Sign(a / b) · Floor(Abs(a / b))
//   ReduceSumSquare, ReduceL2     ReduceSum of x · x, Sqrt          ReduceL1     ReduceSum of Abs
//   ReduceSum of whole numbers     CumSum, Slice          ReduceMax, ReduceMin of whole numbers     Max, Min of halves
//   ReduceLogSum     Log of ReduceSum          Celu     alpha · Elu(x / alpha)          Tan     Sin / Cos
//   Max, Min of more than two     Max, Min of two, in a chain          Tile     Expand, Pad with mode wrap
//   Pad with mode edge, reflect or wrap along several axes     a Pad for each axis
//   Attention, RotaryEmbedding     MatMul, Where, Softmax, MatMul; Split, Mul, Add, Concat          TensorScatter     Split, Concat
//   CastLike     Cast          RandomUniformLike, RandomNormalLike     RandomUniform, RandomNormal
//   Resize with mode cubic, or with antialias     a MatMul with a constant matrix for each axis
//   Upsample           Resize, as opset 10 has it
//   Tile               Expand, where it repeats dimensions of 1
//   SoftmaxCrossEntropyLoss of probabilities     LogSoftmax, Mul, ReduceSum, ReduceMean, Neg
//   LSTM, GRU, RNN     unrolled: Gemm over the inputs of several steps, Gemm of the state, Split, Sigmoid, Tanh, Mul, Add of each step
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/ir/known_value.h"
#include "compiler/network/simplify/sample_indices.h"
#include "compiler/support/status.h"

namespace plimsoll {

// Rows of a value, along its first dimension.
struct Rows {
  std::string name = {};
  int64_t first = 0, count = 0;
  int64_t whole = 0;  // how many the value has
};

// A node, and what is known of its inputs by their number; null: nothing.
struct Spelling {
  const ModelNode& node;
  int64_t opset;
  int64_t batch;
  std::optional<int64_t> exported_batch;  // the batch of the exporter's example
  std::function<bool()> follow;           // whether what is repeated as often is repeated for each sample; asked only where it is
  std::function<const Dims*(size_t)> dims;
  std::function<const KnownValue*(size_t)> known;
  std::function<bool(size_t)> computed;   // neither an initializer nor known
  std::function<ElementType(size_t)> element;  // of u8 and booleans that are computed: undefined
  // Of an input that is rows of others, cut, put one behind the other and seen as [1, rows, …]: whose. Empty: it is not.
  std::function<std::vector<Rows>(size_t)> rows;
  // Of an input that was put together of the samples' numbers and others; null: it was not.
  std::function<const SampleIndices*(size_t)> of_samples;
};

// What is written for the node; the last of them has its name and makes its output. Empty: the operator itself.
// Errors: invalid_model, unsupported.
Result<std::vector<ModelNode>> spell_out(const Spelling& spelling);

bool has_spelling(std::string_view op);

// Operators that are said in others, in whole or in some of their forms: in alphabetical order.
std::vector<std::string_view> spelled_operators();

}  // namespace plimsoll
