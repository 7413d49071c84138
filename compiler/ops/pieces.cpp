#include "compiler/ops/pieces.h"

namespace plimsoll {

LayoutRule pieces_layout(const NodeView& node) {
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && node.input(i).kind == ValueKind::parameter) return LayoutRule::plain;
  return LayoutRule::channels;
}

void split(TaskBuilder& build, TaskKind kind, size_t axis, const Operand& whole, const std::vector<Operand>& pieces,
           const std::vector<int64_t>& extents) {
  int64_t at = 0;
  TaskSpec run;
  const auto finish = [&] {
    if (!run.operands.empty()) build.task(std::exchange(run, {}));
  };
  for (size_t i = 0; i < pieces.size(); at += extents[i++]) {
    if (pieces[i].access == Access::absent) {
      finish();
      continue;
    }
    if (run.operands.empty()) {
      run.kernel = "Split";
      run.kind = kind;
      run.attributes = to_attributes(PiecesAttrs{.axis = static_cast<int64_t>(axis), .first = at});
      run.operands.push_back(whole);
    }
    run.operands.push_back(pieces[i]);
  }
  finish();
}

}  // namespace plimsoll
