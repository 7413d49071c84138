// A convolution, in one of its three directions, as a cuDNN operation graph.
//
//   forward            y  = conv(x, w)             ─► + bias ─► relu, if requested, in the same graph
//   backward_data      dx = conv'(dy, w)           x, y and w denote dx, dy and dw here
//   backward_weights   dw = conv''(x, dy)          both: dx += …, dw += … if it accumulates
//
// Each tensor has the type of its operand, f32, bf16 or f16, and a bias that of y. Sums are in f32 for every type.
#pragma once

#include "runtime/attrs/conv.h"
#include "runtime/cuda/cudnn/graph.h"

namespace plimsoll::cudnn {

enum class Direction { forward, backward_data, backward_weights };

struct Convolution {
  Direction direction = Direction::forward;
  // [N, C, H, W], [K, C / group, R, S], [N, K, P, Q]; or with three spatial dimensions
  TensorDesc x = {}, w = {}, y = {};
  ConvAttrs attrs = {};               // attrs.relu is ignored: see below
  bool bias = false, relu = false;    // forward: fused into the graph
  bool accumulate = false;            // backward: dw or dx is accumulated
};

// bf16 or f16, if both factors are of that type: tensor cores multiply them exactly. Otherwise f32.
DataType narrow_factors(const Convolution& convolution);

// The identifiers of the graph's tensors when it is run.
enum class Uid : int64_t { x = 1, w = 2, y = 3, b = 4 };

// Throws KernelError if cuDNN rejects the shapes.
Graph graph_of(const Convolution& convolution);

// Whether cuDNN offers this engine for a convolution that it does not compute. With other padding before than after an
// axis, some engines use the same padding on both sides, and one is wrong in three dimensions: their gradients are off
// by their whole norm. So only engines that were compared on a device are used there (docs/decisions/cudnn.md).
bool is_wrong(const Convolution& convolution, int64_t engine);

}  // namespace plimsoll::cudnn
