// Hidden: `test_ops [cases]` writes every task of every sample, with its inputs and the host's results, to the file
// named by PLIMSOLL_CASES. Another backend replays them on a machine where the host backend is absent
// (runtime/profile/replay.cpp).
#include <catch2/catch.hpp>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "compiler/ir/attributes_json.h"
#include "executor.h"
#include "narrow_operands.h"
#include "runtime/attrs/whole.h"
#include "runtime/backend.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

std::string hexadecimal(const Buffer& buffer) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (int64_t i = 0; i < buffer.size(); ++i) {
    const auto byte = static_cast<unsigned>(buffer.data()[i]);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

std::string_view name_of_access(Access access) {
  switch (access) {
    case Access::absent: return "absent";
    case Access::read: return "read";
    case Access::write: return "write";
    case Access::update: return "update";
  }
  return "";
}

// A tensor's bytes in the layout of `type`; the host computed them in the plain layout.
std::string written(const Buffer& buffer, TensorType type) {
  if (type.layout == Layout::plain) return hexadecimal(buffer);
  const TensorDesc other = type.at(kSamples);
  type.layout = Layout::plain;
  Buffer turned(other.bytes());
  store(other, load(type.at(kSamples), buffer.data()), turned.data());
  return hexadecimal(turned);
}

// `task` may belong to an instance with other layouts than the one that ran.
json case_of(const std::string& name, const Task& task, const Buffers& before, const Buffers& after, bool accumulate,
             const TaskGraph& graph) {
  json one = {{"name", name},
              {"kernel", task.kernel},
              {"attributes", json_of(task.attributes)},
              {"operands", json::array()}};
  for (const Operand& operand : task.operands) {
    Access access = operand.access;
    if (access == Access::absent) {
      one["operands"].push_back({{"access", "absent"}});
      continue;
    }
    const bool gradient = graph.tensors[operand.tensor].kind == TensorKind::weight_gradient;
    if (accumulate && gradient && access == Access::write) access = Access::update;
    const TensorDesc desc = operand.type.at(kSamples);
    json entry = {{"access", name_of_access(access)},
                  {"type", plimsoll::name_of(desc.type)},
                  {"layout", plimsoll::name_of(desc.layout)},
                  {"dims", std::vector<int64_t>(desc.dims.begin(), desc.dims.end())}};
    if (access != Access::write) entry["before"] = written(before.at(operand.tensor), operand.type);
    if (access != Access::read) entry["after"] = written(after.at(operand.tensor), operand.type);
    one["operands"].push_back(std::move(entry));
  }
  return one;
}

// The types of a task's operands in bf16, as plans have them: everything that a kernel may take so; every way of
// kernels whose operands are of both types in plans; terms in bf16 and a sum in f32. The host may lack a library's
// kernels. Each way is recorded in f16, too.
std::vector<std::vector<OperandDesc>> recorded_in_bf16(const Task& task, const KernelCall& call) {
  constexpr NarrowForm kOfLibraries[] = {{"ConvBackwardData", slots({0, 1}), slots({2, 3})},
                                         {"ConvBackwardWeights", slots({0, 1})},
                                         {"ConvForward", slots({0, 1}), slots({3})},
                                         {"ConvTransposeForward", slots({0, 1}), slots({3})},
                                         {"MatMul", slots({0, 1}), slots({2, 3})},
                                         {"MaxPoolForward", slots({0, 1})},
                                         {"Reorder", slots({0, 1})}};
  constexpr std::string_view kOfBothTypes[] = {"BinaryAdd", "CastTo", "GatherForward", "MatMul"};
  std::vector<std::vector<OperandDesc>> ways =
      ways_in(DataType::bf16, task, call, [&](std::span<const OperandDesc> operands) {
        for (const OperandDesc& operand : operands)
          if (operand.access == Access::update && operand.tensor.type == DataType::bf16) return false;
        return has_narrow_kernel(call.name, operands) ||
               std::any_of(std::begin(kOfLibraries), std::end(kOfLibraries),
                           [&](const NarrowForm& form) { return form.kernel == call.name && takes(form, operands); });
      });
  if (std::find(std::begin(kOfBothTypes), std::end(kOfBothTypes), call.name) != std::end(kOfBothTypes)) return ways;
  const auto size = [](const std::vector<OperandDesc>& operands) {
    return std::count_if(operands.begin(), operands.end(),
                         [](const OperandDesc& o) { return o.tensor.type == DataType::bf16; });
  };
  const bool least = call.name == "SumToShape";
  std::stable_sort(ways.begin(), ways.end(),
                   [&](const auto& a, const auto& b) { return least ? size(a) < size(b) : size(a) > size(b); });
  ways.resize(std::min<size_t>(ways.size(), 1));
  return ways;
}

std::vector<OperandDesc> with_narrow(DataType narrow, std::vector<OperandDesc> operands) {
  for (OperandDesc& operand : operands)
    if (operand.access != Access::absent && is_narrow(operand.tensor.type)) operand.tensor.type = narrow;
  return operands;
}

Task with_types(Task task, const std::vector<OperandDesc>& operands) {
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i].access != Access::absent) task.operands[i].type.type = operands[i].tensor.type;
  return task;
}

