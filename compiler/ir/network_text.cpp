#include "compiler/ir/network_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "compiler/ir/text_fields.h"
#include "compiler/ir/text_types.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 5> kValueKinds = {"input", "intermediate", "parameter", "statistic", "constant"};
constexpr std::array<std::string_view, 4> kCausalMasks = {"none", "seen", "hidden", "added"};
constexpr std::array<std::string_view, 4> kStages = {"imported", "trainable", "fused", "laid_out"};
// In print order.
constexpr std::array<std::pair<std::string_view, bool NodeMarks::*>, 5> kMarks = {
    {{"classes_last", &NodeMarks::classes_last},
     {"transposed_a", &NodeMarks::transposed_a},
     {"transposed_b", &NodeMarks::transposed_b},
     {"detached", &NodeMarks::detached},
     {"frozen_statistics", &NodeMarks::frozen_statistics}}};

// ---------------------------------------------------------------------------------------------------- printing

// Reals are distinguished from integers by their spelling: 1.0, 1e-05, inf, nan.
std::string number(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string number(int64_t value) { return fmt::format("{}", value); }

template <class T>
std::string list_of(const std::vector<T>& items) {
  std::string text = "[";
  for (const T& item : items) text += (text.size() > 1 ? "," : "") + number(item);
  return text + "]";
}

std::string list_of(const ConstantData& data) { return data.reals.empty() ? list_of(data.ints) : list_of(data.reals); }

std::string in_quotes(std::string_view text) {
  const std::string made = spelled(text);
  return made.front() == '"' ? made : "\"" + made + "\"";
}

struct AttributePrinter {
  std::string operator()(int64_t value) const { return number(value); }
  std::string operator()(double value) const { return number(value); }
  std::string operator()(const std::string& value) const { return in_quotes(value); }
  std::string operator()(const std::vector<int64_t>& value) const { return list_of(value); }
  std::string operator()(const std::vector<double>& value) const { return "reals " + list_of(value); }
  std::string operator()(const ConstantData& value) const { return "tensor " + list_of(value); }
};

std::string line_of(const Value& value) {
  std::string line = fmt::format("value {} {} {}", spelled_tensor(value.name),
                                 kValueKinds[static_cast<size_t>(value.kind)], to_string(value.type));
  if (is_narrow(value.reduced)) line += fmt::format(" in_{}", name_of(value.reduced));
  if (value.trainable) line += " trainable";
  if (value.undecided) line += " undecided";
  if (value.causal != CausalMask::none)
    line += fmt::format(" causal {}", kCausalMasks[static_cast<size_t>(value.causal)]);
  line += option("initializer", value.initializer);
  if (value.number) line += fmt::format(" number={}", number(*value.number));
  if (value.constant) line += " = " + list_of(*value.constant);
  return line;
}

std::string line_of(const Network& network, const Node& node) {
  const auto names = [&](const char* word, const std::vector<ValueId>& values) {
    std::string text = values.empty() ? "" : word;
    for (const ValueId value : values)
      text += value.valid() ? " " + spelled_tensor(network.values[value].name) : " absent";
    return text;
  };
  std::string line = fmt::format("node {} {} opset={}{}", spelled(node.name), spelled(node.op), node.opset,
                                 option("module", node.module_path));
  line += names(" read", node.inputs) + names(" write", node.outputs);
  std::string attributes;
  for (const auto& [name, value] : node.attributes)
    attributes +=
        fmt::format("{}{}={}", attributes.empty() ? "" : " ", spelled(name), std::visit(AttributePrinter{}, value));
  if (!attributes.empty()) line += " {" + attributes + "}";
  if (node.marks.activation != FusedActivation::none)
    line += fmt::format(" {}", name_of(node.marks.activation));
  for (const auto& [word, mark] : kMarks)
    if (node.marks.*mark) line += fmt::format(" {}", word);
  if (node.marks.label_smoothing != 0) line += fmt::format(" label_smoothing={}", number(node.marks.label_smoothing));
  if (is_narrow(node.marks.factors)) line += fmt::format(" factors_in_{}", name_of(node.marks.factors));
  if (node.marks.padding_index) line += fmt::format(" padding_index={}", *node.marks.padding_index);
  return line;
}

// ---------------------------------------------------------------------------------------------------- parsing

class NetworkParser {
 public:
  NetworkParser(std::string_view text, const std::string& what) : cursor_(text, what) {}

  Result<Network> run() {
    if (!cursor_.next_line()) cursor_.fail("the text is empty");
    header();
    while (!cursor_.error() && cursor_.next_line()) line();
    if (cursor_.error()) return *cursor_.error();
    return std::move(network_);
  }

 private:
  void header() {
    if (!cursor_.accept_word("network")) return cursor_.fail("expected 'network'");
    network_.name = cursor_.name();
    if (!cursor_.accept_word("v1")) return cursor_.fail("expected 'v1', the only supported version");
    network_.stage = static_cast<NetworkStage>(one_of(kStages, "stage"));
    network_.modes_are_stated = cursor_.accept_word("modes_are_stated");
    network_.states_modes = cursor_.accept_word("states_modes");
    if (cursor_.accept("perhaps_merged=")) network_.perhaps_merged = cursor_.name();
    network_.forms = read_forms(cursor_);
    if (cursor_.accept("layout=")) network_.layout = cursor_.name();
  }

  template <size_t N>
  size_t one_of(const std::array<std::string_view, N>& words, const char* what) {
    const std::string word = cursor_.word();
    for (size_t i = 0; i < N; ++i)
      if (words[i] == word) return i;
    cursor_.fail(fmt::format("'{}' is not a {}", word, what));
    return 0;
  }

  void line() {
    if (cursor_.accept_word("value")) return value();
    if (cursor_.accept_word("node")) return node();
    if (cursor_.accept_word("input")) return input();
    if (cursor_.accept_word("output")) return network_.outputs.push_back(there("an output"));
    cursor_.fail("expected value, node, input or output");
  }

  void value() {
    cursor_.expect("%");
    Value value{.name = cursor_.name()};
    const ValueId id(static_cast<int64_t>(network_.values.size()));
    if (!cursor_.error()) values_.add(cursor_, value.name, id);
    value.kind = static_cast<ValueKind>(one_of(kValueKinds, "kind of value"));
    value.type = read_type(cursor_, 1);
    for (const DataType reduced : {DataType::bf16, DataType::f16})
      if (cursor_.accept_word(fmt::format("in_{}", name_of(reduced)))) value.reduced = reduced;
    value.trainable = cursor_.accept_word("trainable");
    value.undecided = cursor_.accept_word("undecided");
    if (cursor_.accept_word("causal")) value.causal = static_cast<CausalMask>(one_of(kCausalMasks, "causal mask"));
    if (cursor_.accept("initializer=")) value.initializer = cursor_.name();
    if (cursor_.accept("number=")) value.number = real();
    if (cursor_.accept("=")) value.constant = constant();
    if (!cursor_.error() && value.constant.has_value() != (value.kind == ValueKind::constant))
      cursor_.fail("only constants have elements");
    const bool in_halves = value.kind == ValueKind::parameter && value.trainable && value.reduced == DataType::bf16;
    if (!cursor_.error() && is_narrow(value.reduced) &&
        ((value.kind != ValueKind::intermediate && !in_halves) || value.type.type != DataType::f32))
      cursor_.fail(fmt::format("only f32 outputs of nodes{} are stored in {}",
                               value.reduced == DataType::bf16 ? " and f32 trained weights" : "",
                               name_of(value.reduced)));
    if (!cursor_.error() && value.constant) check_size(value);
    made_.push_back(value.kind != ValueKind::intermediate);
    network_.values.push_back(std::move(value));
  }

  // A single element may stand for all elements of a constant.
  void check_size(const Value& value) {
    const int64_t held = static_cast<int64_t>(value.constant->ints.size() + value.constant->reals.size());
    const Affine elements = value.type.elements();
    if (elements.per_sample != 0 || (held != elements.fixed && held != 1))
      cursor_.fail(fmt::format("{} holds {} elements", to_string(value.type), held));
  }

  ValueId known() {
    cursor_.expect("%");
    const std::string name = cursor_.name();
    return cursor_.error() ? ValueId{} : values_.find(cursor_, name);
  }

  // Reads the name of a value that must be defined already.
  ValueId there(const char* reader) {
    const ValueId id = known();
    if (!cursor_.error() && !made_[id])
      cursor_.fail(fmt::format("{} reads {} before it is written", reader, spelled_tensor(network_.values[id].name)));
    return id;
  }

  void input() {
    const ValueId id = known();
    if (!cursor_.error() && network_.values[id].kind != ValueKind::input) cursor_.fail("this value is not an input");
    network_.inputs.push_back(id);
  }

  void node() {
    Node node{.name = cursor_.name()};
    if (!cursor_.error()) nodes_.add(cursor_, node.name, NodeId(static_cast<int64_t>(network_.nodes.size())));
    node.op = cursor_.name();
    cursor_.expect("opset=");
    node.opset = static_cast<int>(read_count(cursor_, 0, std::numeric_limits<int>::max()));
    if (cursor_.accept("module=")) node.module_path = cursor_.name();
    if (cursor_.accept_word("read"))
      while (!cursor_.error() && (cursor_.sees("%") || cursor_.sees("absent")))
        node.inputs.push_back(cursor_.accept_word("absent") ? ValueId() : there("a node"));
    if (cursor_.accept_word("write"))
      while (!cursor_.error() && (cursor_.sees("%") || cursor_.sees("absent")))
        node.outputs.push_back(cursor_.accept_word("absent") ? ValueId() : written());
    if (cursor_.accept("{")) attributes(node);
    for (size_t i = 1; i < kFusedActivations.size() && node.marks.activation == FusedActivation::none; ++i)
      if (cursor_.accept_word(kFusedActivations[i])) node.marks.activation = static_cast<FusedActivation>(i);
    for (const auto& [word, mark] : kMarks) node.marks.*mark = cursor_.accept_word(word);
    if (cursor_.accept("label_smoothing=")) node.marks.label_smoothing = cursor_.real();
    for (const DataType narrow : {DataType::bf16, DataType::f16})
      if (cursor_.accept_word(fmt::format("factors_in_{}", name_of(narrow)))) node.marks.factors = narrow;
    if (cursor_.accept("padding_index=")) node.marks.padding_index = cursor_.integer();
    network_.nodes.push_back(std::move(node));
  }

  ValueId written() {
    const ValueId id = known();
    if (cursor_.error()) return id;
    if (network_.values[id].kind != ValueKind::intermediate)
      cursor_.fail("a node can only produce intermediate values");
    else if (made_[id]) cursor_.fail("this value is already produced by another node");
    else made_[id] = true;
    return id;
  }

  void attributes(Node& node) {
    while (!cursor_.error() && !cursor_.accept("}")) {
      const std::string name = cursor_.name();
      cursor_.expect("=");
      NodeAttribute value = attribute();
      if (!cursor_.error() && !node.attributes.emplace(name, std::move(value)).second)
        cursor_.fail(fmt::format("attribute '{}' is duplicated", name));
    }
  }

  NodeAttribute attribute() {
    if (cursor_.sees("\"")) return cursor_.name();
    if (cursor_.accept_word("tensor")) return constant();
    if (cursor_.accept_word("reals")) return constant().reals;
    if (cursor_.sees("[")) {
      ConstantData list = constant();
      if (!list.reals.empty()) cursor_.fail("expected 'reals' before a list of real numbers: reals [0.5]");
      return std::move(list.ints);
    }
    const ConstantData one = numbers({cursor_.number_text()});
    if (!one.reals.empty()) return one.reals[0];
    return one.ints.empty() ? int64_t{0} : one.ints[0];
  }

  double real() {
    const ConstantData one = numbers({cursor_.number_text()});
    if (one.reals.empty()) cursor_.fail("expected a real number");
    return one.reals.empty() ? 0 : one.reals[0];
  }

  ConstantData constant() {
    std::vector<std::string> texts;
    cursor_.expect("[");
    while (!cursor_.error() && !cursor_.accept("]")) {
      if (!texts.empty()) cursor_.expect(",");
      texts.push_back(cursor_.number_text());
    }
    return numbers(texts);
  }

  // Either all integers or all reals.
  ConstantData numbers(const std::vector<std::string>& texts) {
    ConstantData data;
    for (const std::string& digits : texts) {
      if (cursor_.error()) return {};
      const bool real = digits.find_first_of(".en") != std::string::npos;
      if (!texts.empty() && real != (texts[0].find_first_of(".en") != std::string::npos))
        cursor_.fail("a list must hold either integers or real numbers");
      const char* const end = digits.data() + digits.size();
      double as_real = 0;
      int64_t as_whole = 0;
      const auto [after, failure] =
          real ? std::from_chars(digits.data(), end, as_real) : std::from_chars(digits.data(), end, as_whole);
      if (failure != std::errc{} || after != end) cursor_.fail(fmt::format("'{}' is not a number", digits));
      if (real) data.reals.push_back(as_real);
      else data.ints.push_back(as_whole);
    }
    return data;
  }

  TextCursor cursor_;
  Network network_;
  IdVector<ValueId, bool> made_;
  Names<ValueId> values_{"value"};
  Names<NodeId> nodes_{"node"};
};

}  // namespace

std::string to_text(const Network& network) {
  std::string text =
      fmt::format("network {} v1 {}{}{}{}{}{}\n", spelled(network.name), kStages[static_cast<size_t>(network.stage)],
                  network.modes_are_stated ? " modes_are_stated" : "", network.states_modes ? " states_modes" : "",
                  option("perhaps_merged", network.perhaps_merged), options_of(network.forms),
                  option("layout", network.layout));
  for (const Value& value : network.values) text += line_of(value) + "\n";
  for (const Node& node : network.nodes) text += line_of(network, node) + "\n";
  for (const ValueId input : network.inputs)
    text += fmt::format("input {}\n", spelled_tensor(network.values[input].name));
  for (const ValueId output : network.outputs)
    text += fmt::format("output {}\n", spelled_tensor(network.values[output].name));
  return text;
}

Result<Network> network_from_text(std::string_view text, const std::string& what) {
  return NetworkParser(text, what).run();
}

}  // namespace plimsoll
