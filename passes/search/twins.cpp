#include "passes/search/twins.h"

#include <bit>
#include <map>

namespace plimsoll::search {
namespace {

constexpr int kUpstream = 3;

// Not commutative: a tensor and its producer's input must not hash like the same pair reversed.
uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (std::rotl(hash, 23) + value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

uint64_t color_of_task(const Model& model, int32_t task) {
  uint64_t color = static_cast<uint64_t>(model.task(task).kind);
  for (const Algorithm& algorithm : model.algorithms_of(task))
    color =
        mix(mix(color, std::bit_cast<uint64_t>(algorithm.seconds)), static_cast<uint64_t>(algorithm.workspace_bytes));
  return color;
}

}  // namespace

std::vector<std::vector<int32_t>> find_twins(const Model& model, const std::vector<int32_t>& tensors) {
  std::vector<uint64_t> tasks;
  for (int32_t task = 0; task < static_cast<int32_t>(model.tasks.size()); ++task)
    tasks.push_back(color_of_task(model, task));
  std::vector<uint64_t> colors;
  for (const ModelTensor& tensor : model.tensors)
    colors.push_back(mix(static_cast<uint64_t>(tensor.bytes), tensor.producer < 0 ? 0 : tasks[at(tensor.producer)]));
  for (int turn = 0; turn < kUpstream; ++turn) {
    std::vector<uint64_t> next = colors;
    for (size_t id = 0; id < colors.size(); ++id)
      if (const int32_t producer = model.tensors[id].producer; producer >= 0)
        for (const int32_t read : model.reads(producer)) next[id] = mix(next[id], colors[at(read)]);
    colors = std::move(next);
  }
  // Hashes of readers are added, because their order carries no information.
  std::vector<uint64_t> readers(colors.size(), 0);
  for (int32_t task = 0; task < static_cast<int32_t>(model.tasks.size()); ++task)
    for (const int32_t read : model.reads(task)) readers[at(read)] += mix(1, tasks[at(task)]);

  std::vector<std::vector<int32_t>> classes;
  std::map<uint64_t, size_t> known;
  for (const int32_t tensor : tensors) {
    const auto [found, fresh] = known.try_emplace(mix(colors[at(tensor)], readers[at(tensor)]), classes.size());
    if (fresh) classes.emplace_back();
    classes[found->second].push_back(tensor);
  }
  return classes;
}

}  // namespace plimsoll::search
