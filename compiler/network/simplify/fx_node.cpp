#include "compiler/network/simplify/fx_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace plimsoll {
namespace {

// Positions among the arguments of aten::cross_entropy_loss and aten::embedding.
constexpr size_t kSmoothing = 5, kPadding = 2;

// The second argument is the initial state, or those of h and c in brackets.
constexpr std::array<std::string_view, 4> kRecurrentCalls = {"aten.lstm.input", "aten.gru.input",
                                                             "aten.rnn_tanh.input", "aten.rnn_relu.input"};

std::string_view call_of(const ModelNode& node) {
  const auto entry = std::find_if(node.metadata.begin(), node.metadata.end(),
                                  [](const auto& entry) { return entry.key == "pkg.torch.onnx.fx_node"; });
  return entry == node.metadata.end() ? std::string_view() : std::string_view(entry->value);
}

// The text after `mark`; empty if there is none.
std::string_view after(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  return at == text.npos ? std::string_view() : text.substr(at + mark.size());
}

// The argument of that name, or at that position; empty if the call has neither. No argument of these calls holds a
// comma or a parenthesis: they are names, numbers and None.
std::string_view argument(std::string_view call, std::string_view name, size_t position) {
  if (const std::string_view named = after(call, fmt::format("{}: ", name)); !named.empty()) return named;
  std::string_view arguments = after(call, "args = (");
  arguments = arguments.substr(0, arguments.find(')'));
  for (size_t i = 0; i < position; ++i) arguments = after(arguments, ",");
  arguments.remove_prefix(std::min(arguments.find_first_not_of(' '), arguments.size()));
  return arguments;
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

bool is_call_of(const ModelNode& node, std::string_view target) {
  return call_of(node).find(fmt::format("target=torch.ops.{}]", target)) != std::string_view::npos;
}

double smoothing_of_call(const ModelNode& node) {
  if (!is_call_of(node, "aten.cross_entropy_loss.default")) return 0;
  const double share = number<double>(argument(call_of(node), "label_smoothing", kSmoothing)).value_or(0);
  return share >= 0 && share <= 1 ? share : 0;
}

CalledPadding padding_of_call(const ModelNode& node) {
  if (!is_call_of(node, "aten.embedding.default")) return {};
  const auto row = number<int64_t>(argument(call_of(node), "padding_idx", kPadding));
  return {.is_embedding = true, .row = row && *row >= 0 ? row : std::nullopt};  // -1: there is none
}

bool is_clamp_by_number(const ModelNode& node, bool is_lower) {
  if (!is_call_of(node, "aten.clamp.Tensor")) return false;
  return argument(call_of(node), is_lower ? "min" : "max", is_lower ? 1 : 2).starts_with("%scalar_tensor");
}

bool is_called_with_zeros(const ModelNode& node) {
  if (std::none_of(kRecurrentCalls.begin(), kRecurrentCalls.end(),
                   [&](std::string_view target) { return is_call_of(node, target); }))
    return false;
  const auto are_zeros = [](std::string_view name) {  // the name of a parameter begins with %p_
    return name.starts_with("%zeros") || name.starts_with("%new_zeros");
  };
  const std::string_view states = after(after(call_of(node), "args = ("), ", ");
  if (!states.starts_with('[')) return are_zeros(states);
  return are_zeros(states.substr(1)) && are_zeros(after(states.substr(0, states.find(']')), ", "));
}

}  // namespace plimsoll
