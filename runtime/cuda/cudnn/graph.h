// A cuDNN operation graph: tensors, and the operations on them. Nothing here needs a device.
//
//   Graph graph;
//   const Descriptor& x = graph.tensor(1, {DataType::bf16, {4, 8}});   given when it is run
//   const Descriptor& y = graph.tensor(2, {DataType::f32, {4, 1}});
//   graph.reduce(CUDNN_REDUCE_TENSOR_MAX, x, y);
//   graph.finish("the largest of each row");
#pragma once

#include <functional>
#include <memory>

#include "runtime/cuda/cudnn/descriptor.h"

namespace plimsoll::cudnn {

// A tensor as cuDNN sees it. Without strides: the elements are dense, the last axis is the innermost one.
struct GraphTensor {
  DataType type = DataType::f32;
  IntList dims = {}, strides = {};
};
IntList dense_strides(const IntList& dims);

// What an operation of one element after the other may have besides x and y.
struct Pointwise {
  const Descriptor* b = nullptr;
  const Descriptor* truth = nullptr;  // of CUDNN_POINTWISE_BINARY_SELECT: truth ? x : b
  int64_t axis = -1;                  // of CUDNN_POINTWISE_GEN_INDEX
  cudnnDataType_t arithmetic = CUDNN_DATA_FLOAT;
};

// A constant of a graph. cuDNN reads it from the host's memory.
struct Number {
  int64_t uid = 0;
  float value = 0;
};

std::vector<int64_t> list_of(const IntList& items);

class Graph {
 public:
  // What engines_for() must know of the operations.
  DataType factors = DataType::f32;  // bf16 or f16: tensor cores multiply such factors exactly
  std::function<bool(int64_t engine)> is_wrong = [](int64_t) { return false; };  // cuDNN offers it, and it is wrong

  // The returned descriptors live as long as the graph.
  const Descriptor& tensor(int64_t uid, const GraphTensor& tensor);  // its address is given when the graph is run
  const Descriptor& intermediate(const GraphTensor& tensor);         // it has no address
  const Descriptor& truth(const IntList& dims);                      // an intermediate of booleans
  const Descriptor& index(const IntList& dims);                      // an intermediate of int32 numbers
  const Descriptor& number(float value);                             // a constant
  const Descriptor& keep(Descriptor descriptor);

  // The operation is complete, but for finalize().
  void add(Descriptor operation, const char* what);
  // y = mode(x, b)
  void pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor& y, const Pointwise& more = {});
  void reduce(cudnnReduceTensorOp_t mode, const Descriptor& x, const Descriptor& y);
  void multiply(const Descriptor& a, const Descriptor& b, const Descriptor& c);  // sums are in f32
  void reshape(const Descriptor& x, const Descriptor& y);

  // Afterwards nothing can be added. Throws KernelError if cuDNN rejects the shapes.
  void finish(const char* what);

  const Descriptor& operations() const { return graph_; }
  const std::vector<int64_t>& tensors() const { return uids_; }  // whose addresses a run must provide
  const std::vector<std::unique_ptr<Number>>& numbers() const { return numbers_; }

 private:
  const Descriptor& made(const GraphTensor& tensor, cudnnDataType_t type);
  int64_t next_uid() const;

  std::vector<std::unique_ptr<Descriptor>> kept_;
  std::vector<std::unique_ptr<Number>> numbers_;
  std::vector<Descriptor> operations_;
  Descriptor graph_;
  std::vector<int64_t> uids_;
};

}  // namespace plimsoll::cudnn
