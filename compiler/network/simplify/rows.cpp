#include "compiler/network/simplify/rows.h"

#include <algorithm>

#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

// Exporters' chains are five nodes deep. Longer ones are not followed, because in a malicious one the work could double
// at each step.
constexpr int kDeepest = 12, kMostValues = 1024;

// `count` rows of a list, starting at `first`.
std::vector<Rows> cut_rows(const std::vector<Rows>& rows, int64_t first, int64_t count) {
  std::vector<Rows> kept;
  int64_t at = 0;
  for (const Rows& part : rows) {
    const int64_t from = std::max(first, at), to = std::min(first + count, at + part.count);
    if (from < to) kept.push_back({part.name, part.first + from - at, to - from, part.whole});
    at += part.count;
  }
  return kept;
}

// Rows that look_through() found. in_front: the value has a leading dimension of 1.
struct RowsOf {
  std::vector<Rows> rows = {};
  bool in_front = false;
};

class RowSearch {
 public:
  RowSearch(const Model& model, const GraphUses& uses, ValueTable& table) : model_(model), uses_(uses), table_(table) {}

  std::vector<KnownInput> known_of(const ModelNode& node) {
    std::vector<KnownInput> inputs;
    for (const std::string& name : node.inputs)
      inputs.push_back(name.empty() ? KnownInput{}
                                    : KnownInput{table_.known(table_.find(name)), table_.dims(table_.find(name)), {}});
    return inputs;
  }

  // Stops at depth kDeepest.
  RowsOf look_through(const std::string& name, int depth, int& values) {
    const Dims* dims = table_.dims(table_.find(name));
    if (!dims || dims->empty() || (*dims)[0].batch || ++values > kMostValues) return {};
    const RowsOf itself = {.rows = {{name, 0, (*dims)[0].value, (*dims)[0].value}}};
    const auto maker = uses_.maker.find(name);
    if (maker == uses_.maker.end() || depth == kDeepest || !is_of_onnx(model_.nodes[maker->second])) return itself;
    const ModelNode& node = model_.nodes[maker->second];
    const Op* op = find_onnx_op(node.op);
    const auto made = op && op->rows ? op->rows({node, model_.opset, known_of(node)}) : std::nullopt;
    if (!made) return itself;
    RowsOf whole;
    for (const InputRows& part : made->rows) {
      const std::string& input = node.inputs[part.input];
      const RowsOf below = look_through(input, depth + 1, values);
      if (below.rows.empty()) return itself;
      // A dimension before that of the rows is neither cut nor followed by another.
      const bool all = part.first == 0 && part.count == (*table_.dims(table_.find(input)))[0].value;
      if (below.in_front && (made->in_front || !all)) return itself;
      if (&part != &made->rows[0] && below.in_front != whole.in_front) return itself;
      whole.in_front = below.in_front;
      const std::vector<Rows> kept = below.in_front ? below.rows : cut_rows(below.rows, part.first, part.count);
      whole.rows.insert(whole.rows.end(), kept.begin(), kept.end());
    }
    whole.in_front = whole.in_front || made->in_front;
    return whole;
  }

 private:
  const Model& model_;
  const GraphUses& uses_;
  ValueTable& table_;
};

}  // namespace

std::vector<Rows> rows_of(const Model& model, const GraphUses& uses, ValueTable& table, const std::string& name) {
  int values = 0;
  const RowsOf found = RowSearch(model, uses, table).look_through(name, 0, values);
  return found.in_front && values <= kMostValues ? found.rows : std::vector<Rows>();
}

}  // namespace plimsoll
