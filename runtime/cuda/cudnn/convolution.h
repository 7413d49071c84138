// A convolution, in one of its three directions, as a cuDNN operation graph.
//
//   forward            y  = conv(x, w)             ─► + bias ─► relu, if requested, in the same graph
//   backward_data      dx = conv'(dy, w)           x, y and w denote dx, dy and dw here
//   backward_weights   dw = conv''(x, dy)          both: dx += …, dw += … if it accumulates
//
// Each tensor has the type of its operand, f32, bf16 or f16, and a bias that of y. Sums are in f32 for every type.
#pragma once

#include "runtime/attrs/conv.h"
#include "runtime/cuda/cudnn/descriptor.h"

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

// The graph, and everything that it refers to. Throws KernelError if cuDNN rejects the shapes.
class Graph {
 public:
  explicit Graph(const Convolution& convolution);
  const Convolution& convolution() const { return convolution_; }
  const Descriptor& operations() const { return graph_; }
  const std::vector<Uid>& tensors() const { return uids_; }  // the tensors that a run must provide

 private:
  const Descriptor& tensor(Uid uid, const TensorDesc& desc);
  const Descriptor& intermediate(const TensorDesc& desc);
  const Descriptor& keep(Descriptor descriptor);

  Convolution convolution_;
  std::vector<std::unique_ptr<Descriptor>> kept_;
  std::vector<Descriptor> operations_;
  Descriptor graph_;
  std::vector<Uid> uids_;
};

}  // namespace plimsoll::cudnn
