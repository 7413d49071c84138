#include "executor.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "compiler/ir/profile.h"
#include "runtime/backend.h"

namespace plimsoll::test {
namespace {

constexpr int64_t kGuard = 256;
constexpr std::byte kGuardByte{0xA5};

}  // namespace

Buffer::Buffer(int64_t bytes, int fill) : bytes_(static_cast<size_t>(bytes + 3 * kGuard), kGuardByte), size_(bytes) {
  const int64_t address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(bytes_.data()));
  start_ = (address + 2 * kGuard - 1) / kGuard * kGuard - address;
  std::memset(data(), fill, static_cast<size_t>(bytes));
}

void Buffer::copy_from(const Buffer& other) { std::memcpy(data(), other.data(), static_cast<size_t>(size_)); }

bool Buffer::guards_intact() const {
  const auto untouched = [](std::byte b) { return b == kGuardByte; };
  return std::all_of(bytes_.begin(), bytes_.begin() + start_, untouched) &&
         std::all_of(bytes_.begin() + start_ + size_, bytes_.end(), untouched);
}

KernelCall Executor::call_of(const Task& task, bool accumulate) const {
  KernelCall call{.name = task.kernel};
  for (const Attribute& attribute : task.attributes) call.attributes.push_back({attribute.name, attribute.value});
  for (const Operand& operand : task.operands) {
    const bool gradient = operand.tensor.valid() &&
                          instance_.graph.tensors[operand.tensor].kind == TensorKind::weight_gradient;
    const bool adds = accumulate && gradient && operand.access == Access::write;
    call.operands.push_back(operand.access == Access::absent
                                ? absent()
                                : OperandDesc{operand.type.at(samples_), adds ? Access::update : operand.access});
  }
  return call;
}

std::vector<Algorithm> Executor::algorithms(const Task& task) const { return algorithms_of(call_of(task, false)); }

void Executor::execute(const Task& task, const Variation& variation,
                       const std::function<std::byte*(TensorId)>& address) {
  const std::string key =
      task.name + "|" + signature(task, samples_) + "|" + variation.algorithm + (variation.accumulate ? "|+" : "");
  auto found = built_.find(key);
  if (found == built_.end()) {
    const KernelCall call = call_of(task, variation.accumulate);
    const std::vector<Algorithm> offered = algorithms_of(call);
    REQUIRE_FALSE(offered.empty());
    const auto chosen = variation.algorithm.empty()
                            ? offered.begin()
                            : std::find_if(offered.begin(), offered.end(),
                                           [&](const Algorithm& a) { return a.name == variation.algorithm; });
    REQUIRE(chosen != offered.end());
    found = built_.emplace(key, Built{make_kernel(call, variation.algorithm), Buffer(chosen->workspace_bytes, fill)})
                .first;
  }
  std::vector<std::byte*> addresses;
  for (const Operand& operand : task.operands)
    addresses.push_back(operand.access == Access::absent ? nullptr : address(operand.tensor));
  Buffer& workspace = found->second.workspace;
  std::memset(workspace.data(), fill, static_cast<size_t>(workspace.size()));
  found->second.kernel->run(context, addresses.data(), workspace.data());
  backend::finish(nullptr);
  if (!workspace.guards_intact()) FAIL(task.name << " wrote beyond its workspace of " << workspace.size() << " bytes");
}

Buffers Executor::run(const std::map<TensorId, Values>& given, bool forward_only,
                      const std::function<void(const Task&, const Buffers&)>& before) {
  Buffers buffers;
  for (const TensorId id : ids_of(instance_.graph.tensors)) {
    const TensorDesc desc = instance_.graph.tensors[id].type.at(samples_);
    Buffer& buffer = buffers.emplace(id, Buffer(desc.bytes(), fill)).first->second;
    if (const auto contents = given.find(id); contents != given.end()) store(desc, contents->second, buffer.data());
  }
  const size_t count = forward_only ? instance_.forward_tasks : instance_.graph.tasks.size();
  for (size_t i = 0; i < count; ++i) {
    const Task& task = instance_.graph.tasks[TaskId(static_cast<int64_t>(i))];
    if (before) before(task, buffers);
    execute(task, {}, [&](TensorId id) { return buffers.at(id).data(); });
  }
  for (const auto& [id, buffer] : buffers)
    if (!buffer.guards_intact()) FAIL("a task wrote beyond tensor " << instance_.graph.tensors[id].name);
  return buffers;
}

Buffers Executor::run_apart(const Task& task, const Buffers& buffers, const Variation& variation) {
  Buffers copies;
  for (const Operand& operand : task.operands) {
    if (operand.access == Access::absent || copies.count(operand.tensor)) continue;
    const Buffer& original = buffers.at(operand.tensor);
    copies.emplace(operand.tensor, Buffer(original.size(), fill)).first->second.copy_from(original);
  }
  execute(task, variation, [&](TensorId id) {
    return copies.at(variation.shared && variation.shared->second == id ? variation.shared->first : id).data();
  });
  // A kernel must not change operands that it only reads, except for bytes that it may overwrite.
  for (const Operand& operand : task.operands) {
    if (operand.access == Access::absent) continue;
    const Buffer& copy = copies.at(operand.tensor);
    if (!copy.guards_intact())
      FAIL(task.name << " wrote beyond tensor " << instance_.graph.tensors[operand.tensor].name);
    const bool overwritten = variation.shared && variation.shared->first == operand.tensor;
    if (operand.access == Access::read && !overwritten && copy.contents() != buffers.at(operand.tensor).contents())
      FAIL(task.name << " changed " << instance_.graph.tensors[operand.tensor].name << ", which it only reads");
  }
  if (variation.shared) copies.at(variation.shared->second).copy_from(copies.at(variation.shared->first));
  return copies;
}

Values Executor::values(const Buffers& buffers, TensorId tensor, const TensorType& type) const {
  return load(type.at(samples_), buffers.at(tensor).data());
}

void run_once(const KernelCall& call, const RunContext& context, std::vector<std::vector<float>>& tensors) {
  std::vector<std::byte*> addresses;
  for (std::vector<float>& tensor : tensors) addresses.push_back(reinterpret_cast<std::byte*>(tensor.data()));
  std::vector<double> workspace(static_cast<size_t>(algorithms_of(call)[0].workspace_bytes) / sizeof(double) + 1);
  const std::unique_ptr<Kernel> kernel = make_kernel(call, "");
  kernel->run(context, addresses.data(), reinterpret_cast<std::byte*>(workspace.data()));
  backend::finish(nullptr);
}

}  // namespace plimsoll::test
