#include "compiler/network/simplify/widen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compiler/ops/op.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 5> kTypeAttributes = {"to", "dtype", "output_dtype", "stash_type",
                                                             "softmax_precision"};

bool states_type(const ModelAttribute& attribute) {
  return std::holds_alternative<int64_t>(attribute.value) &&
         std::find(kTypeAttributes.begin(), kTypeAttributes.end(), attribute.name) != kTypeAttributes.end();
}

// The type of the node's results, if it is f16 or bf16. Of operators whose inputs may differ in type, such as a
// normalization of f16 with f32 statistics, results have the narrow one.
ElementType narrow_result(const ModelNode& node, const std::unordered_map<std::string, ElementType>& known) {
  const auto narrow = [](ElementType type) { return is_narrow(type) ? type : ElementType::undefined; };
  for (const ModelAttribute& attribute : node.attributes) {
    if (attribute.name == "stash_type" || attribute.name == "softmax_precision") continue;  // inside the node only
    if (states_type(attribute)) return narrow(attribute.element());
    if (const auto* tensor = std::get_if<ModelTensor>(&attribute.value)) return narrow(tensor->type);
  }
  const Op* const op = find_onnx_op(node.op);
  const size_t first = op && op->typed_by < node.inputs.size() ? op->typed_by : 0;
  for (size_t i = first; i < node.inputs.size(); ++i)
    if (const auto found = known.find(node.inputs[i]); found != known.end()) return found->second;
  return ElementType::undefined;
}

void widen_tensor(ModelTensor& tensor) {
  if (!is_narrow(tensor.type)) return;
  const FileType type = file_type_of(tensor.type);
  tensor.type = ElementType::f32;
  if (!tensor.data) return;
  auto wide = std::make_shared<std::string>(2 * tensor.data->size(), '\0');
  widen(type, std::as_bytes(std::span(*tensor.data)), std::as_writable_bytes(std::span(*wide)));
  tensor.data = std::move(wide);
}

void widen_attribute(ModelAttribute& attribute) {
  if (auto* const tensor = std::get_if<ModelTensor>(&attribute.value)) widen_tensor(*tensor);
  if (states_type(attribute) && is_narrow(attribute.element()))
    attribute.value = static_cast<int64_t>(ElementType::f32);
}

}  // namespace

void widen(Model& model, const GraphOrder& order, std::vector<std::string>& notes) {
  int64_t weights = 0;
  for (const ModelTensor& tensor : model.initializers)
    if (is_narrow(tensor.type)) model.in_file.emplace(tensor.name, tensor.type), ++weights;
  for (const DeclaredValue& input : model.inputs)
    if (is_narrow(input.type)) model.in_file.emplace(input.name, input.type);
  for (const int index : order.nodes) {
    const ModelNode& node = model.nodes[static_cast<size_t>(index)];
    const ElementType type = narrow_result(node, model.in_file);
    if (type == ElementType::undefined) continue;
    for (const std::string& output : node.outputs)
      if (!output.empty()) model.in_file.emplace(output, type);
  }
  if (model.in_file.empty()) return;

  for (ModelTensor& tensor : model.initializers) widen_tensor(tensor);
  for (ModelNode& node : model.nodes)
    for (ModelAttribute& attribute : node.attributes) widen_attribute(attribute);
  for (std::vector<DeclaredValue>* const values : {&model.inputs, &model.outputs, &model.values})
    for (DeclaredValue& value : *values)
      if (is_narrow(value.type)) value.type = ElementType::f32;
  if (weights == 0)
    notes.push_back("the file computes in 16 bits; --precision says what the trainer computes in");
  else
    notes.push_back(fmt::format(
        "{} of the file {} 16 bits: trained in f32, and saved in the file's type; --precision says what the trainer "
        "computes in",
        counted(weights, "tensor"), weights == 1 ? "has" : "have"));
}

}  // namespace plimsoll
