#include "compiler/network/simplify/attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/network/simplify/graph_order.h"

namespace plimsoll {
namespace {

// What an attribute holds, as its value does (compiler/ir/model.h).
enum class Kind : size_t { none, integer, real, text, integers, reals, texts, tensor };

Kind kind_of(const ModelAttribute& attribute) { return static_cast<Kind>(attribute.value.index()); }

// Names that mean the same wherever ONNX has them.
std::optional<Kind> type_of(std::string_view name) {
  static constexpr std::array<std::pair<Kind, std::string_view>, 5> kNames = {{
      {Kind::integer,
       " allowzero axis batch_dims blocksize broadcast ceil_mode count_include_pad end exclusive group ignore_index is_causal k keepdims largest left_window_size "
       "noop_with_empty_axes num_groups num_outputs reverse right_window_size select_last_index size sorted start storage_order to training_mode transA transB upper "
       "value_int "},
      {Kind::real, " alpha beta bias cubic_coeff_a epsilon extrapolation_value gamma lambd max min momentum ratio value_float "},
      {Kind::text, " approximate auto_pad coordinate_transformation_mode direction equation keep_aspect_ratio_policy mode nearest_mode "
                               "reduction value_string "},
      {Kind::integers, " axes dilations ends kernel_shape output_padding output_shape pads perm starts strides value_ints "},
      {Kind::reals, " value_floats "},
  }};
  for (const auto& [type, names] : kNames)
    if (names.find(fmt::format(" {} ", name)) != std::string_view::npos) return type;
  return std::nullopt;
}

// The attributes of each operator that is read, as ONNX 1.23 has them. `name@13-` is there from opset 13 on, `name@-12` up to 12.
const std::unordered_map<std::string_view, std::string_view>& attributes_by_operator() {
  static const std::unordered_map<std::string_view, std::string_view> kAttributes = {
      {"Abs", ""}, {"Add", ""}, {"And", ""},
      {"ArgMax", "axis keepdims select_last_index@12-"}, {"ArgMin", "axis keepdims select_last_index@12-"},
      {"Attention", "is_causal@23- kv_num_heads@23- left_window_size@25- q_num_heads@23- "
                    "qk_matmul_output_mode@23- right_window_size@25- scale@23- softcap@23- softmax_precision@23-"},
      {"AveragePool", "auto_pad ceil_mode@10- count_include_pad dilations@19- kernel_shape pads strides"},
      {"BatchNormalization", "epsilon momentum spatial@-8 training_mode@14-"}, {"Bernoulli", "dtype@15- seed@15-"},
      {"Cast", "round_mode@24- saturate@19- to"}, {"CastLike", "round_mode@24- saturate@19-"}, {"Ceil", ""},
      {"Clip", "max@-10 min@-10"}, {"Concat", "axis"},
      {"Constant", "sparse_value@11- value value_float@12- value_floats@12- value_int@12- "
                   "value_ints@12- value_string@12- value_strings@12-"},
      {"ConstantOfShape", "value@9-"}, {"Conv", "auto_pad dilations group kernel_shape pads strides"},
      {"ConvTranspose", "auto_pad dilations group kernel_shape output_padding output_shape pads strides"},
      {"Cos", ""}, {"CumSum", "exclusive reverse"}, {"DepthToSpace", "blocksize mode@11-"}, {"Div", ""}, {"Dropout", "ratio@-11 seed@12-"},
      {"Einsum", "equation@12-"}, {"Elu", "alpha"}, {"Equal", ""}, {"Erf", ""}, {"Exp", ""}, {"Expand", ""},
      {"Flatten", "axis"}, {"Floor", ""},
      {"GRU", "activation_alpha activation_beta activations clip direction hidden_size layout@14- "
              "linear_before_reset"},
      {"Gather", "axis"}, {"GatherElements", "axis"}, {"GatherND", "batch_dims@12-"}, {"Gelu", "approximate@20-"},
      {"Gemm", "alpha beta transA transB"}, {"GlobalAveragePool", ""}, {"GlobalMaxPool", ""}, {"Greater", ""},
      {"GreaterOrEqual", ""}, {"GroupNormalization", "epsilon@18- num_groups@18- stash_type@21-"},
      {"HardSigmoid", "alpha beta"}, {"HardSwish", ""}, {"Identity", ""}, {"InstanceNormalization", "epsilon"},
      {"LRN", "alpha beta bias size"},
      {"LSTM", "activation_alpha activation_beta activations clip direction hidden_size input_forget layout@14-"},
      {"LayerNormalization", "axis@17- epsilon@17- stash_type@17-"}, {"LeakyRelu", "alpha"}, {"Less", ""},
      {"LessOrEqual", ""}, {"Log", ""}, {"LogSoftmax", "axis"}, {"MatMul", ""}, {"Max", ""},
      {"MaxPool", "auto_pad ceil_mode@10- dilations@10- kernel_shape pads storage_order@8- strides"}, {"Min", ""},
      {"Mish", ""}, {"Mod", "fmod@10-"}, {"Mul", ""}, {"Neg", ""},
      {"NegativeLogLikelihoodLoss", "ignore_index@12- reduction@12-"}, {"Not", ""}, {"OneHot", "axis"}, {"Or", ""}, {"PRelu", ""},
      {"Pad", "mode pads@-10 value@-10"}, {"Pow", ""}, {"RMSNormalization", "axis@23- epsilon@23- stash_type@23-"},
      {"RNN", "activation_alpha activation_beta activations clip direction hidden_size layout@14-"},
      {"RandomNormal", "dtype mean scale seed shape"}, {"RandomNormalLike", "dtype mean scale seed"},
      {"RandomUniform", "dtype high low seed shape"}, {"RandomUniformLike", "dtype high low seed"}, {"Range", "stash_type@27-"}, {"Reciprocal", ""},
      {"ReduceL2", "axes@-17 keepdims noop_with_empty_axes@18-"},
      {"ReduceMean", "axes@-17 keepdims noop_with_empty_axes@18-"},
      {"ReduceProd", "axes@-17 keepdims noop_with_empty_axes@18-"},
      {"ReduceSum", "axes@-12 keepdims noop_with_empty_axes@13-"},
      {"ReduceSumSquare", "axes@-17 keepdims noop_with_empty_axes@18-"}, {"Relu", ""}, {"Reshape", "allowzero@14-"},
      {"Resize", "antialias@18- axes@18- coordinate_transformation_mode@11- cubic_coeff_a@11- "
                 "exclude_outside@11- extrapolation_value@11- keep_aspect_ratio_policy@18- mode@10- "
                 "nearest_mode@11-"},
      {"RotaryEmbedding", "interleaved@23- num_heads@23- rotary_embedding_dim@23-"}, {"ScatterElements", "axis reduction@16-"}, {"ScatterND", "reduction@16-"},
      {"Selu", "alpha gamma"}, {"SequenceAt", ""}, {"Shape", "end@15- start@15-"}, {"Sigmoid", ""}, {"Sign", ""},
      {"Sin", ""}, {"Size", ""}, {"Slice", "axes@-9 ends@-9 starts@-9"}, {"Softmax", "axis"},
      {"SoftmaxCrossEntropyLoss", "ignore_index@12- reduction@12-"}, {"Softplus", ""},
      {"SpaceToDepth", "blocksize mode@28-"}, {"Split", "axis num_outputs@18- split@-12"},
      {"SplitToSequence", "axis@11- keepdims@11-"}, {"Sqrt", ""}, {"Squeeze", "axes@-12"}, {"Sub", ""}, {"Sum", ""},
      {"Swish", "alpha@24-"}, {"Tanh", ""}, {"TensorScatter", "axis@24- mode@24-"},
      {"TopK", "axis k@-9 largest@11- sorted@11-"}, {"Transpose", "perm"},
      {"Trilu", "upper@14-"}, {"Unsqueeze", "axes@-12"}, {"Where", ""},
  };
  return kAttributes;
}

int64_t number_at(std::string_view text, int64_t if_empty) {
  return text.empty() ? if_empty : std::stoll(std::string(text));
}

// Whether the operator has the attribute in this opset. Operators that are not read are named as unsupported later.
bool has_attribute(std::string_view op, std::string_view name, int64_t opset) {
  const auto of_operator = attributes_by_operator().find(op);
  if (of_operator == attributes_by_operator().end()) return true;
  std::string_view left = of_operator->second;
  while (!left.empty()) {
    const std::string_view item = left.substr(0, left.find(' '));
    left.remove_prefix(std::min(left.size(), item.size() + 1));
    const size_t at = item.find('@');
    if (item.substr(0, at) != name) continue;
    if (at == std::string_view::npos) return true;
    const std::string_view range = item.substr(at + 1);
    const size_t dash = range.find('-');
    const int64_t first = number_at(range.substr(0, dash), 0), last = number_at(range.substr(dash + 1), INT64_MAX);
    return opset >= first && opset <= last;
  }
  return false;
}

// The words that ONNX has for an attribute; empty: any.
std::vector<std::string_view> words_of(std::string_view op, std::string_view name) {
  if (name == "auto_pad") return {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  if (name == "approximate") return {"none", "tanh"};
  if (name == "direction") return {"forward", "reverse", "bidirectional"};
  if (name == "nearest_mode") return {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  if (name == "coordinate_transformation_mode")
    return {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",  "align_corners",
            "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
  if (name == "keep_aspect_ratio_policy") return {"stretch", "not_larger", "not_smaller"};
  if (name == "reduction" && (op == "ScatterND" || op == "ScatterElements")) return {"none", "add", "mul", "max", "min"};
  if (name == "reduction") return {"none", "sum", "mean"};
  if (name != "mode") return {};
  if (op == "Resize") return {"nearest", "linear", "cubic"};
  if (op == "Pad") return {"constant", "reflect", "edge", "wrap"};
  if (op == "DepthToSpace") return {"DCR", "CRD"};
  if (op == "TensorScatter") return {"linear", "circular"};
  return {};
}

// What the compiler tells a node's kernels (fused_relu.h, class_loss.h), by names that are nobody else's.
bool is_ours(std::string_view name) { return name == "relu" || name == "classes_last"; }

std::string_view in_words(Kind type) {
  switch (type) {
    case Kind::integer: return "a whole number";
    case Kind::real: return "a real number";
    case Kind::text: return "a text";
    case Kind::integers: return "a list of whole numbers";
    case Kind::reals: return "a list of real numbers";
    case Kind::tensor: return "a tensor";
    case Kind::texts: return "a list of texts";
    default: return "none of these";
  }
}

}  // namespace

Status check_attributes(const Model& model, int64_t opset) {
  for (const ModelNode& node : model.nodes) {
    if (!is_of_onnx(node)) continue;
    for (const ModelAttribute& attribute : node.attributes) {
      const auto invalid = [&](const std::string& what) {
        return Error{ExitCode::invalid_model, fmt::format("{}: {}", describe(node), what)};
      };
      if (is_ours(attribute.name) || !has_attribute(node.op, attribute.name, opset))
        return invalid(fmt::format("ONNX has no attribute '{}' for it in opset {}", attribute.name, opset));
      const auto wanted = type_of(attribute.name);
      if (wanted && kind_of(attribute) != *wanted)
        return invalid(fmt::format("its attribute '{}' is {} when it should be {}", attribute.name, in_words(kind_of(attribute)),
                                   in_words(*wanted)));
      const std::vector<std::string_view> words = words_of(node.op, attribute.name);
      if (!words.empty() && std::find(words.begin(), words.end(), attribute.text()) == words.end())
        return invalid(fmt::format("its attribute '{}' is '{}'; ONNX has {}", attribute.name, attribute.text(),
                                   fmt::join(words, ", ")));
    }
  }
  return {};
}

}  // namespace plimsoll
