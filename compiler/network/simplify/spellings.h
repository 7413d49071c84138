// Operators that are written as a sequence of others, so that they need no kernels, layouts and gradients:
//
//   Conv, ConvTranspose, MaxPool, AveragePool over one dimension     the same over two, the first of which is 1
//   ConvTranspose with an output padding of a stride or more     ConvTranspose, Pad, Add of the bias
//   Resize of depth, height and width     two Resizes, of height and width and of the depth
//   InstanceNormalization with scale 1 and bias 0     LayerNormalization of each channel
//   BatchNormalization whose mean and variance are computed     Sub, Div, Mul, Add
//       of a weight viewed as [1, channels, rest]     LayerNormalization, Mul, Add
//   Selu     gamma · Elu(x)          GlobalMaxPool     MaxPool
//   DepthToSpace, SpaceToDepth     Reshape, Transpose, Reshape
//   Einsum     ReduceSum, Transpose, Reshape, MatMul, Mul; Slice for diagonals
//   Gather by indices that are the same for each sample, GatherND by known ones     Reshape, Gather
//   Gather, GatherND, ScatterND by sample numbers and other indices     GatherElements, ScatterElements
//   ScatterND of one known number at known positions     Where     of other values     Split, Concat; Gather, Where
//   AffineGrid     MatMul with the positions of an even grid          Col2Im     ConvTranspose of each channel
//   DFT            Transpose, Reshape, MatMul with a constant matrix, Reshape, Transpose
//   STFT           Conv with constant kernels, Transpose, Reshape
//   Clip of integers, or with bounds that are learned or computed     Max, Min
//   IsNaN     x = x, Not          IsInf     Abs(x) > the largest number          Trilu     Where with a constant mask
//   Mod with fmod     a - b · Sign(a / b) · Floor(Abs(a / b))
//   ReduceSumSquare, ReduceL2     ReduceSum of x · x, Sqrt          ReduceL1     ReduceSum of Abs
//   ReduceSum of integers     CumSum, Slice          ReduceMax, ReduceMin of integers     Max, Min of halves
//   ReduceLogSum     Log of ReduceSum          Celu     alpha · Elu(x / alpha)          Tan     Sin / Cos
//   Add, Sub, Mul, Div, Pow, Max, Min by a number with more axes than the tensor     Unsqueeze of the tensor, the same
//   Max, Min of more than two     Max, Min of two, in a chain          Tile     Expand, Pad with mode wrap
//   Pad with mode edge, reflect or wrap along several axes     a Pad for each axis
//   Attention     ScaledDotProductAttention, or MatMul, Where, Softmax, MatMul
//   RotaryEmbedding     Rotary, or Split, Mul, Add, Concat
//   TensorScatter     Split, Concat
//   CastLike     Cast          RandomUniformLike, RandomNormalLike     RandomUniform, RandomNormal
//   Resize with mode cubic, or with antialias     a MatMul with a constant matrix for each axis
//   Resize to the nearest pixel before opset 11, of which one axis shrinks and another grows     two Resizes
//   Upsample           Resize, as in opset 10
//   Tile               Expand, if it repeats dimensions of 1
//   SoftmaxCrossEntropyLoss of probabilities     LogSoftmax, Mul, ReduceSum, ReduceMean, Neg
//   LSTM, GRU, RNN     unrolled: Gemm over the inputs of several steps; in each step Gemm of the state, Split,
//                      Sigmoid, Tanh, Mul, Add.  LSTM, GRU fused: Gemm over the inputs of all steps,
//                      LstmSequence, GruSequence or ResetFirstGruSequence
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
  int64_t whole = 0;  // the number of rows of the value
};

// A node, and what is known about its inputs, by index; null: unknown.
struct Spelling {
  const ModelNode& node;
  int64_t opset;
  int64_t batch;
  std::optional<int64_t> exported_batch = {};  // the batch of the exporter's example
  // whether a repetition by that number is a repetition per sample; called only if there is one
  std::function<bool()> follow = {};
  std::function<const Dims*(size_t)> dims = {};
  std::function<const KnownValue*(size_t)> known = {};
  std::function<bool(size_t)> computed = {};   // neither an initializer nor known
  std::function<ElementType(size_t)> element = {};  // undefined for u8, unless is_boolean tells
  // For an input that is the concatenation of rows of other values, viewed as [1, rows, …]: those rows. Empty: it is
  // not.
  std::function<std::vector<Rows>(size_t)> rows = {};
  // For an input that was built from sample numbers and other indices; null: it was not.
  std::function<const SampleIndices*(size_t)> of_samples = {};
  std::function<bool(size_t)> reads = {};  // whether anything reads that output
  std::function<bool(const std::string&)> taken = {};  // whether another value has that name
  // Whether a recurrent network that can be either is one operator instead of unrolled; called only for such a one.
  std::function<bool()> fuse_recurrence = {};
};

// The nodes written for the node; the last one has its name and produces its output. Empty: the operator is kept.
// Errors: invalid_model, unsupported.
Result<std::vector<ModelNode>> spell_out(const Spelling& spelling);

bool has_spelling(std::string_view op);

// Operators that are written as others, in all or some of their forms, in alphabetical order.
std::vector<std::string_view> spelled_operators();

}  // namespace plimsoll
