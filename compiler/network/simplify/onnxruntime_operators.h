// Replaces operators of onnxruntime by the operators of ONNX that they stand for.
//
// Why: onnxruntime's optimizers fuse operators of ONNX into their own (SessionOptions.optimized_model_filepath from
// ORT_ENABLE_EXTENDED on, onnxruntime.transformers.optimizer, and Optimum, which calls both). The other passes know
// ONNX only.
//
//   Gelu, BiasGelu, FastGelu          Add, Gelu                QuickGelu      x · Sigmoid(alpha · x)
//   FusedMatMul, TransposeMatMul      Transpose, MatMul, Mul; Einsum where the number of dimensions is not known
//   FusedGemm, FusedConv              Gemm, Conv, Add and the activation
//   SkipLayerNormalization            Add, LayerNormalization
//   SkipSimplifiedLayerNormalization, SimplifiedLayerNormalization     Add, RMSNormalization
//   EmbedLayerNormalization           Gather, Add, LayerNormalization; ReduceSum of the mask
//   Attention                         MatMul, Add, Split, Attention of ONNX; Where of the mask
//   MultiHeadAttention                Add, Attention of ONNX
//   RotaryEmbedding                   RotaryEmbedding of ONNX
//   LayerNormalization                itself: onnxruntime writes it into files of opsets that do not have it
//
// It also replaces the Scaler of ai.onnx.ml by Sub and Mul: pipelines of scikit-learn have one before their network.
//
// The nodes made may be of operators that the model's opset does not have (ModelNode::newest). The file keeps its own.
//
// Before: nothing. After: a node of onnxruntime that is left is not supported; ModelNode::refusal says why if an
// operator of the list has a form that is not. Why here: first, so that all other passes see operators of ONNX.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/model.h"
#include "compiler/support/status.h"

namespace plimsoll {

// `notes` gets a line if nodes were replaced.
void replace_onnxruntime_operators(Model& model, std::vector<std::string>& notes);

}  // namespace plimsoll
