#include "compiler/network/simplify/module_path.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace plimsoll {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(separator, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

// The dynamo exporter: "['', 'layer1', 'layer1.0', 'layer1.0.conv1', 'conv2d_3']"; the innermost module is second to
// last.
std::string from_name_scopes(std::string_view text) {
  const std::vector<std::string_view> quoted = split(text, '\'');  // scopes are the odd-numbered parts
  const size_t scopes = quoted.size() / 2;
  return scopes < 2 ? "" : std::string(quoted[2 * (scopes - 2) + 1]);
}

// Also the dynamo exporter: ": ResNet/layer1: Sequential/layer1.0.conv1: torch.nn.Conv2d/conv2d_3: aten.conv2d".
std::string from_namespace(std::string_view text) {
  const std::vector<std::string_view> scopes = split(text, '/');
  if (scopes.size() < 2) return "";
  const std::string_view module = scopes[scopes.size() - 2];
  return std::string(module.substr(0, std::min(module.find(':'), module.size())));
}

// The TorchScript exporter: "/layer1/layer1.0/conv1/Conv". A child of a Sequential repeats its parent's last name
// ("layer1.0" below "layer1"), others do not ("conv1").
std::string from_node_name(std::string_view name) {
  if (!name.starts_with('/')) return "";
  std::vector<std::string_view> scopes = split(name.substr(1), '/');
  scopes.pop_back();
  std::string path;
  std::string_view parent;
  for (const std::string_view scope : scopes) {
    const bool repeats = !parent.empty() && scope.size() > parent.size() && scope.starts_with(parent) &&
                         scope[parent.size()] == '.';
    if (repeats) path.resize(path.size() - parent.size());
    else if (!path.empty()) path += '.';
    path += scope;
    parent = scope;
  }
  return path;
}

}  // namespace

std::string module_path_of(const ModelNode& node) {
  for (const auto& entry : node.metadata)
    if (entry.key == "pkg.torch.onnx.name_scopes") return from_name_scopes(entry.value);
  for (const auto& entry : node.metadata)
    if (entry.key == "namespace" || entry.key == "pkg.torch.onnx.namespace") return from_namespace(entry.value);
  return from_node_name(node.name);
}

std::string describe_in_module(const ModelNode& node) {
  std::string text = describe(node);
  const std::string module = module_path_of(node);
  if (!module.empty()) text.insert(text.size() - 1, ", " + module);
  return text;
}

bool is_by_dynamo(const ModelNode& node) {
  return std::any_of(node.metadata.begin(), node.metadata.end(),
                     [](const auto& entry) { return entry.key.starts_with("pkg.torch.onnx."); });
}

bool came_from_dynamo(const Model& model) {
  return std::any_of(model.nodes.begin(), model.nodes.end(), is_by_dynamo);
}

}  // namespace plimsoll
