// Reuse distances within an iteration.
#include <catch2/catch.hpp>

#include "compiler/costs/reuse.h"
#include "compiler/ir/profile.h"

using namespace plimsoll;

namespace {

// Tensors of given numbers of floats. Every task reads all of its operands except the last, which it writes.
struct Chain {
  TaskGraph graph;
  std::map<std::string, TensorId> tensors;

  TensorId tensor(const std::string& name, int64_t floats) {
    if (!tensors.contains(name))
      tensors[name] = graph.tensors.push_back({.name = name, .type = {.dims = {{floats}}}});
    return tensors[name];
  }
  void task(const std::string& kernel, std::vector<std::pair<std::string, int64_t>> operands,
            TaskKind kind = TaskKind::forward) {
    Task task{.name = kernel, .kind = kind, .kernel = kernel};
    for (const auto& [name, floats] : operands) {
      const TensorId id = tensor(name, floats);
      task.operands.push_back(
          {id, &operands.back().first == &name ? Access::write : Access::read, graph.tensors[id].type});
    }
    graph.tasks.push_back(std::move(task));
  }
  std::vector<int64_t> of(const std::string& kernel) const {
    const auto reuse = reuse_bytes(graph, 1);
    for (const Task& task : graph.tasks)
      if (task.kernel == kernel) return reuse.at(signature(task, 1));
    return {};
  }
};

}  // namespace

TEST_CASE("what the task before made was touched just now, a weight an iteration ago", "[costs]") {
  //  A: x w → y     B: y → z     C: z x → d
  Chain chain;
  chain.task("A", {{"x", 1}, {"w", 10}, {"y", 100}});
  chain.task("B", {{"y", 100}, {"z", 1000}});
  chain.task("C", {{"z", 1000}, {"x", 1}, {"d", 10000}});
  CHECK(chain.of("A") == std::vector<int64_t>{0, 4 * 11101, 4 * 11001});  // since w: x y z d; since y: z x d
  CHECK(chain.of("B") == std::vector<int64_t>{0, 4 * 111});               // since z: x, w, y after the last C
  // Since x: y and z after A; since d: everything else.
  CHECK(chain.of("C") == std::vector<int64_t>{0, 4 * 1100, 4 * 1111});
}

TEST_CASE("an update follows its gradient, wherever the graph lists it", "[costs]") {
  Chain chain;
  chain.task("gradient", {{"x", 1}, {"dw", 10}});
  chain.task("other", {{"x", 1}, {"big", 1000}});
  chain.task("update", {{"dw", 10}, {"w", 10}}, TaskKind::update);
  CHECK(chain.of("update").front() == 0);
}

TEST_CASE("tasks of one signature share the median", "[costs]") {
  // B three times: its operand is recent twice, then 4000 bytes old.
  Chain chain;
  chain.task("A", {{"x", 1}, {"a", 1}});
  chain.task("B", {{"a", 1}, {"b", 1}});
  chain.task("B", {{"b", 1}, {"c", 1}});
  chain.task("far", {{"x", 1}, {"large", 1000}});
  chain.task("B", {{"c", 1}, {"d", 1}});
  CHECK(chain.of("B").front() == 0);
}

TEST_CASE("a task that remembers is run again right before the backward reads what it makes", "[costs]") {
  //  bn: x → y s   conv: y → z   loss: z → d   back: y d → e   bn.back: x s → f
  Chain chain;
  chain.task("bn", {{"x", 1}, {"s", 10}, {"y", 100}});
  Task& bn = chain.graph.tasks.back();
  bn.operands[1].access = Access::write;
  bn.remembers = {chain.tensors["s"]};
  const Task again = as_run_again(bn);
  chain.task("conv", {{"y", 100}, {"z", 1000}});
  chain.task("loss", {{"z", 1000}, {"d", 10000}}, TaskKind::loss);
  chain.task("back", {{"y", 100}, {"d", 10000}, {"e", 100000}}, TaskKind::backward);
  chain.task("bn.back", {{"x", 1}, {"s", 10}, {"f", 100000}}, TaskKind::backward);
  // Since bn: y, z and d. Since conv, which accessed y: z and d.
  CHECK(reuse_bytes(chain.graph, 1).at(signature(again, 1)) == std::vector<int64_t>{4 * 11100, 4 * 11100, 4 * 11000});
}

TEST_CASE("what is written in place lies where the operand did", "[costs]") {
  Chain chain;
  chain.task("A", {{"x", 1}, {"y", 10}});
  chain.task("relu", {{"y", 10}, {"z", 10}});
  chain.graph.tasks.back().in_place = {{chain.tensors["y"], chain.tensors["z"]}};
  CHECK(chain.of("relu") == std::vector<int64_t>{0, 0});
}
