// A convolution, in one of its three directions, as an operation graph of cuDNN's.
//
//   forward            y  = conv(x, w)             ─► + bias ─► relu, where they are asked for: one graph
//   backward_data      dx = conv'(dy, w)           dx, dy and dw take the places of x, y and w
//   backward_weights   dw = conv''(x, dy)          or dw += …, where it accumulates
#pragma once

#include "runtime/attrs/conv.h"
#include "runtime/cuda/cudnn/descriptor.h"

namespace plimsoll::cudnn {

enum class Direction { forward, backward_data, backward_weights };

struct Convolution {
  Direction direction = Direction::forward;
  TensorDesc x = {}, w = {}, y = {};  // [N, C, H, W], [K, C / group, R, S], [N, K, P, Q]; or three dimensions
  ConvAttrs attrs = {};               // attrs.relu is not looked at: see below
  bool bias = false, relu = false;    // forward: fused into the graph
  bool accumulate = false;            // backward_weights: dw is added to
};

// How cuDNN calls the tensors of the graph when it is run.
enum class Uid : int64_t { x = 1, w = 2, y = 3, b = 4 };

// The graph, and all that it refers to. Throws KernelError where cuDNN refuses the shapes.
class Graph {
 public:
  explicit Graph(const Convolution& convolution);
  const Descriptor& operations() const { return graph_; }
  const std::vector<Uid>& tensors() const { return uids_; }  // those that a run must be given

 private:
  const Descriptor& tensor(Uid uid, const IntList& dims, const IntList& strides);
  const Descriptor& intermediate(const IntList& dims, const IntList& strides);
  const Descriptor& keep(Descriptor descriptor);

  std::vector<std::unique_ptr<Descriptor>> kept_;
  std::vector<Descriptor> operations_;
  Descriptor graph_;
  std::vector<Uid> uids_;
};

}  // namespace plimsoll::cudnn
