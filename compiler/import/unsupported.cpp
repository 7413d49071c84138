#include "compiler/import/unsupported.h"

#include <fmt/format.h>

#include "compiler/import/load.h"

namespace plimsoll {
namespace {
constexpr int kNamesShown = 3;
constexpr size_t kMessagesShown = 50;
}  // namespace

void Unsupported::add_operator(const onnx::NodeProto& node, const Op* op) {
  std::string title = is_onnx_domain(node.domain()) ? node.op_type() : node.domain() + "::" + node.op_type();
  if (op && op->of_onnx()) title += fmt::format(" (supported in opsets {} to {})", op->first_opset, op->last_opset);
  const auto [at, fresh] = group_of_.emplace(title, groups_.size());
  if (fresh) groups_.push_back({.title = title});
  Group& group = groups_[at->second];
  if (group.nodes++ < kNamesShown) {
    const std::string& name = !node.name().empty() || node.output_size() == 0 ? node.name() : node.output(0);
    group.first += fmt::format("{}'{}'", group.first.empty() ? "" : ", ", name);
  }
}

Status Unsupported::status(int64_t opset) const {
  if (groups_.empty() && messages_.empty()) return {};
  if (groups_.empty() && messages_.size() == 1) return Error{ExitCode::unsupported, messages_[0]};
  Error error{ExitCode::unsupported, {}};
  if (!groups_.empty())
    error.message = fmt::format("{} operator{} of the model (opset {}) {} not supported", groups_.size(),
                                groups_.size() == 1 ? "" : "s", opset, groups_.size() == 1 ? "is" : "are");
  else
    error.message = fmt::format("{} nodes of the model are not supported as they are", messages_.size());
  for (const Group& group : groups_)
    error.notes.push_back(fmt::format("{}: {} node{}, {}{}", group.title, group.nodes, group.nodes == 1 ? "" : "s",
                                      group.first, group.nodes > kNamesShown ? ", …" : ""));
  for (size_t i = 0; i < std::min(messages_.size(), kMessagesShown); ++i) error.notes.push_back(messages_[i]);
  if (messages_.size() > kMessagesShown)
    error.notes.push_back(fmt::format("… and {} nodes more", messages_.size() - kMessagesShown));
  return error;
}

}  // namespace plimsoll