// The tensors with the given types before the kernel for f32 runs on widened operands, and after.
std::pair<Buffers, Buffers> run_widened(const Task& task, const KernelCall& call,
                                        const std::vector<OperandDesc>& operands, const Buffers& buffers,
                                        const RunContext& context) {
  Buffers before;
  for (size_t i = 0; i < operands.size(); ++i) {
    const TensorId id = task.operands[i].tensor;
    if (operands[i].access == Access::absent || before.count(id)) continue;
    const Buffer& given = buffers.at(id);
    before.emplace(id, is_narrow(operands[i].tensor.type) ? in_narrow(operands[i].tensor.type, given) : given);
  }
  Buffers after = before;
  KernelCall single = call;
  single.operands = as_f32(operands);
  const auto kernel = on_widened(make_kernel(single, ""), operands);
  Buffer workspace(on_widened(algorithms_of(single), operands).front().workspace_bytes);
  std::vector<std::byte*> addresses;
  for (size_t i = 0; i < operands.size(); ++i)
    addresses.push_back(operands[i].access == Access::absent ? nullptr : after.at(task.operands[i].tensor).data());
  kernel->run(context, addresses.data(), workspace.data());
  backend::finish(nullptr);
  return {std::move(before), std::move(after)};
}

// A cast between f32 and bf16 or f16, which no operator has: --precision inserts it. Half of the numbers are ties.
json cast_case(DataType narrow, bool narrows) {
  constexpr int64_t kCount = 1003;
  Buffer f32(4 * kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    const uint32_t bits =
        0x3F800000U + static_cast<uint32_t>(i) * (i % 2 == 0 ? narrow == DataType::bf16 ? 0x8000U : 0x1000U : 0x1357U);
    reinterpret_cast<float*>(f32.data())[i] = (i % 3 == 0 ? -1.0F : 1.0F) * std::bit_cast<float>(bits);
  }
  const Buffer halves = in_narrow(narrow, f32);
  for (int64_t i = 0; i < kCount && !narrows; ++i)
    reinterpret_cast<float*>(f32.data())[i] = widened(narrow == DataType::bf16 ? FileType::bf16 : FileType::f16,
                                                      reinterpret_cast<const uint16_t*>(halves.data())[i]);
  const std::string type(name_of(narrow));
  const auto entry = [](const char* access, const std::string& type, const char* when, const Buffer& buffer) {
    return json{
        {"access", access}, {"type", type}, {"layout", "plain"}, {"dims", {17, 59}}, {when, hexadecimal(buffer)}};
  };
  return {{"name", narrows ? "Cast/f32 to " + type : "Cast/" + type + " to f32"},
          {"kernel", "CastTo"},
          {"attributes", json_of(to_attributes(CastAttrs{}))},
          {"operands", narrows ? json{entry("read", "f32", "before", f32), entry("write", type, "after", halves)}
                               : json{entry("read", type, "before", halves), entry("write", "f32", "after", f32)}}};
}

bool makes_weight_gradient(const Task& task, const TaskGraph& graph) {
  for (const Operand& operand : task.operands)
    if (operand.access == Access::write && graph.tensors[operand.tensor].kind == TensorKind::weight_gradient)
      return true;
  return false;
}

}  // namespace

