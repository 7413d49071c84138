#include "compiler/network/simplify/rows.h"

#include <algorithm>

#include "compiler/network/simplify/fold.h"
#include "compiler/ops/slice_range.h"

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

  // Integers of an attribute, or of a known input; empty if neither exists.
  std::optional<std::vector<int64_t>> integers_of(const ModelNode& node, const char* attribute, size_t input) {
    if (const auto* given = find_attribute(node, attribute)) return given->integers();
    if (input >= node.inputs.size() || node.inputs[input].empty()) return std::vector<int64_t>();
    const KnownValue* known = table_.known(table_.find(node.inputs[input]));
    if (!known || known->real() || known->depends_on_batch() || *known->elements() > kMaxRank) return std::nullopt;
    std::vector<int64_t> items;
    for (size_t i = 0; i < static_cast<size_t>(*known->elements()); ++i) items.push_back(known->integer(i).value);
    return items;
  }

  // Stops at depth kDeepest.
  RowsOf look_through(const std::string& name, int depth, int& values) {
    using Ints = std::vector<int64_t>;
    const Dims* dims = table_.dims(table_.find(name));
    if (!dims || dims->empty() || (*dims)[0].batch || ++values > kMostValues) return {};
    const RowsOf itself = {.rows = {{name, 0, (*dims)[0].value, (*dims)[0].value}}};
    const auto maker = uses_.maker.find(name);
    if (maker == uses_.maker.end() || depth == kDeepest || !is_of_onnx(model_.nodes[maker->second])) return itself;
    const ModelNode& node = model_.nodes[maker->second];
    if (node.op == "Identity") return look_through(node.inputs[0], depth + 1, values);
    if (node.op == "Unsqueeze") {
      RowsOf below = look_through(node.inputs[0], depth + 1, values);
      if (below.in_front || integers_of(node, "axes", 1) != Ints{0}) return itself;
      below.in_front = true;
      return below;
    }
    if (node.op == "Concat") {
      const auto* axis = find_attribute(node, "axis");
      if (!axis || axis->integer() != 0) return itself;
      RowsOf whole;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const RowsOf part = look_through(node.inputs[i], depth + 1, values);
        if (part.rows.empty() || (i > 0 && part.in_front != whole.in_front)) return itself;
        whole.in_front = part.in_front;
        whole.rows.insert(whole.rows.end(), part.rows.begin(), part.rows.end());
      }
      return whole;
    }
    if (node.op == "Slice") {
      const auto starts = integers_of(node, "starts", 1), ends = integers_of(node, "ends", 2),
                 axes = integers_of(node, "axes", 3), steps = integers_of(node, "steps", 4);
      const bool of_rows = starts && ends && axes && steps && starts->size() == 1 && ends->size() == 1 &&
                           (axes->empty() || *axes == Ints{0}) && (steps->empty() || *steps == Ints{1});
      const RowsOf below = of_rows ? look_through(node.inputs[0], depth + 1, values) : RowsOf{};
      if (below.rows.empty() || below.in_front) return itself;
      int64_t all = 0;
      for (const Rows& part : below.rows) all += part.count;
      const SliceRange range = slice_range((*starts)[0], (*ends)[0], 1, all);
      return {.rows = cut_rows(below.rows, range.first, range.count)};
    }
    return itself;
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
