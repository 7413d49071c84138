#include "compiler/network/simplify/attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "compiler/network/simplify/graph_order.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

// The alternatives of ModelAttribute::value, in order.
AttributeKind kind_of(const ModelAttribute& attribute) { return static_cast<AttributeKind>(attribute.value.index()); }

// The rule of the attribute in this opset; nullptr: none.
const AttributeRule* find_rule(const Op& op, std::string_view name, int64_t opset) {
  const auto holds = [&](const AttributeRule& rule) {
    return rule.name == name && opset >= rule.first_opset && opset <= rule.last_opset;
  };
  const auto found = std::find_if(op.attributes.begin(), op.attributes.end(), holds);
  return found == op.attributes.end() ? nullptr : found;
}

std::string_view in_words(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::integer: return "an integer";
    case AttributeKind::real: return "a real number";
    case AttributeKind::text: return "a string";
    case AttributeKind::integers: return "a list of integers";
    case AttributeKind::reals: return "a list of real numbers";
    case AttributeKind::tensor: return "a tensor";
    case AttributeKind::texts: return "a list of strings";
    default: return "of an unknown type";
  }
}

}  // namespace

Status check_attributes(const Model& model, int64_t opset) {
  for (const ModelNode& node : model.nodes) {
    // Unsupported operators are reported later.
    const Op* op = is_of_onnx(node) && !node.newest ? find_onnx_op(node.op) : nullptr;
    if (!op) continue;
    for (const ModelAttribute& attribute : node.attributes) {
      const auto invalid = [&](const std::string& what) {
        return Error{ExitCode::invalid_model, fmt::format("{}: {}", describe(node), what)};
      };
      const AttributeRule* rule = find_rule(*op, attribute.name, opset);
      if (!rule) return invalid(fmt::format("it has no attribute '{}' in opset {} of ONNX", attribute.name, opset));
      if (rule->kind != AttributeKind::any && kind_of(attribute) != rule->kind)
        return invalid(fmt::format("attribute '{}' is {}; expected {}", attribute.name, in_words(kind_of(attribute)),
                                   in_words(rule->kind)));
      if (!rule->words.empty() &&
          std::find(rule->words.begin(), rule->words.end(), attribute.text()) == rule->words.end())
        return invalid(fmt::format("attribute '{}' is '{}'; ONNX allows {}", attribute.name, attribute.text(),
                                   fmt::join(rule->words, ", ")));
    }
  }
  return {};
}

}  // namespace plimsoll
