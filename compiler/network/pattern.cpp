#include "compiler/network/pattern.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/network/prune.h"
#include "compiler/network/value_uses.h"

namespace plimsoll {
namespace {

// Backtracking search: a goal is a value that must match a term, and `next` is what must hold as well. The recursion
// depth is the size of the pattern, independent of the network.
class Matcher {
 public:
  Matcher(const Network& network, const ValueUses& uses, const Pattern& pattern)
      : network_(network), uses_(uses), pattern_(pattern), match_{.network = network} {}

  std::optional<Match> at(NodeId root) {
    const Goal goal{&pattern_.tree, network_.nodes[root].outputs[0], nullptr};
    return solve(&goal) ? std::optional(match_) : std::nullopt;
  }

 private:
  struct Goal {
    const Term* term;
    ValueId value;
    const Goal* next;
  };

  bool solve(const Goal* goal) {
    if (!goal) return !pattern_.where || pattern_.where(match_);
    if (!goal->value.valid()) return false;
    const Term& term = *goal->term;
    switch (term.kind) {
      case Term::Kind::hole:
        return bind(match_.values, term.name, goal->value, goal->next);
      case Term::Kind::number: {
        const auto number = number_of(goal->value);
        return number && std::abs(*number - term.wanted) <= 1e-4 * std::abs(term.wanted) && solve(goal->next);
      }
      case Term::Kind::any_number: {
        const auto number = number_of(goal->value);
        return number && bind(match_.numbers, term.name, *number, goal->next);
      }
      case Term::Kind::one_of:
        for (const Term& alternative : term.operands) {
          const Goal other{&alternative, goal->value, goal->next};
          if (solve(&other)) return true;
        }
        return false;
      case Term::Kind::node:
        return solve_node(*goal);
    }
    return false;
  }

  bool solve_node(const Goal& goal) {
    const Term& term = *goal.term;
    const NodeId id = uses_.maker[goal.value];
    if (!id.valid()) return false;
    const Node& node = network_.nodes[id];
    if (node.op != term.op || node.outputs[0] != goal.value || node.inputs.size() < term.operands.size()) return false;
    if (term.sole && uses_.readers[goal.value] != 1) return false;
    const NodeId* const known = Match::find(match_.nodes, term.name);
    if (known && !(*known == id)) return false;
    const size_t count = match_.nodes.size();
    if (!known && !term.name.empty()) match_.nodes.emplace_back(term.name, id);
    const bool either_order =
        term.operands.size() == 2 && node.inputs.size() == 2 && (node.op == "Add" || node.op == "Mul");
    for (size_t turn = 0; turn < (either_order ? 2U : 1U); ++turn) {
      std::vector<Goal> goals(term.operands.size());
      const Goal* next = goal.next;
      for (size_t i = goals.size(); i-- > 0; next = &goals[i])
        goals[i] = {&term.operands[i], node.inputs[turn == 0 ? i : 1 - i], next};
      if (solve(next)) return true;
    }
    match_.nodes.resize(count);
    return false;
  }

  template <class T>
  bool bind(std::vector<std::pair<std::string_view, T>>& bound, std::string_view name, T item, const Goal* next) {
    if (const T* known = Match::find(bound, name)) return *known == item && solve(next);
    bound.emplace_back(name, item);
    if (solve(next)) return true;
    bound.pop_back();
    return false;
  }

  std::optional<double> number_of(ValueId value) const {
    const Value& operand = network_.values[value];
    // An operator that takes tensors only, such as Max, reads a number as a parameter that is not trained.
    if (operand.kind == ValueKind::parameter && !operand.trainable) return operand.number;
    const auto& constant = operand.constant;
    if (!constant) return std::nullopt;
    if (constant->reals.size() == 1) return constant->reals[0];
    if (constant->ints.size() == 1) return static_cast<double>(constant->ints[0]);
    return std::nullopt;
  }

  const Network& network_;
  const ValueUses& uses_;
  const Pattern& pattern_;
  Match match_;
};

// Whether a node of the operator can match the term.
bool may_be(const Term& term, std::string_view op) {
  if (term.kind != Term::Kind::one_of) return term.kind == Term::Kind::node && term.op == op;
  return std::any_of(term.operands.begin(), term.operands.end(),
                     [&](const Term& alternative) { return alternative.op == op; });
}

// Whether there was a match. `uses`: of the network before, if known.
bool replace_each(Network& network, const Pattern& pattern, std::optional<ValueUses>& uses) {
  bool found = false;
  for (const NodeId id : ids_of(network.nodes)) {
    if (!may_be(pattern.tree, network.nodes[id].op)) continue;
    if (!uses) uses.emplace(network);
    const auto match = Matcher(network, *uses, pattern).at(id);
    if (!match) continue;
    found = true;
    std::map<std::string, NodeAttribute> attributes =
        pattern.attributes ? pattern.attributes(*match) : std::map<std::string, NodeAttribute>{};
    Node& node = network.nodes[id];
    node.attributes = std::move(attributes);
    if (pattern.mark) pattern.mark(node.marks);
    node.inputs.clear();
    for (const std::string_view input : pattern.inputs) node.inputs.push_back(match->id(input));
    node.op = pattern.becomes;
    if (pattern.opset > 0) node.opset = pattern.opset;
  }
  return found;
}

}  // namespace

void replace_matches(Network& network, std::span<const Pattern> patterns) {
  std::optional<ValueUses> uses;
  for (const Pattern& pattern : patterns) {
    if (!replace_each(network, pattern, uses)) continue;
    prune_dead_nodes(network);
    uses.reset();
  }
}

}  // namespace plimsoll
