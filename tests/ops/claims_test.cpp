// What operators declare about their tasks, verified by running them both ways.
#include <catch2/catch.hpp>

#include "executor.h"

namespace plimsoll::test {
namespace {

bool same_results(const Task& task, const Buffers& a, const Buffers& b) {
  for (const TensorId id : task.writes())
    if (a.at(id).contents() != b.at(id).contents()) return false;
  return true;
}

std::string algorithm_names(const std::vector<Algorithm>& algorithms) {
  std::string names;
  for (const Algorithm& algorithm : algorithms) names += algorithm.name + " ";
  return names;
}

}  // namespace

TEST_CASE("a task in place gives the same bits") {
  for_each_instance([](const Instance& instance) {
    Executor executor(instance, kSamples);
    executor.run(instance.given, false, [&](const Task& task, const Buffers& buffers) {
      for (const Task::InPlace& pair : task.in_place) {
        INFO(task.name << ": " << instance.graph.tensors[pair.written].name << " on "
                       << instance.graph.tensors[pair.read].name);
        REQUIRE(buffers.at(pair.read).size() == buffers.at(pair.written).size());
        const Buffers apart = executor.run_apart(task, buffers);
        const Buffers shared = executor.run_apart(task, buffers, {.shared = std::pair(pair.read, pair.written)});
        CHECK(same_results(task, shared, apart));
      }
    });
  });
}

TEST_CASE("a task run again gives the same bits and moves nothing") {
  for_each_instance([](const Instance& instance) {
    Executor executor(instance, kSamples);
    executor.run(instance.given, false, [&](const Task& task, const Buffers& before) {
      if (!task.may_run_again) return;
      INFO(task.name);
      Buffers after = before;
      for (auto& [id, buffer] : executor.run_apart(task, before)) after.at(id) = buffer;
      executor.context.recompute = true;
      const Buffers again = executor.run_apart(task, after);
      executor.context.recompute = false;
      CHECK(same_results(task, again, after));
      for (const TensorId id : task.updates()) {
        if (task.kind != TaskKind::forward) continue;
        INFO("moved " << instance.graph.tensors[id].name);
        CHECK(again.at(id).contents() == after.at(id).contents());
      }
    });
  });
}

TEST_CASE("an output that nothing reads changes none of the others") {
  for_each_sample([](const Op& op, const Sample& sample) {
    if (sample.outputs < 2 || make_instance(op, sample).is_loss) return;
    const auto results = [&](std::optional<int> unread) {
      const Instance instance = make_instance(op, sample, {}, unread);
      Executor executor(instance, kSamples);
      const Buffers after = executor.run(instance.given, false);
      std::map<std::string, std::vector<std::byte>> contents;
      for (const ValueId output : instance.outputs)
        if (output.valid() && instance.tensor_of.contains(output))
          contents[instance.network.values[output].name] = after.at(instance.tensor_of.at(output)).contents();
      return contents;
    };
    for (int unread = 0; unread < sample.outputs; ++unread) {
      CAPTURE(unread);
      auto all = results({});
      all.erase("out" + std::to_string(unread));
      CHECK(results(unread) == all);
    }
  });
}

TEST_CASE("what a task remembers is all that it needs of what it found out, and gives the same bits") {
  for_each_instance([](const Instance& instance) {
    Executor executor(instance, kSamples);
    executor.run(instance.given, false, [&](const Task& task, const Buffers& before) {
      if (task.remembers.empty()) return;
      INFO(task.name);
      REQUIRE(task.may_run_again);
      Buffers after = before;
      for (auto& [id, buffer] : executor.run_apart(task, before)) after.at(id) = buffer;
      const Task again = as_run_again(task);
      executor.context.recompute = true;
      Buffers left = after;
      for (const TensorId id : again.writes()) left.at(id) = Buffer(after.at(id).size(), 0x3C);
      CHECK(same_results(again, executor.run_apart(again, left), after));
      for (const TensorId id : task.remembers) {
        INFO("without " << instance.graph.tensors[id].name);
        Buffers without = left;
        without.at(id) = Buffer(left.at(id).size(), 0x3C);
        CHECK_FALSE(same_results(again, executor.run_apart(again, without), after));
      }
      for (const Task::InPlace& pair : again.in_place) {
        if (before.at(pair.read).size() != before.at(pair.written).size()) continue;
        const Buffers shared = executor.run_apart(again, left, {.shared = std::pair(pair.read, pair.written)});
        CHECK(same_results(again, shared, after));
      }
      executor.context.recompute = false;
    });
  });
}

TEST_CASE("weight gradients accumulate") {
  for_each_instance([](const Instance& instance) {
    Executor executor(instance, kSamples);
    executor.run(instance.given, false, [&](const Task& task, const Buffers& before) {
      std::vector<std::pair<TensorId, TensorType>> gradients;
      for (const Operand& operand : task.operands)
        if (operand.access == Access::write &&
            instance.graph.tensors[operand.tensor].kind == TensorKind::weight_gradient)
          gradients.push_back({operand.tensor, operand.type});
      if (gradients.empty()) return;
      const Buffers once = executor.run_apart(task, before);
      Buffers filled = before;
      for (const auto& [id, type] : gradients) {
        Values old(static_cast<size_t>(type.at(kSamples).elements()));
        for (size_t i = 0; i < old.size(); ++i) old[i] = 1.0 + 0.25 * static_cast<double>(i % 7);
        store(type.at(kSamples), old, filled.at(id).data());
      }
      for (const Algorithm& algorithm : executor.algorithms(task)) {
        INFO(task.name << ", algorithm " << algorithm.name);
        const Buffers added = executor.run_apart(task, filled, {.algorithm = algorithm.name, .accumulate = true});
        for (const auto& [id, type] : gradients) {
          Values expected = executor.values(once, id, type);
          const Values old = executor.values(filled, id, type);
          for (size_t i = 0; i < old.size(); ++i) expected[i] += old[i];
          CHECK(distance(executor.values(added, id, type), expected) < 1e-5);
        }
      }
    });
  });
}

TEST_CASE("every byte of a written operand is defined, and nothing else decides it") {
  for_each_instance([](const Instance& instance) {
    Executor one(instance, kSamples), other(instance, kSamples);
    other.fill = 0x3C;  // different garbage in outputs and in the workspace
    const Buffers a = one.run(instance.given), b = other.run(instance.given);
    for (const Task& task : instance.graph.tasks) {
      for (const TensorId id : task.writes()) {
        INFO(instance.graph.tensors[id].name);
        CHECK(a.at(id).contents() == b.at(id).contents());
      }
    }
  });
}

TEST_CASE("a batch normalization keeps its input only if a gradient depends on it") {
  for_each_instance([](const Instance& instance) {
    const Node& node = instance.network.nodes[NodeId(0)];
    if (node.op != "BatchNormalization") return;
    const bool needed = !node.marks.frozen_statistics || instance.gradient_of.contains(instance.inputs[1]) ||
                        node.marks.activation == FusedActivation::swish ||
                        node.marks.activation == FusedActivation::hard_swish;
    bool read = false;
    for (size_t i = instance.forward_tasks; i < instance.graph.tasks.size(); ++i)
      for (const TensorId id : instance.graph.tasks[TaskId(static_cast<int32_t>(i))].reads())
        read |= id == instance.tensor_of.at(instance.inputs[0]);
    CHECK(read == needed);
  });
}

TEST_CASE("all algorithms of a task agree") {
  for_each_instance([](const Instance& instance) {
    Executor executor(instance, kSamples);
    executor.run(instance.given, false, [&](const Task& task, const Buffers& buffers) {
      const std::vector<Algorithm> offered = executor.algorithms(task);
      const Buffers expected = executor.run_apart(task, buffers);
      for (const Algorithm& algorithm : offered) {
        INFO(task.name << ", algorithm " << algorithm.name << " of " << algorithm_names(offered));
        const Buffers got = executor.run_apart(task, buffers, {.algorithm = algorithm.name});
        for (const Operand& operand : task.operands) {
          if (operand.access != Access::write || operand.type.type != DataType::f32) continue;
          CHECK(distance(executor.values(got, operand.tensor, operand.type),
                         executor.values(expected, operand.tensor, operand.type)) < (algorithm.tf32 ? 5e-3 : 1e-4));
        }
      }
    });
  });
}

}  // namespace plimsoll::test