TEST_CASE("cases for another backend", "[.cases]") {
  const char* const path = std::getenv("PLIMSOLL_CASES");
  REQUIRE(path != nullptr);
  const bool nhwc_too = std::getenv("PLIMSOLL_CASES_NHWC") != nullptr;  // layouts that the host itself cannot replay
  std::ofstream out(path);
  out << "{\"schema\": 1, \"seed\": 42, \"learning_rate\": 0.1, \"cases\": [";
  size_t cases = 0, cases_last = 0, cases_narrow = 0;
  for (const Op* op : all_ops()) {
    if (op->samples == nullptr) continue;
    for (const Sample& sample : op->samples()) {
      const Instance instance = make_instance(*op, sample);
      Executor executor(instance, kSamples);
      const std::string name = std::string(op->name) + "/" + sample.name + " ";
      // Channels last: the host's results, transposed. A Reorder converts from there to plain.
      std::optional<Instance> last;
      if (const Lying lying{.images = Layout::nhwc, .outputs = op->of_onnx()}; nhwc_too && can_lie(*op, sample, lying))
        last = make_instance(*op, sample, lying);
      size_t number = 0;
      executor.run(instance.given, false, [&](const Task& task, const Buffers& buffers) {
        const auto write = [&](bool accumulate, bool again) {
          const Task run = again ? as_run_again(task) : task;
          Buffers before = buffers;
          if (again)
            for (auto& [id, buffer] : executor.run_apart(task, buffers)) before.at(id) = buffer;
          // An accumulated gradient starts from a nonzero number.
          if (accumulate)
            for (const Operand& operand : task.operands)
              if (operand.access == Access::write)
                std::memset(before.at(operand.tensor).data(), 0x3E, size_t(before.at(operand.tensor).size()));
          const Buffers after = executor.run_apart(run, before, {.accumulate = accumulate});
          const std::string how = accumulate ? ", added" : again ? ", again" : "";
          out << (cases++ == 0 ? "\n" : ",\n")
              << case_of(name + task.name + how, run, before, after, accumulate, instance.graph).dump();
          if (!last) return;
          const Task& alike = last->graph.tasks[TaskId(static_cast<int64_t>(number))];
          const Task turned = again ? as_run_again(alike) : alike;
          out << ",\n"
              << case_of(name + task.name + ", nhwc" + how, turned, before, after, accumulate, last->graph).dump();
          ++cases_last;
        };
        const auto write_narrow = [&](DataType narrow, bool accumulate) {
          const KernelCall call = executor.call_of(task, accumulate);
          Buffers filled = buffers;
          if (accumulate)
            for (const Operand& operand : task.operands)
              if (operand.access == Access::write)
                std::memset(filled.at(operand.tensor).data(), 0x3E, size_t(filled.at(operand.tensor).size()));
          for (const std::vector<OperandDesc>& in_bf16 : recorded_in_bf16(task, call)) {
            const std::vector<OperandDesc> operands = with_narrow(narrow, in_bf16);
            const auto [before, after] = run_widened(task, call, operands, filled, executor.context);
            std::string how = (accumulate ? ", added, " : ", ") + std::string(name_of(narrow));
            for (const OperandDesc& operand : operands) how += operand.tensor.type == narrow ? "*" : "-";
            out << ",\n"
                << case_of(name + task.name + how, with_types(task, operands), before, after, accumulate,
                           instance.graph)
                       .dump();
            ++cases_narrow;
            if (!last) continue;
            const Task& alike = last->graph.tasks[TaskId(static_cast<int64_t>(number))];
            out << ",\n"
                << case_of(name + task.name + ", nhwc" + how, with_types(alike, operands), before, after, accumulate,
                           last->graph)
                       .dump();
          }
        };
        write(false, false);
        if (makes_weight_gradient(task, instance.graph)) write(true, false);
        for (const bool accumulate : {false, true})
          if (!accumulate || makes_weight_gradient(task, instance.graph))
            for (const DataType narrow : {DataType::bf16, DataType::f16}) write_narrow(narrow, accumulate);
        if (!task.remembers.empty()) write(false, true);
        ++number;
      });
    }
  }
  for (const DataType narrow : {DataType::bf16, DataType::f16})
    for (const bool narrows : {false, true}) out << ",\n" << cast_case(narrow, narrows).dump();
  out << "\n]}\n";
  REQUIRE(out.flush());
  CHECK(cases > 100);
  CHECK(cases_narrow > 100);
  CHECK((cases_last > 100) == nhwc_too);
}

}  // namespace plimsoll::test
