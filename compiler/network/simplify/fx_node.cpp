#include "compiler/network/simplify/fx_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace plimsoll {
namespace {

constexpr size_t kSmoothing = 5;  // its position among the arguments of aten::cross_entropy_loss

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

// The share that the text begins with; 0 if it begins with no number from 0 to 1.
double share(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && value >= 0 && value <= 1 ? value : 0;
}

}  // namespace

bool is_call_of(const ModelNode& node, std::string_view target) {
  return call_of(node).find(fmt::format("target=torch.ops.{}]", target)) != std::string_view::npos;
}

double smoothing_of_call(const ModelNode& node) {
  if (!is_call_of(node, "aten.cross_entropy_loss.default")) return 0;
  const std::string_view call = call_of(node);
  if (const std::string_view named = after(call, "label_smoothing: "); !named.empty()) return share(named);
  // No argument holds a comma or a parenthesis: they are names, numbers and None.
  std::string_view arguments = after(call, "args = (");
  arguments = arguments.substr(0, arguments.find(')'));
  for (size_t i = 0; i < kSmoothing; ++i) arguments = after(arguments, ",");
  return share(arguments);
}

}  // namespace plimsoll
