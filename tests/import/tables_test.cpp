// What the operators' tables declare about inputs, outputs and attributes, which the simplification of a model uses.
#include <algorithm>
#include <set>

#include "compiler/network/simplify/fold.h"
#include "compiler/network/simplify/spellings.h"
#include "compiler/ops/op.h"
#include "tests/import/model_builder.h"

using namespace plimsoll;

TEST_CASE("an operator without kernels is folded or spelled out") {
  const std::set<std::string_view> by_rules_of_their_own = {"SequenceAt", "SplitToSequence"};
  std::set<std::string_view> read = by_rules_of_their_own;
  for (const std::string_view name : folded_operators()) read.insert(name);
  for (const std::string_view name : spelled_operators()) read.insert(name);
  for (const Op& op : rewritten_ops()) {
    CAPTURE(op.name);
    CHECK(read.contains(op.name));
    CHECK(find_op(op.name) == nullptr);
    CHECK(op.infer == nullptr);
  }
  for (const std::string_view name : read) {
    CAPTURE(name);
    CHECK(find_onnx_op(name) != nullptr);
  }
}

TEST_CASE("a table names an attribute once, in opsets that are read") {
  std::vector<const Op*> ops(all_ops().begin(), all_ops().end());
  for (const Op& op : rewritten_ops()) ops.push_back(&op);
  for (const Op* op : ops) {
    CAPTURE(op->name);
    std::set<std::string_view> names;
    for (const AttributeRule& rule : op->attributes) {
      CHECK(names.insert(rule.name).second);
      CHECK(rule.first_opset <= rule.last_opset);
      CHECK((rule.words.empty() || rule.kind == AttributeKind::text));
    }
    for (const size_t input : op->without_gradient) CHECK(input < 8);
    if (!op->element_type.empty()) CHECK(names.contains(op->element_type));
  }
}

TEST_CASE("marks of a node are no attributes of a file") {
  for (const char* name : {"relu", "classes_last", "label_smoothing", "transposed_a", "transposed_b", "transA",
                           "transB", "detached", "padding_index", "padding_idx", "frozen_statistics"}) {
    CAPTURE(name);
    ModelBuilder build;
    build.input("x", {"N", "4"}).weight("w", {4, 4}, 1, 0);
    ModelBuilder::integer(build.node("MatMul", {"x", "w"}, {"y"}, "product"), name, 1);
    build.output("y");
    const auto imported = build.import();
    REQUIRE_FALSE(imported.ok());
    CHECK(imported.error().code == ExitCode::invalid_model);
  }
}
