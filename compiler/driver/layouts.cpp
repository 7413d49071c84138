#include "compiler/driver/layouts.h"

#include <fmt/format.h>

#include "compiler/network/layout.h"
#include "compiler/network/layout_choice.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// The channel block that suits this machine's vector units; plain if oneDNN has no efficient blocked kernels.
Layout layout_of_host(const std::string& asked) {
  if (asked == "nChw8c") return Layout::nChw8c;
  if (asked == "nChw16c") return Layout::nChw16c;
  if (asked != "auto") return Layout::plain;
  if (__builtin_cpu_supports("avx512f")) return Layout::nChw16c;
  return __builtin_cpu_supports("avx2") ? Layout::nChw8c : Layout::plain;
}

Layout asked_on_gpu(const std::string& asked) { return asked == "nhwc" ? Layout::nhwc : Layout::plain; }

std::string milliseconds(double seconds) { return fmt::format("{:.{}f} ms", 1e3 * seconds, seconds < 0.01 ? 2 : 1); }

std::string told(const LayoutChoice& choice, const std::string& source) {
  if (choice.nodes == 0) return "";
  const std::string plain = milliseconds(choice.plain_seconds), last = milliseconds(choice.last_seconds);
  if (choice.nodes_last == 0)
    return fmt::format("nchw: tasks of a round take {}, in nhwc {} ({})", plain, last, source);
  return fmt::format("nhwc in {} of {}, with {}: tasks of a round take {}, all in nchw {} ({})", choice.nodes_last,
                     counted(choice.nodes, "node"), counted(choice.reorders, "reorder"), milliseconds(choice.seconds),
                     plain, source);
}

}  // namespace

void lay_out(const PlanningRequest& request, Network& network, bool plain, Costs& costs, const std::string& source,
             const Messages& messages) {
  const ModelRequest& model = request.of_model;
  if (model.target != "cuda") {
    if (!plain) assign_layouts(network, layout_of_host(model.layout));
  } else if (model.layout != "auto") {
    const Layout asked = asked_on_gpu(model.layout);
    assign_layouts(network, asked);
    network.layout = fmt::format("{}, as asked", asked == Layout::nhwc ? "nhwc" : "nchw");
  } else if (!plain) {
    // Per rank. A split by the planner comes later and is not considered.
    const int64_t batch = model.batch / request.ranks, asked = request.sub_batch.value_or(0) / request.ranks;
    const int64_t samples = asked > 0 ? asked : batch;
    const Result<LayoutChoice> choice =
        choose_layouts(network, training_options_of(model), costs, samples, samples < batch);
    if (choice.ok()) {
      if (choice->nodes_last > 0) assign_layouts(network, Layout::nhwc, choice->last);
      network.layout = told(*choice, source);
    } else {
      messages.note("nhwc is not possible: " + choice.error().message);
    }
  }
  network.stage = NetworkStage::laid_out;
}

Result<std::vector<TaskGraph>> graphs_to_measure(const ModelRequest& request, Network& network) {
  const TrainingOptions training = training_options_of(request);
  if (request.target == "cuda" && request.layout == "auto") return graphs_of_layouts(network, training);
  assign_layouts(network, request.target == "cuda" ? asked_on_gpu(request.layout) : layout_of_host(request.layout));
  std::vector<TaskGraph> graphs;
  PLIMSOLL_ASSIGN(TaskGraph graph, build_task_graph(network, training));
  graphs.push_back(std::move(graph));
  return graphs;
}

}  // namespace plimsoll
