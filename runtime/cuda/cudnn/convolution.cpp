#include "runtime/cuda/cudnn/convolution.h"

#include "runtime/cuda/cudnn/device.h"

namespace plimsoll::cudnn {
namespace {

// Every tensor of an arena is aligned to 256 bytes; cuDNN's kernels need no more than this.
constexpr int64_t kAlignment = 16;
constexpr int64_t kFirstIntermediate = 100;

std::vector<int64_t> list(const IntList& items) { return {items.begin(), items.end()}; }

// cuDNN uses the order of ONNX's dimensions for every layout; only the strides express the layout.
IntList strides_of(const TensorDesc& tensor) {
  const IntList& dims = tensor.dims;
  if (tensor.layout == Layout::nhwc) return {dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3], dims[1]};
  if (tensor.layout != Layout::plain)
    throw KernelError("convolutions take no tensors in layout " + std::string(name_of(tensor.layout)));
  IntList strides = dims;
  int64_t stride = 1;
  for (size_t axis = tensor.rank(); axis-- > 0; stride *= dims[axis]) strides[axis] = stride;
  return strides;
}

Descriptor convolution_of(const ConvAttrs& attrs) {
  const auto pads = list(attrs.pads);
  const auto middle = pads.begin() + static_cast<int64_t>(pads.size() / 2);
  Descriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<int64_t>(attrs.strides.size()))
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, std::vector<int64_t>(pads.begin(), middle))
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, std::vector<int64_t>(middle, pads.end()))
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, list(attrs.dilations))
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, list(attrs.strides))
      .finalize("the convolution");
  return convolution;
}

Descriptor pointwise_of(cudnnPointwiseMode_t mode) {
  Descriptor pointwise(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  pointwise.set(CUDNN_ATTR_POINTWISE_MODE, mode)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT)
      .finalize("a step");
  return pointwise;
}

cudnnDataType_t type_of(DataType type) {
  switch (type) {
    case DataType::f32: return CUDNN_DATA_FLOAT;
    case DataType::bf16: return CUDNN_DATA_BFLOAT16;
    case DataType::f16: return CUDNN_DATA_HALF;
    default: throw KernelError("a convolution of " + std::string(name_of(type)));
  }
}

Descriptor tensor_of(int64_t uid, DataType type, const IntList& dims, const IntList& strides, bool is_virtual) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, uid)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type_of(type))
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, list(dims))
      .set(CUDNN_ATTR_TENSOR_STRIDES, list(strides))
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  if (is_virtual) tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  tensor.finalize("a tensor");
  return tensor;
}

// The three operations differ only in names.
struct Names {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t convolution, x, w, y, alpha, beta;
};

Names names_of(Direction direction) {
  switch (direction) {
    case Direction::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case Direction::backward_data:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case Direction::backward_weights: break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

}  // namespace

const Descriptor& Graph::keep(Descriptor descriptor) {
  return *kept_.emplace_back(std::make_unique<Descriptor>(std::move(descriptor)));
}

const Descriptor& Graph::tensor(Uid uid, const TensorDesc& desc) {
  uids_.push_back(uid);
  return keep(tensor_of(static_cast<int64_t>(uid), desc.type, desc.dims, strides_of(desc), false));
}

// In f32: nothing is rounded between the operations of a graph.
const Descriptor& Graph::intermediate(const TensorDesc& desc) {
  const int64_t uid = kFirstIntermediate + static_cast<int64_t>(kept_.size());
  return keep(tensor_of(uid, DataType::f32, desc.dims, strides_of(desc), true));
}

DataType narrow_factors(const Convolution& given) {
  const auto common = [](const TensorDesc& a, const TensorDesc& b) {
    return is_narrow(a.type) && a.type == b.type ? a.type : DataType::f32;
  };
  switch (given.direction) {
    case Direction::forward: return common(given.x, given.w);
    case Direction::backward_data: return common(given.y, given.w);
    case Direction::backward_weights: break;
  }
  return common(given.x, given.y);
}

Graph::Graph(const Convolution& given) : convolution_(given) {
  const auto result = [&](bool last) -> const Descriptor& {
    return last ? tensor(Uid::y, given.y) : intermediate(given.y);
  };
  const Names names = names_of(given.direction);
  const Descriptor* value = &result(!given.bias && !given.relu);
  Descriptor operation(names.operation);
  operation.set(names.x, tensor(Uid::x, given.x))
      .set(names.w, tensor(Uid::w, given.w))
      .set(names.y, *value)
      .set(names.convolution, keep(convolution_of(given.attrs)))
      .set(names.alpha, 1.0F)
      .set(names.beta, given.accumulate ? 1.0F : 0.0F)
      .finalize("the convolution's operation");
  operations_.push_back(std::move(operation));
  if (given.bias) {
    IntList one_each = given.y.dims;
    for (size_t axis = 0; axis < one_each.size(); ++axis)
      if (axis != 1) one_each[axis] = 1;
    const Descriptor& sum = result(!given.relu);
    Descriptor add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    add.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, keep(pointwise_of(CUDNN_POINTWISE_ADD)))
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *value)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensor(Uid::b, {given.y.type, one_each, given.y.layout}))
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, sum)
        .finalize("the addition of the bias");
    operations_.push_back(std::move(add));
    value = &sum;
  }
  if (given.relu) {
    Descriptor relu(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    relu.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, keep(pointwise_of(CUDNN_POINTWISE_RELU_FWD)))
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *value)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result(true))
        .finalize("the relu");
    operations_.push_back(std::move(relu));
  }
  graph_ = Descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (!device_is_described()) graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle());
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_).finalize("the graph of a convolution");
}

}  // namespace plimsoll::cudnn
