// Runs the tasks of an instance, each tensor in its own buffer between guards that must not be accessed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "instance.h"
#include "runtime/profile/kernel_registry.h"

namespace plimsoll::test {

// Aligned as in an arena, with a guard on both sides.
class Buffer {
 public:
  explicit Buffer(int64_t bytes = 0, int fill = 0xFF);
  std::byte* data() { return bytes_.data() + start_; }
  const std::byte* data() const { return bytes_.data() + start_; }
  int64_t size() const { return size_; }
  std::vector<std::byte> contents() const { return {data(), data() + size_}; }
  void copy_from(const Buffer& other);
  bool guards_intact() const;

 private:
  std::vector<std::byte> bytes_;
  int64_t start_ = 0, size_ = 0;
};

using Buffers = std::map<TensorId, Buffer>;

// How a task is run once; the defaults are those of a plan.
struct Variation {
  std::string algorithm = {};
  std::optional<std::pair<TensorId, TensorId>> shared = {};  // in place: {read, written} share bytes
  bool accumulate = false;                                   // weight gradients are accumulated
};

class Executor {
 public:
  Executor(const Instance& instance, int64_t samples) : instance_(instance), samples_(samples) {}

  RunContext context{.seed = 42, .learning_rate = 0.1};
  int fill = 0xFF;  // the contents of bytes that have not been written

  // The contents of all tensors after all tasks (or only the forward tasks). `given` overrides instance.given, for this
  // executor's number of samples. `before` is called with the buffers before each task.
  Buffers run(const std::map<TensorId, Values>& given, bool forward_only = false,
              const std::function<void(const Task&, const Buffers&)>& before = {});

  // Runs a task on copies of the buffers that it accesses; returns the copies.
  Buffers run_apart(const Task& task, const Buffers& buffers, const Variation& variation = {});

  std::vector<Algorithm> algorithms(const Task& task) const;
  KernelCall call_of(const Task& task, bool accumulate) const;
  Values values(const Buffers& buffers, TensorId tensor, const TensorType& type) const;

 private:
  void execute(const Task& task, const Variation& variation, const std::function<std::byte*(TensorId)>& address);

  struct Built {
    std::unique_ptr<Kernel> kernel;
    Buffer workspace;
  };
  const Instance& instance_;
  int64_t samples_;
  std::map<std::string, Built> built_;
};

// Runs a kernel once on these tensors, which it may change, with the workspace that it reports.
void run_once(const KernelCall& call, const RunContext& context, std::vector<std::vector<float>>& tensors);

}  // namespace plimsoll::test
