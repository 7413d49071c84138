#include "compiler/report/csv.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

std::string layers(const PlanFacts& facts) {
  std::string text =
      "layer,op,algorithm,forward_seconds,backward_seconds,recompute_seconds,slower_seconds,waiting_seconds,output_"
      "bytes,kept_bytes,"
      "offloaded_bytes,recomputed_bytes,workspace_bytes\n";
  for (const LayerFacts& layer : facts.layers)
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(layer.name), csv_field(layer.op),
                        csv_field(layer.algorithm), layer.forward, layer.backward, layer.again, layer.slower,
                        layer.waiting, layer.outputs, layer.kept, layer.offloaded, layer.recomputed, layer.workspace);
  return text;
}

// One line per residency, so a tensor that returns to the device has several; a tensor without residency has one line
// with empty fields.
std::string tensors(const Plan& plan, const PlanFacts& facts) {
  std::string text = "tensor,kind,layer,bytes,persistent,fate,offset,first_step,last_step\n";
  for (const TensorId id : ids_of(plan.tensors)) {
    const PlanTensor& tensor = plan.tensors[id];
    const TensorFacts& known = facts.tensors[id];
    const std::string line =
        fmt::format("{},{},{},{},{},{}", csv_field(tensor.name), to_string(tensor.kind),
                    known.maker.valid() ? csv_field(facts.layers[facts.layer_of[known.maker]].name) : "", tensor.bytes,
                    tensor.persistent ? 1 : 0, to_string(known.fate));
    if (known.residencies.empty()) text += line + ",,,\n";
    for (const size_t i : known.residencies) {
      const Residency& residency = plan.residencies[i];
      text += fmt::format("{},{},{},{}\n", line, residency.offset, residency.first_step, residency.last_step);
    }
  }
  return text;
}

std::string steps(const Plan& plan, const PlanFacts& facts) {
  std::string text =
      "step,name,stream,kind,start_seconds,end_seconds,exposed_seconds,live_bytes,workspace_bytes,algorithm\n";
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", id.value, csv_field(facts.step_names[id]),
                        to_string(step.stream), step.recompute ? "recompute" : to_string(step.kind), step.start,
                        step.end, facts.exposed[id], facts.live[id], step.workspace.bytes, csv_field(step.algorithm));
  }
  return text;
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string report_csv(const Plan& plan, const PlanFacts& facts, CsvTable table) {
  switch (table) {
    case CsvTable::layers: return layers(facts);
    case CsvTable::tensors: return tensors(plan, facts);
    case CsvTable::steps: return steps(plan, facts);
  }
  return "";
}

}  // namespace plimsoll
