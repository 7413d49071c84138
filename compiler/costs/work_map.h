// Values by distinct work. A deep network has hundreds of thousands of tasks and a few dozen kinds of work; to find
// them by signature() takes several times as long, because it makes a text for each task.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "compiler/ir/task_graph.h"

namespace plimsoll {

// Two tasks are the same work here if kernel, attributes, operands and samples are equal. They then have the same
// signature, but not the other way round: f32[8] and f32[N] of 8 samples are different here.
template <class Value>
class WorkMap {
 public:
  // Null: no such work was put in.
  const Value* find(const Task& task, int64_t samples) const {
    const auto found = values_.find(Work{&task, samples});
    return found == values_.end() ? nullptr : &found->second.value;
  }
  // The value of this work; made empty if it is new. References stay valid.
  Value& find_or_add(const Task& task, int64_t samples) {
    const auto found = values_.find(Work{&task, samples});
    if (found != values_.end()) return found->second.value;
    Entry entry{std::make_unique<const Task>(task), {}};
    const Work work{entry.task.get(), samples};
    return values_.emplace(work, std::move(entry)).first->second.value;
  }

 private:
  struct Work {
    const Task* task;
    int64_t samples;
  };
  // With a task of its own, which the key refers to.
  struct Entry {
    std::unique_ptr<const Task> task;
    Value value;
  };
  struct Hash {
    // Without attributes, names and types of elements: few kinds of work differ in those alone.
    size_t operator()(const Work& work) const {
      constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio
      uint64_t hash = static_cast<uint64_t>(work.samples);
      const auto add = [&](uint64_t number) { hash = (hash ^ (hash >> 32) ^ number) * kFactor; };
      add(std::hash<std::string>{}(work.task->kernel));
      for (const Operand& operand : work.task->operands)
        for (const Dim& dim : operand.type.dims) add(static_cast<uint64_t>(dim.value));
      return hash ^ (hash >> 32);
    }
  };
  struct Equal {
    bool operator()(const Work& a, const Work& b) const {
      const auto same = [](const Operand& one, const Operand& other) {
        return one.access == other.access && one.type == other.type;
      };
      return a.samples == b.samples && a.task->kernel == b.task->kernel && a.task->attributes == b.task->attributes &&
             std::ranges::equal(a.task->operands, b.task->operands, same);
    }
  };

  std::unordered_map<Work, Entry, Hash, Equal> values_;
};

}  // namespace plimsoll
