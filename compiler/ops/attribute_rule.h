// The attributes that ONNX defines for an operator, listed in the operator's table:
//
//   .attributes = {attribute::text("mode", kPadModes), attribute::integers("pads").until(10),
//                  attribute::integer("axis").since(11)}
#pragma once

#include <limits>
#include <span>
#include <string_view>

#include "compiler/ops/fixed_list.h"

namespace plimsoll {

enum class AttributeKind { any, integer, real, text, integers, reals, texts, tensor };

struct AttributeRule {
  std::string_view name = {};
  AttributeKind kind = AttributeKind::any;
  std::span<const std::string_view> words = {};  // of a text attribute: the values that ONNX allows; empty: any
  int first_opset = 1;
  int last_opset = std::numeric_limits<int>::max();

  constexpr AttributeRule since(int opset) const {
    AttributeRule rule = *this;
    rule.first_opset = opset;
    return rule;
  }
  constexpr AttributeRule until(int opset) const {
    AttributeRule rule = *this;
    rule.last_opset = opset;
    return rule;
  }
  // In no file: the import determines it, and writes it into the network.
  constexpr AttributeRule of_import() const {
    AttributeRule rule = *this;
    rule.first_opset = rule.last_opset = 0;
    return rule;
  }
};

using AttributeRules = FixedList<AttributeRule, 12>;

namespace attribute {

using Words = std::span<const std::string_view>;

constexpr AttributeRule any(std::string_view name) { return {.name = name}; }
constexpr AttributeRule integer(std::string_view name) { return {.name = name, .kind = AttributeKind::integer}; }
constexpr AttributeRule real(std::string_view name) { return {.name = name, .kind = AttributeKind::real}; }
constexpr AttributeRule text(std::string_view name, Words words = {}) {
  return {.name = name, .kind = AttributeKind::text, .words = words};
}
constexpr AttributeRule integers(std::string_view name) { return {.name = name, .kind = AttributeKind::integers}; }
constexpr AttributeRule reals(std::string_view name) { return {.name = name, .kind = AttributeKind::reals}; }
constexpr AttributeRule texts(std::string_view name) { return {.name = name, .kind = AttributeKind::texts}; }
constexpr AttributeRule tensor(std::string_view name) { return {.name = name, .kind = AttributeKind::tensor}; }

// Values that several operators allow.
inline constexpr std::string_view kPaddings[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
inline constexpr std::string_view kReductions[] = {"none", "sum", "mean"};
inline constexpr std::string_view kUpdates[] = {"none", "add", "mul", "max", "min"};  // of a scatter

// Attributes shared by the reductions. The axes became an input in opset `axes_as_input`.
constexpr AttributeRules of_reduction(int axes_as_input) {
  return {integers("axes").until(axes_as_input - 1), integer("keepdims"),
          integer("noop_with_empty_axes").since(axes_as_input)};
}

}  // namespace attribute
}  // namespace plimsoll
