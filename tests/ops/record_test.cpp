// Hidden: `test_ops [cases]` writes every task of every sample, with its inputs and the host's results, to the file
// named by PLIMSOLL_CASES. Another backend replays them on a machine where the host backend is absent
// (runtime/profile/replay.cpp).
#include <catch2/catch.hpp>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "compiler/ir/attributes_json.h"
#include "executor.h"

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
  size_t cases = 0, cases_last = 0;
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
        write(false, false);
        if (makes_weight_gradient(task, instance.graph)) write(true, false);
        if (!task.remembers.empty()) write(false, true);
        ++number;
      });
    }
  }
  out << "\n]}\n";
  REQUIRE(out.flush());
  CHECK(cases > 100);
  CHECK((cases_last > 100) == nhwc_too);
}

}  // namespace plimsoll::test
