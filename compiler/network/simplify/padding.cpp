#include "compiler/network/simplify/padding.h"

#include <algorithm>

#include "compiler/network/simplify/fold.h"

namespace plimsoll {
namespace {

constexpr int64_t kPadLimit = 1 << 20;  // the sum of two is still a valid window size

int64_t integer(const ModelNode& node, std::string_view name, int64_t missing) {
  const ModelAttribute* found = find_attribute(node, name);
  return found ? found->integer() : missing;
}

}  // namespace

std::optional<std::vector<int64_t>> spatial_zeros(const ModelNode& pad, const std::vector<const KnownValue*>& inputs) {
  const ModelAttribute* mode = find_attribute(pad, "mode");
  if (mode && mode->text() != "constant") return std::nullopt;
  std::vector<int64_t> pads;
  if (const ModelAttribute* listed = find_attribute(pad, "pads")) {  // before opset 11
    const ModelAttribute* value = find_attribute(pad, "value");
    if (value && value->real() != 0) return std::nullopt;
    pads = listed->integers();
  } else {
    const auto given = [&](size_t i) { return i < pad.inputs.size() && !pad.inputs[i].empty(); };
    if (inputs.size() < 2 || !inputs[1] || inputs[1]->real() || inputs[1]->depends_on_batch() || given(3))
      return std::nullopt;
    if (given(2) && (!inputs[2] || !inputs[2]->real() || inputs[2]->elements() != 1 || inputs[2]->number(0) != 0))
      return std::nullopt;
    if (inputs[1]->elements() != 8) return std::nullopt;
    for (size_t i = 0; i < 8; ++i) pads.push_back(inputs[1]->integer(i).value);
  }
  if (pads.size() != 8 || pads[0] != 0 || pads[1] != 0 || pads[4] != 0 || pads[5] != 0) return std::nullopt;
  const std::vector<int64_t> zeros = {pads[2], pads[3], pads[6], pads[7]};
  const bool sane = std::all_of(zeros.begin(), zeros.end(), [](int64_t n) { return n >= 0 && n < kPadLimit; });
  return sane ? std::optional(zeros) : std::nullopt;
}

bool can_absorb(const ModelNode& node, const std::vector<int64_t>& zeros) {
  if (const ModelAttribute* automatic = find_attribute(node, "auto_pad"); automatic && automatic->text() != "NOTSET")
    return false;
  const ModelAttribute* own = find_attribute(node, "pads");
  if (own && own->integers().size() != 4) return false;
  if (node.op == "Conv") return true;
  if (node.op != "AveragePool" || integer(node, "ceil_mode", 0) != 0) return false;
  // A pool that excludes its own padding from the average would also exclude these zeros.
  const bool padded =
      own && std::any_of(own->integers().begin(), own->integers().end(), [](int64_t n) { return n != 0; });
  if (padded && integer(node, "count_include_pad", 0) == 0) return false;
  const ModelAttribute* kernel = find_attribute(node, "kernel_shape");
  if (!kernel || kernel->integers().size() != 2) return false;
  for (size_t i = 0; i < 4; ++i)  // every window must keep an element outside the padding
    if (zeros[i] + (own ? own->integers()[i] : 0) >= kernel->integers()[i % 2]) return false;
  return true;
}

bool readers_can_absorb(const Model& model, const GraphUses& uses, const std::string& value,
                        const std::vector<int64_t>& zeros) {
  const auto readers = uses.readers.find(value);
  if (readers == uses.readers.end()) return true;
  return std::all_of(readers->second.begin(), readers->second.end(), [&](int reader) {
    if (reader < 0) return false;
    const ModelNode& node = model.nodes[reader];
    return std::count(node.inputs.begin(), node.inputs.end(), value) == 1 && node.inputs[0] == value &&
           is_of_onnx(node) && can_absorb(node, zeros);
  });
}

void absorb(const std::vector<int64_t>& zeros, Node& node) {
  std::vector<int64_t> pads(4, 0);
  if (const auto own = node.attributes.find("pads"); own != node.attributes.end())
    if (const auto* listed = std::get_if<std::vector<int64_t>>(&own->second); listed && listed->size() == 4)
      pads = *listed;
  for (size_t i = 0; i < 4; ++i) pads[i] += zeros[i];
  node.attributes["pads"] = pads;
  if (node.op == "AveragePool") node.attributes["count_include_pad"] = int64_t{1};
}

}  // namespace plimsoll
