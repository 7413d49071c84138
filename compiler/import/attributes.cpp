#include "compiler/import/attributes.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>

#include "compiler/import/graph_order.h"
#include "compiler/import/load.h"

namespace plimsoll {
namespace {

using onnx::AttributeProto;

// Names that mean the same wherever ONNX has them.
std::optional<AttributeProto::AttributeType> type_of(std::string_view name) {
  static constexpr std::array<std::pair<AttributeProto::AttributeType, std::string_view>, 5> kNames = {{
      {AttributeProto::INT,
       " allowzero axis batch_dims blocksize broadcast ceil_mode count_include_pad end exclusive group ignore_index is_causal keepdims left_window_size "
       "noop_with_empty_axes num_groups num_outputs right_window_size select_last_index size start storage_order to training_mode transA transB upper "
       "value_int "},
      {AttributeProto::FLOAT, " alpha beta bias cubic_coeff_a epsilon extrapolation_value gamma lambd max min momentum ratio value_float "},
      {AttributeProto::STRING, " approximate auto_pad coordinate_transformation_mode equation keep_aspect_ratio_policy mode nearest_mode "
                               "reduction value_string "},
      {AttributeProto::INTS, " axes dilations ends kernel_shape output_padding output_shape pads perm starts strides value_ints "},
      {AttributeProto::FLOATS, " value_floats "},
  }};
  for (const auto& [type, names] : kNames)
    if (names.find(fmt::format(" {} ", name)) != std::string_view::npos) return type;
  return std::nullopt;
}

// What the compiler tells a node's kernels (fused_relu.h, class_loss.h), by names that are nobody else's.
bool is_ours(std::string_view name) { return name == "relu" || name == "classes_last"; }

std::string_view in_words(AttributeProto::AttributeType type) {
  switch (type) {
    case AttributeProto::INT: return "a whole number";
    case AttributeProto::FLOAT: return "a real number";
    case AttributeProto::STRING: return "a text";
    case AttributeProto::INTS: return "a list of whole numbers";
    case AttributeProto::FLOATS: return "a list of real numbers";
    case AttributeProto::TENSOR: return "a tensor";
    case AttributeProto::STRINGS: return "a list of texts";
    default: return "none of these";
  }
}

}  // namespace

Status check_attributes(const onnx::GraphProto& graph) {
  for (const onnx::NodeProto& node : graph.node()) {
    if (!is_onnx_domain(node.domain())) continue;
    for (const AttributeProto& attribute : node.attribute()) {
      if (is_ours(attribute.name()))
        return Error{ExitCode::invalid_model, fmt::format("{}: ONNX has no attribute '{}'", describe(node), attribute.name())};
      const auto wanted = type_of(attribute.name());
      if (wanted && attribute.type() != *wanted)
        return Error{ExitCode::invalid_model, fmt::format("{}: its attribute '{}' is {} when it should be {}", describe(node),
                                                          attribute.name(), in_words(attribute.type()), in_words(*wanted))};
    }
  }
  return {};
}

}  // namespace plimsoll
