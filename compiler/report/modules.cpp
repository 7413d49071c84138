#include "compiler/report/modules.h"

#include <string_view>

namespace plimsoll {
namespace {

// "/layer1/layer1.0/conv2/Conv" belongs to "layer1.0.conv2": a child of a Sequential repeats its parent's last name.
std::string module_by_name(std::string_view name) {
  if (!name.starts_with('/')) return "";
  std::string path;
  std::string_view parent;
  for (size_t start = 1, end; (end = name.find('/', start)) != std::string_view::npos; start = end + 1) {
    const std::string_view scope = name.substr(start, end - start);
    const bool repeats =
        !parent.empty() && scope.size() > parent.size() && scope.starts_with(parent) && scope[parent.size()] == '.';
    if (repeats) path.resize(path.size() - parent.size());
    else if (!path.empty()) path += '.';
    path += scope;
    parent = scope;
  }
  return path;
}

// "layer1.0.conv2.weight" belongs to "layer1.0.conv2".
std::string module_by_weight(const Plan& plan, const LayerFacts& layer) {
  for (const TaskId task : layer.tasks)
    for (const TensorId tensor : plan.tasks[task].reads) {
      const std::string& name = plan.tensors[tensor].name;
      const size_t dot = name.rfind('.');
      if (plan.tensors[tensor].kind == TensorKind::weight && dot != std::string::npos && dot > 0)
        return name.substr(0, dot);
    }
  return "";
}

}  // namespace

std::vector<std::string> modules_of(const Plan& plan, const PlanFacts& facts) {
  std::vector<std::string> modules;
  modules.reserve(facts.layers.size());
  for (const LayerFacts& layer : facts.layers) {
    std::string path = module_by_name(layer.name);
    modules.push_back(path.empty() ? module_by_weight(plan, layer) : std::move(path));
  }
  return modules;
}

}  // namespace plimsoll
