#include "compiler/ops/node_view.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

const NodeAttribute* find(const Node& node, std::string_view attribute) {
  const auto found = node.attributes.find(std::string(attribute));
  return found == node.attributes.end() ? nullptr : &found->second;
}

template <class T>
const T* find_typed(const Node& node, std::string_view attribute) {
  const NodeAttribute* found = find(node, attribute);
  return found ? std::get_if<T>(found) : nullptr;
}

template <class T>
T get_or(const Node& node, std::string_view attribute, T missing) {
  const T* typed = find_typed<T>(node, attribute);
  return typed ? *typed : missing;
}

}  // namespace

bool NodeView::has(std::string_view attribute) const { return find(node_, attribute) != nullptr; }

int64_t NodeView::integer(std::string_view attribute, int64_t missing) const {
  return get_or<int64_t>(node_, attribute, missing);
}

double NodeView::real(std::string_view attribute, double missing) const {
  return get_or<double>(node_, attribute, missing);
}

std::string NodeView::text(std::string_view attribute, std::string_view missing) const {
  return get_or<std::string>(node_, attribute, std::string(missing));
}

std::vector<int64_t> NodeView::integers(std::string_view attribute, std::vector<int64_t> missing) const {
  return get_or<std::vector<int64_t>>(node_, attribute, std::move(missing));
}

const std::vector<int64_t>* NodeView::find_integers(std::string_view attribute) const {
  return find_typed<std::vector<int64_t>>(node_, attribute);
}

std::optional<std::vector<int64_t>> NodeView::constant_integers(size_t i) const {
  if (!has_input(i) || !input(i).constant) return std::nullopt;
  return input(i).constant->ints;
}

std::optional<double> NodeView::constant_real(size_t i) const {
  if (!has_input(i) || !input(i).constant) return std::nullopt;
  const ConstantData& data = *input(i).constant;
  if (data.reals.size() == 1) return data.reals[0];
  if (data.ints.size() == 1) return static_cast<double>(data.ints[0]);
  return std::nullopt;
}

std::optional<std::vector<double>> NodeView::constant_reals(size_t i) const {
  if (!has_input(i) || !input(i).constant) return std::nullopt;
  return input(i).constant->reals;
}

std::string NodeView::describe() const {
  if (node_.module_path.empty()) return fmt::format("node '{}' ({})", node_.name, node_.op);
  return fmt::format("node '{}' ({}, {})", node_.name, node_.op, node_.module_path);
}

Error NodeView::error(ExitCode code, std::string_view what) const {
  return Error{code, fmt::format("{}: {}", describe(), what)};
}

}  // namespace plimsoll
