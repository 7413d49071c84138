#include "runtime/cuda/cudnn/convolution.h"

#include <algorithm>
#include <array>

namespace plimsoll::cudnn {
namespace {

// cuDNN uses the order of ONNX's dimensions for every layout; only the strides express the layout.
IntList strides_of(const TensorDesc& tensor) {
  const IntList& dims = tensor.dims;
  if (tensor.layout == Layout::nhwc) return {dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3], dims[1]};
  if (tensor.layout != Layout::plain)
    throw KernelError("convolutions take no tensors in layout " + std::string(name_of(tensor.layout)));
  return dense_strides(dims);
}

Descriptor convolution_of(const ConvAttrs& attrs) {
  const auto pads = list_of(attrs.pads);
  const auto middle = pads.begin() + static_cast<int64_t>(pads.size() / 2);
  Descriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<int64_t>(attrs.strides.size()))
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, std::vector<int64_t>(pads.begin(), middle))
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, std::vector<int64_t>(middle, pads.end()))
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, list_of(attrs.dilations))
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, list_of(attrs.strides))
      .finalize("the convolution");
  return convolution;
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

bool is_wrong(const Convolution& convolution, int64_t engine) {
  // Compared on an H200 with cuDNN 9.19.
  static constexpr std::array kForward = {0, 35, 38, 41, 46, 48, 67, 70, 71};
  static constexpr std::array kBackwardData = {0, 28, 56, 58, 60, 65, 71, 74, 76};
  static constexpr std::array kBackwardWeights = {0, 23, 34, 48, 50, 67, 68};
  const auto is_among = [&](const auto& right) { return std::find(right.begin(), right.end(), engine) != right.end(); };
  const IntList& pads = convolution.attrs.pads;
  const size_t axes = pads.size() / 2;
  const auto after = pads.begin() + static_cast<ptrdiff_t>(axes);
  if (!std::equal(pads.begin(), after, after))
    switch (convolution.direction) {
      case Direction::forward: return !is_among(kForward);
      case Direction::backward_data: return !is_among(kBackwardData);
      case Direction::backward_weights: return !is_among(kBackwardWeights);
    }
  return axes == 3 && convolution.direction == Direction::backward_weights && engine == 1;
}

Graph graph_of(const Convolution& given) {
  Graph graph;
  graph.factors = narrow_factors(given);
  graph.is_wrong = [given](int64_t engine) { return is_wrong(given, engine); };
  const auto tensor = [&](Uid uid, const TensorDesc& desc) -> const Descriptor& {
    return graph.tensor(static_cast<int64_t>(uid), {desc.type, desc.dims, strides_of(desc)});
  };
  // Between the operations of a graph nothing is rounded: the values are in f32.
  const auto result = [&](bool last) -> const Descriptor& {
    return last ? tensor(Uid::y, given.y) : graph.intermediate({DataType::f32, given.y.dims, strides_of(given.y)});
  };
  const Names names = names_of(given.direction);
  const Descriptor* value = &result(!given.bias && !given.relu);
  Descriptor operation(names.operation);
  operation.set(names.x, tensor(Uid::x, given.x))
      .set(names.w, tensor(Uid::w, given.w))
      .set(names.y, *value)
      .set(names.convolution, graph.keep(convolution_of(given.attrs)))
      .set(names.alpha, 1.0F)
      .set(names.beta, given.accumulate ? 1.0F : 0.0F);
  graph.add(std::move(operation), "the convolution's operation");
  if (given.bias) {
    IntList one_each = given.y.dims;
    for (size_t axis = 0; axis < one_each.size(); ++axis)
      if (axis != 1) one_each[axis] = 1;
    const Descriptor& sum = result(!given.relu);
    graph.pointwise(CUDNN_POINTWISE_ADD, *value, sum,
                    {.b = &tensor(Uid::b, {given.y.type, one_each, given.y.layout})});
    value = &sum;
  }
  if (given.relu) graph.pointwise(CUDNN_POINTWISE_RELU_FWD, *value, result(true));
  graph.finish("the graph of a convolution");
  return graph;
}

}  // namespace plimsoll::cudnn
