// A pattern describes the nodes that one node replaces. It is data: a tree of operators whose leaves are holes and
// numbers, a condition, and a replacement. The table is in composites.cpp.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ops/node_view.h"

namespace plimsoll {

// The requirements on a value. A name that occurs twice must match the same value, node or number.
struct Term {
  enum class Kind { hole, number, any_number, node, one_of };
  Kind kind = Kind::hole;
  std::string_view name = {};  // empty: used by neither the condition nor the replacement
  double wanted = 0;           // of a number: matches within 1e-4
  std::string_view op = {};    // of a node
  bool sole = false;           // of a node: the pattern is the only reader of its output
  std::vector<Term> operands =
      {};  // the first inputs of a node (for Add and Mul in either order), or the alternatives of one_of

  Term named(std::string_view given) const {
    Term term = *this;
    term.name = given;
    return term;
  }
};

namespace pattern {

inline Term hole(std::string_view name) { return {.name = name}; }
inline Term number(double wanted) { return {.kind = Term::Kind::number, .wanted = wanted}; }
inline Term any_number(std::string_view name) { return {.kind = Term::Kind::any_number, .name = name}; }
inline Term node(std::string_view op, std::vector<Term> operands) {
  return {.kind = Term::Kind::node, .op = op, .operands = std::move(operands)};
}
inline Term one_of(std::vector<Term> alternatives) {
  return {.kind = Term::Kind::one_of, .operands = std::move(alternatives)};
}

// The output of every node that matches the term has a single reader.
inline Term sole(Term term) {
  term.sole = term.kind == Term::Kind::node;
  if (term.kind == Term::Kind::one_of)
    for (Term& alternative : term.operands) alternative = sole(std::move(alternative));
  return term;
}

}  // namespace pattern

// What the names of a pattern refer to in a match. Looking up a name that the pattern does not have is a bug.
struct Match {
  const Network& network;
  std::vector<std::pair<std::string_view, ValueId>> values = {};
  std::vector<std::pair<std::string_view, NodeId>> nodes = {};
  std::vector<std::pair<std::string_view, double>> numbers = {};

  template <class T>
  static const T* find(const std::vector<std::pair<std::string_view, T>>& bound, std::string_view name) {
    for (const auto& [known, item] : bound)
      if (known == name) return &item;
    return nullptr;
  }
  ValueId id(std::string_view name) const { return *find(values, name); }
  const Value& value(std::string_view name) const { return network.values[id(name)]; }
  const TensorType& type(std::string_view name) const { return value(name).type; }
  NodeView node(std::string_view name) const { return {network, network.nodes[*find(nodes, name)]}; }
  double number(std::string_view name) const { return *find(numbers, name); }
};

struct Pattern {
  std::string_view becomes;              // an operator
  int opset = 0;                         // 0: the opset of the last node of the tree
  std::vector<std::string_view> inputs;  // names of holes
  Term tree;                             // its root is the node that is replaced
  bool (*where)(const Match&) = nullptr;
  std::map<std::string, NodeAttribute> (*attributes)(const Match&) = nullptr;
  void (*mark)(NodeMarks&) = nullptr;  // marks added to those of the replaced node
};

// Replaces every match of each pattern, one pattern after the other. Types do not change: the new node computes what
// the last node of the tree computed. Nodes that are no longer read are removed.
void replace_matches(Network& network, std::span<const Pattern> patterns);

}  // namespace plimsoll
