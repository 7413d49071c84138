#include "compiler/import/onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "compiler/import/attributes.h"
#include "compiler/import/builder.h"
#include "compiler/import/differentiable.h"
#include "compiler/import/findings.h"
#include "compiler/import/graph_order.h"
#include "compiler/import/inline_functions.h"
#include "compiler/import/load.h"
#include "compiler/import/loaded_model.h"
#include "compiler/import/weight_roles.h"
#include "compiler/import/weights.h"
#include "compiler/network/compact.h"
#include "compiler/network/samples_first.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

void say_what_was_ordered(const GraphOrder& order, std::vector<std::string>& notes) {
  if (order.sorted) notes.push_back("the nodes of the model were not in topological order; they are sorted");
  if (order.unused.empty()) return;
  const auto left = static_cast<int64_t>(order.unused.size());
  std::string shown;
  for (size_t i = 0; i < std::min<size_t>(order.unused.size(), 3); ++i) shown += (i ? ", " : "") + order.unused[i];
  notes.push_back(fmt::format("{} left out because no output depends on what {}: {}{}",
                              counted(left, "node") + (left == 1 ? " is" : " are"), left == 1 ? "it makes" : "they make", shown,
                              order.unused.size() > 3 ? ", …" : ""));
}

// Before the network is built, which edits the graph.
std::map<std::string, std::string> reasons_of(const ModelFile& file, const GraphOrder& order) {
  const onnx::GraphProto& graph = file.model.graph();
  const auto roles = find_weight_roles(file, order);
  const auto reached = reached_by_gradients(file, order);
  std::unordered_set<std::string> read;
  for (const int index : order.nodes)
    for (const std::string& input : graph.node(index).input()) read.insert(input);
  const auto marks = exporter_marks(graph);
  const auto why_not = [&](const std::string& name) -> std::string {
    if (file.author && file.author->frozen.contains(name)) return "frozen: plimsoll.export lists it with requires_grad=False";
    if (file.author && file.author->buffers.contains(name)) return "plimsoll.export lists it as a buffer";
    if (file.author && file.author->trained.contains(name)) return "no gradient reaches it";
    if (file.author) return "no gradient reaches it, or plimsoll.export lists it neither as a parameter nor as a buffer";
    const auto mark = marks.find(name);
    if (mark != marks.end() && mark->second == "BUFFER") return "the exporter marks it as a buffer";
    if (mark != marks.end() && mark->second != "PARAMETER") return "the exporter marks it as a constant";
    return "no gradient reaches it";
  };
  std::map<std::string, std::string> reasons;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (tensor.data_type() != onnx::TensorProto::FLOAT || !read.contains(tensor.name())) continue;
    const auto role = roles.find(tensor.name());
    reasons[tensor.name()] = !reached.contains(tensor.name()) ? why_not(tensor.name())
                             : role != roles.end()            ? role->second.reason
                                                              : "";
  }
  return reasons;
}

// Where the place of an initializer does not tell, the network does, or nothing: that is for the user to say.
void complete_reasons(Network& network, std::map<std::string, std::string>& reasons) {
  std::unordered_set<std::string> held;
  for (Value& value : network.values) {
    if (value.kind != ValueKind::parameter && value.kind != ValueKind::statistic) continue;
    held.insert(value.initializer);
    const auto reason = reasons.find(value.initializer);
    if (reason == reasons.end()) continue;
    if (value.kind == ValueKind::statistic) reason->second = "a running statistic";
    else if (reason->second.empty()) {
      value.undecided = value.trainable;
      reason->second = value.trainable ? "a gradient reaches it, and nothing says whether it is a parameter or a buffer"
                                       : "a constant or a mask by its name or its numbers";
    }
  }
  for (auto& [name, reason] : reasons)
    if (reason.empty()) reason = "a number that is known while compiling";
}

}  // namespace

Result<ImportedModel> import_onnx(const std::string& path, const ImportOptions& options) {
  PLIMSOLL_ASSIGN(const std::shared_ptr<ModelFile> file, load_model(path));
  ImportedModel imported{.network = {},
                         .file = file,
                         .sha256 = file->sha256,
                         .producer = file->model.producer_name(),
                         .ir_version = file->model.ir_version(),
                         .opset = opset_of(file->model)};
  if (!file->model.producer_version().empty()) imported.producer += " " + file->model.producer_version();

  // The model as a file: complete, flat, weights that the exporter merged apart. Edits move nodes, so the order is made anew.
  PLIMSOLL_TRY(inline_functions(*file, imported.notes));
  PLIMSOLL_TRY(check_attributes(file->model.graph(), imported.opset));
  PLIMSOLL_TRY(load_data(*file, options.holds_weights));
  PLIMSOLL_ASSIGN(GraphOrder order, order_graph(file->model.graph()));
  say_what_was_ordered(order, imported.notes);
  PLIMSOLL_ASSIGN(const bool lifted, lift_weights(*file, order, imported.notes));
  if (lifted) {
    PLIMSOLL_ASSIGN(order, order_graph(file->model.graph()));
  }
  if (unshare_weights(*file, order, imported.notes)) {
    PLIMSOLL_ASSIGN(order, order_graph(file->model.graph()));
  }

  PLIMSOLL_TRY(hold_constants(*file, reached_by_gradients(*file, order)));

  imported.reasons = reasons_of(*file, order);

  // The model as a network, of which everything matters to an output.
  PLIMSOLL_ASSIGN(imported.network, build_network(*file, order, options, imported.notes));
  compact(imported.network, imported.notes);
  PLIMSOLL_TRY(put_samples_first(imported.network, imported.notes));
  complete_reasons(imported.network, imported.reasons);
  imported.states_modes = states_modes(*file);
  PLIMSOLL_TRY(find_folded_normalization(*file, imported.network, options.require_normalization, imported.warnings));
  PLIMSOLL_TRY(find_merged_weights(*file, imported.network, imported.perhaps_merged, imported.warnings));
  PLIMSOLL_TRY(find_bad_weights(*file, imported.network, options.strict, imported.warnings));
  find_nothing_to_train(imported.network, imported.warnings);
  if (options.strict && !imported.warnings.empty())
    return Error{ExitCode::invalid_model, imported.warnings[0], {imported.warnings.begin() + 1, imported.warnings.end()}};
  return imported;
}

}  // namespace plimsoll
