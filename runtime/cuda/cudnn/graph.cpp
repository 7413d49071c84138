#include "runtime/cuda/cudnn/graph.h"

#include "runtime/cuda/cudnn/device.h"

namespace plimsoll::cudnn {
namespace {

// Every tensor of an arena is aligned to 256 bytes; cuDNN's kernels need no more than this.
constexpr int64_t kAlignment = 16;
constexpr int64_t kFirstIntermediate = 100;

cudnnDataType_t type_of(DataType type) {
  switch (type) {
    case DataType::f32: return CUDNN_DATA_FLOAT;
    case DataType::bf16: return CUDNN_DATA_BFLOAT16;
    case DataType::f16: return CUDNN_DATA_HALF;
    default: throw KernelError("a graph of cuDNN with a tensor of " + std::string(name_of(type)));
  }
}

Descriptor described(int64_t uid, cudnnDataType_t type, const IntList& dims, const IntList& strides) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, uid)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, list_of(dims))
      .set(CUDNN_ATTR_TENSOR_STRIDES, list_of(strides.size() == 0 ? dense_strides(dims) : strides))
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  return tensor;
}

}  // namespace

std::vector<int64_t> list_of(const IntList& items) { return {items.begin(), items.end()}; }

IntList dense_strides(const IntList& dims) {
  IntList strides = dims;
  int64_t stride = 1;
  for (size_t axis = dims.size(); axis-- > 0; stride *= dims[axis]) strides[axis] = stride;
  return strides;
}

const Descriptor& Graph::keep(Descriptor descriptor) {
  return *kept_.emplace_back(std::make_unique<Descriptor>(std::move(descriptor)));
}

int64_t Graph::next_uid() const { return kFirstIntermediate + static_cast<int64_t>(kept_.size()); }

const Descriptor& Graph::made(const GraphTensor& tensor, cudnnDataType_t type) {
  Descriptor one = described(next_uid(), type, tensor.dims, tensor.strides);
  one.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true).finalize("a tensor");
  return keep(std::move(one));
}

const Descriptor& Graph::tensor(int64_t uid, const GraphTensor& tensor) {
  uids_.push_back(uid);
  Descriptor one = described(uid, type_of(tensor.type), tensor.dims, tensor.strides);
  one.finalize("a tensor");
  return keep(std::move(one));
}

const Descriptor& Graph::intermediate(const GraphTensor& tensor) { return made(tensor, type_of(tensor.type)); }
const Descriptor& Graph::truth(const IntList& dims) { return made({.dims = dims}, CUDNN_DATA_BOOLEAN); }
const Descriptor& Graph::index(const IntList& dims) { return made({.dims = dims}, CUDNN_DATA_INT32); }

const Descriptor& Graph::number(float value) {
  const IntList one_each = {1, 1, 1, 1};
  numbers_.push_back(std::make_unique<Number>(Number{next_uid(), value}));
  Descriptor one = described(next_uid(), CUDNN_DATA_FLOAT, one_each, {});
  one.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true).finalize("a number");
  return keep(std::move(one));
}

void Graph::add(Descriptor operation, const char* what) {
  operation.finalize(what);
  operations_.push_back(std::move(operation));
}

void Graph::pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor& y, const Pointwise& more) {
  Descriptor how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  how.set(CUDNN_ATTR_POINTWISE_MODE, mode).set(CUDNN_ATTR_POINTWISE_MATH_PREC, more.arithmetic);
  if (more.axis >= 0) how.set(CUDNN_ATTR_POINTWISE_AXIS, more.axis);
  how.finalize("a step");
  Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, keep(std::move(how)))
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  if (more.b != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *more.b);
  if (more.truth != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *more.truth);
  add(std::move(operation), "a step of a graph");
}

void Graph::reduce(cudnnReduceTensorOp_t mode, const Descriptor& x, const Descriptor& y) {
  Descriptor how(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  how.set(CUDNN_ATTR_REDUCTION_OPERATOR, mode)
      .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT)
      .finalize("a reduction");
  Descriptor operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, keep(std::move(how)))
      .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
  add(std::move(operation), "a reduction of a graph");
}

void Graph::multiply(const Descriptor& a, const Descriptor& b, const Descriptor& c) {
  Descriptor how(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT).finalize("a product");
  Descriptor operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, keep(std::move(how)))
      .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a)
      .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b)
      .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
  add(std::move(operation), "a product of a graph");
}

void Graph::reshape(const Descriptor& x, const Descriptor& y) {
  Descriptor operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x).set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
  add(std::move(operation), "a reshape of a graph");
}

void Graph::finish(const char* what) {
  graph_ = Descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (!device_is_described()) graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle());
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_).finalize(what);
}

}  // namespace plimsoll::cudnn
