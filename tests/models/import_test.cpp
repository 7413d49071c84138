// What the zoo writes, the importer reads, and the gradient rules train every parameter of it.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <filesystem>

#include "compiler/import/onnx.h"
#include "compiler/network/loss.h"
#include "compiler/training/build.h"
#include "models/zoo.h"

using namespace plimsoll;

namespace {

std::string explained(const Error& error) {
  std::string text = error.message;
  for (const std::string& note : error.notes) text += "\n  " + note;
  return text;
}

}  // namespace

TEST_CASE("every model of the zoo becomes a task graph that trains all of its parameters") {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("plimsoll-import-" + std::to_string(::getpid()) + ".onnx");
  for (const ZooModel& zoo : zoo_models()) {
    const std::string spec = zoo.name + ":init=zeros";
    INFO(spec);
    const Result<ZooFacts> facts = zoo_facts(spec);
    REQUIRE(facts.ok());
    REQUIRE(write_zoo_model(spec, path).ok());
    Result<ImportedModel> model = import_onnx(path, {.batch = 2});
    std::filesystem::remove(path);
    std::filesystem::remove(path.string() + ".data");
    INFO((model.ok() ? "imported" : explained(model.error())));
    CHECK(model.ok());
    if (!model.ok()) continue;
    CHECK(model->warnings.empty());
    int64_t trained = 0;
    for (const Value& value : model->network.values)
      if (value.kind == ValueKind::parameter && value.trainable) trained += value.type.elements().fixed;
    CHECK(trained == facts->parameters);

    std::vector<std::string> notes;
    const Status loss = attach_loss(model->network, LossKind::softmax_cross_entropy, notes);
    INFO((loss.ok() ? "loss" : explained(loss.error())));
    CHECK(loss.ok());
    if (!loss.ok()) continue;
    const Result<TaskGraph> graph = build_task_graph(model->network, {.batch = 2});
    INFO((graph.ok() ? "built" : explained(graph.error())));
    CHECK(graph.ok());
    if (!graph.ok()) continue;
    int64_t updated = 0;
    for (const Task& task : graph->tasks) {
      if (task.kind != TaskKind::update) continue;
      for (const TensorId tensor : task.updates())
        if (graph->tensors[tensor].kind == TensorKind::weight) updated += graph->tensors[tensor].type.elements().fixed;
    }
    CHECK(updated == facts->parameters);
  }
}
