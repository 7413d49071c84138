#include "compiler/network/attention.h"

#include <algorithm>
#include <cmath>

#include "compiler/network/pattern.h"
#include "compiler/ops/dropout.h"
#include "compiler/ops/random_key.h"

namespace plimsoll {
namespace {

constexpr int64_t kLeastScores = 49 * 49;  // a window of Swin
constexpr int64_t kMostSize = 256;  // of a head, as the operator has it
// A number that hides a score: exporters use -1e4 (half precision), -1e9, the least float, and -∞.
constexpr double kHides = -1e4;

bool swaps_last_axes(const NodeView& turn) {
  const auto perm = turn.integers("perm");
  return perm == std::vector<int64_t>{0, 1, 3, 2} || perm == std::vector<int64_t>{0, 2, 1};
}

// The number of queries or keys.
Dim length(const Match& match, std::string_view name) {
  const Dims& dims = match.type(name).dims;
  return dims[dims.size() - 2];
}

// [N, H, S, d] is reshaped to [N·H, S, d], which is transposed, and reshaped to [N, H, d, S].
bool swaps_last_axes_of_rows(const Match& match) {
  const bool repeated = Match::find(match.nodes, "k_heads") != nullptr;
  Dims k = repeated ? match.node("k_heads").output_type(0).dims : match.type("k").dims;
  if (k.size() != 4 || k[1].batch) return false;
  const Dim rows{k[0].value * k[1].value, k[0].batch};
  if (match.node("turn").input_type(0).dims != Dims{rows, k[2], k[3]}) return false;
  std::swap(k[2], k[3]);
  return match.node("turned_heads").output_type(0).dims == k;
}

// The keys are transposed by the product, or by a node before a factor.
bool multiplies_queries_by_keys(const Match& match) {
  const NodeMarks& marks = match.node("product").node().marks;
  const bool turned = Match::find(match.nodes, "turn") != nullptr;
  if (marks.activation != FusedActivation::none || marks.transposed_a || marks.transposed_b == turned) return false;
  if (!turned) return true;
  const bool of_rows = Match::find(match.nodes, "turned_heads") != nullptr;
  return swaps_last_axes(match.node("turn")) && (!of_rows || swaps_last_axes_of_rows(match));
}

// Whether `name` is [N, G, S, d] and the nodes repeat each of its heads R times: [N, G, 1, S, d], [N, G, R, S, d],
// [N, G·R, S, d]. True without such nodes.
bool repeats_heads(const Match& match, std::string_view name, std::string_view by, std::string_view heads) {
  if (!Match::find(match.nodes, by)) return true;
  Dims dims = match.type(name).dims;
  if (dims.size() != 4) return false;
  const NodeView repeated = match.node(by);
  const TensorType &made = repeated.output_type(0), &joined = match.node(heads).output_type(0);
  if (made.rank() != 5 || made.dims[2].batch) return false;
  const Dim times = made.dims[2];
  dims.insert(dims.begin() + 2, Dim{1});
  if (repeated.input_type(0).dims != dims) return false;
  dims[2] = times;
  if (made.dims != dims) return false;
  dims.erase(dims.begin() + 2);
  dims[1].value *= times.value;
  return joined.dims == dims;
}

bool repeats_heads(const Match& match) {
  return repeats_heads(match, "k", "k_repeated", "k_heads") && repeats_heads(match, "v", "v_repeated", "v_heads");
}

// [N, H, T, d], or [N·H, T, d] as torch.bmm has it. The keys may have fewer heads: repeated by nodes of the match, or
// one for all queries, which the products broadcast.
bool has_heads(const Match& match) {
  const NodeView mixed = match.node("mixed"), softmax = match.node("softmax");
  if (mixed.node().marks != NodeMarks{}) return false;
  const Dims &q = match.type("q").dims, &k = match.type("k").dims, &v = match.type("v").dims;
  const size_t rank = q.size();
  if ((rank != 3 && rank != 4) || k.size() != rank || v.size() != rank) return false;
  const int64_t axis = softmax.integer("axis", softmax.opset() < 13 ? 1 : -1);
  if (axis != -1 && axis != static_cast<int64_t>(rank) - 1) return false;
  for (const std::string_view name : {"q", "k", "v"}) {
    if (match.value(name).kind == ValueKind::constant || match.type(name).type != DataType::f32) return false;
    for (size_t i = 1; i < rank; ++i)
      if (match.type(name).dims[i].batch) return false;
  }
  Dims scores = q;
  scores.back() = length(match, "k");
  return q[0] == k[0] && k[0] == v[0] &&
         (rank == 3 || (k[1].value > 0 && q[1].value % k[1].value == 0 && k[1] == v[1])) && q.back() == k.back() &&
         length(match, "k") == length(match, "v") && q.back().value <= kMostSize && v.back().value <= kMostSize &&
         length(match, "q").value * length(match, "k").value >= kLeastScores && softmax.input_type(0).dims == scores;
}

bool is_attention(const Match& match) {
  return multiplies_queries_by_keys(match) && repeats_heads(match) && has_heads(match);
}

bool is_causal(const Match& match, CausalMask kind) {
  const Dims& mask = match.type("causal").dims;
  return match.value("causal").causal == kind && mask.size() <= match.type("q").rank() &&
         mask[mask.size() - 2] == length(match, "q") && mask.back() == length(match, "k");
}

// The mask of the operator: booleans or numbers that broadcast to the scores.
bool is_mask(const Match& match, DataType type) {
  const Value& mask = match.value("mask");
  const Dims& scores = match.node("softmax").input_type(0).dims;
  if (mask.kind == ValueKind::constant || mask.type.type != type || mask.type.rank() > scores.size()) return false;
  for (size_t i = 1; i <= mask.type.rank(); ++i)
    if (const Dim dim = mask.type.dims[mask.type.rank() - i]; dim != Dim{1} && dim != scores[scores.size() - i])
      return false;
  return true;
}

bool hides(const Match& match) { return match.number("hidden") <= kHides; }
bool hides_completely(const Match& match) { return match.number("hidden") == -INFINITY; }

bool where_seen(const Match& match) {
  return is_attention(match) && is_causal(match, CausalMask::seen) && hides(match);
}
bool where_hidden(const Match& match) {
  return is_attention(match) && is_causal(match, CausalMask::hidden) && hides(match);
}
bool adds_causal(const Match& match) { return is_attention(match) && is_causal(match, CausalMask::added); }
bool where_mask(const Match& match) {
  return is_attention(match) && is_mask(match, DataType::u8) && hides_completely(match);
}
// Numbers that were made of booleans, 0 or -∞, hide the same scores as these.
bool adds_hidden(const Match& match) {
  return match.node("numbers").output_type(0).type == DataType::f32 && where_mask(match);
}
bool adds_mask(const Match& match) { return is_attention(match) && is_mask(match, DataType::f32); }
bool where_seen_and_mask(const Match& match) { return where_seen(match) && is_mask(match, DataType::f32); }
bool where_hidden_and_mask(const Match& match) { return where_hidden(match) && is_mask(match, DataType::f32); }

double scale_of(const Match& match) {
  double scale = 1;
  for (const std::string_view by : {"by", "q_by", "k_by"})
    if (const double* factor = Match::find(match.numbers, by)) scale *= *factor;
  for (const std::string_view over : {"over", "q_over", "k_over"})
    if (const double* divisor = Match::find(match.numbers, over)) scale /= *divisor;
  return scale;
}

// A dropout of probabilities keeps its mask: the operator draws with the key of the node.
std::map<std::string, NodeAttribute> everything(const Match& match) {
  std::map<std::string, NodeAttribute> attributes = {{"scale", scale_of(match)}};
  if (!Match::find(match.nodes, "dropout")) return attributes;
  const NodeView dropout = match.node("dropout");
  attributes["dropped"] = *dropped_ratio(dropout);
  attributes["dropout_key"] = random_key(dropout);
  return attributes;
}
std::map<std::string, NodeAttribute> causal(const Match& match) {
  std::map<std::string, NodeAttribute> attributes = everything(match);
  attributes["right"] = int64_t{0};
  return attributes;
}

// x times or divided by a number, or x. In this order, because a hole matches a product as well.
Term scaled(const Term& x, std::string_view by, std::string_view over) {
  using namespace pattern;
  return one_of({sole(node("Mul", {x, any_number(by)})), sole(node("Div", {x, any_number(over)})), x});
}

// Keys or values of fewer heads than the queries, each repeated: Hugging Face's repeat_kv. Or not repeated.
Term shared(std::string_view name, std::string_view by, std::string_view heads) {
  using namespace pattern;
  const Term apart = one_of({node("Unsqueeze", {hole(name)}), node("Reshape", {hole(name)})});
  return one_of({node("Reshape", {node("Expand", {apart}).named(by)}).named(heads), hole(name)});
}

// The more a pattern matches, the earlier it comes: an Add of a causal mask also is an Add of a mask.
std::vector<Pattern> make_attention_patterns() {
  using namespace pattern;
  const Term k = shared("k", "k_repeated", "k_heads"), v = shared("v", "v_repeated", "v_heads");
  const Term turned = sole(node("Transpose", {k}).named("turn"));
  const Term turned_rows = sole(node("Transpose", {sole(node("Reshape", {k}))}).named("turn"));
  const Term turned_heads = sole(node("Reshape", {turned_rows}).named("turned_heads"));  // PyTorch 2's exporter
  const Term keys =
      one_of({scaled(k, "k_by", "k_over"), scaled(turned, "k_by", "k_over"), scaled(turned_heads, "k_by", "k_over"),
              sole(node("Transpose", {scaled(k, "k_by", "k_over")}).named("turn"))});
  const Term product = sole(node("MatMul", {scaled(hole("q"), "q_by", "q_over"), keys}).named("product"));
  const Term scores = scaled(product, "by", "over"), hidden = any_number("hidden");
  const Term seen = sole(node("Where", {hole("causal"), scores, hidden}));
  const Term not_hidden = sole(node("Where", {hole("causal"), hidden, scores}));

  const auto attention = [&v](const Term& masked, std::vector<std::string_view> inputs, bool (*where)(const Match&),
                              std::map<std::string, NodeAttribute> (*attributes)(const Match&)) {
    const Term softmax = sole(node("Softmax", {masked}).named("softmax"));
    const Term dropped = sole(node("Dropout", {softmax}).named("dropout"));
    return Pattern{.becomes = "ScaledDotProductAttention",
                   .opset = 1,
                   .inputs = std::move(inputs),
                   .tree = node("MatMul", {one_of({softmax, dropped}), v}).named("mixed"),
                   .where = where,
                   .attributes = attributes};
  };
  const std::vector<std::string_view> three = {"q", "k", "v"}, four = {"q", "k", "v", "mask"};
  const Term mask = hole("mask"), narrow = one_of({node("Expand", {mask}), mask});
  const Term numbers = node("Where", {narrow, number(0), hidden}).named("numbers");
  return {attention(sole(node("Add", {seen, mask})), four, where_seen_and_mask, causal),
          attention(sole(node("Add", {not_hidden, mask})), four, where_hidden_and_mask, causal),
          attention(seen, three, where_seen, causal),
          attention(not_hidden, three, where_hidden, causal),
          attention(sole(node("Add", {scores, hole("causal")})), three, adds_causal, causal),
          attention(sole(node("Where", {mask, scores, hidden})), four, where_mask, everything),
          attention(sole(node("Add", {scores, numbers})), four, adds_hidden, everything),
          attention(sole(node("Add", {scores, mask})), four, adds_mask, everything),
          attention(scores, three, is_attention, everything)};
}

// [N, H, T, D] → [N, T, H, D], of an attention that reads these operands and no others.
bool turns_results(const Match& match) {
  const NodeView attention = match.node("attention");
  const size_t operands = Match::find(match.values, "mask") ? 4 : 3;
  // PyTorch 2's exporter writes a Reshape to the same dimensions between the two.
  return match.node("turn").input_type(0).dims == attention.output_type(0).dims &&
         match.node("turn").integers("perm") == std::vector<int64_t>{0, 2, 1, 3} &&
         attention.input_count() == operands && attention.integer("turned", 0) == 0;
}

std::map<std::string, NodeAttribute> turned(const Match& match) {
  std::map<std::string, NodeAttribute> attributes = match.node("attention").node().attributes;
  attributes["turned"] = int64_t{1};
  return attributes;
}

std::vector<Pattern> make_turned_patterns() {
  using namespace pattern;
  const auto reading = [](std::vector<std::string_view> inputs) {
    std::vector<Term> operands;
    for (const std::string_view input : inputs) operands.push_back(hole(input));
    const Term attention = sole(node("ScaledDotProductAttention", std::move(operands)).named("attention"));
    return Pattern{.becomes = "ScaledDotProductAttention",
                   .opset = 1,
                   .inputs = std::move(inputs),
                   .tree = node("Transpose", {one_of({sole(node("Reshape", {attention})), attention})}).named("turn"),
                   .where = turns_results,
                   .attributes = turned};
  };
  return {reading({"q", "k", "v"}), reading({"q", "k", "v", "mask"})};
}

}  // namespace

bool may_fuse_attention(const Network& network) {
  return std::ranges::any_of(network.nodes, [](const Node& node) { return node.op == "Softmax"; });
}

bool fuse_attention(Network& network) {
  static const std::vector<Pattern> kPatterns = make_attention_patterns();
  const auto fused = [&] {
    return std::count_if(network.nodes.begin(), network.nodes.end(),
                         [](const Node& node) { return node.op == "ScaledDotProductAttention"; });
  };
  const auto before = fused();
  replace_matches(network, kPatterns);
  return fused() > before;
}

void turn_attention_results(Network& network) {
  static const std::vector<Pattern> kPatterns = make_turned_patterns();
  replace_matches(network, kPatterns);
}

}  // namespace plimsoll
