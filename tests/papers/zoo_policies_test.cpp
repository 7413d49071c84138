// The policies of moDNN, Dymem, vDNN and Chen et al. on small networks of the zoo, as used for training: for every
// budget from the minimum up, and every sub-batch, the checker accepts the plan and the arena is within the budget.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <filesystem>

#include "compiler/check/check.h"
#include "compiler/import/onnx.h"
#include "compiler/network/fuse.h"
#include "compiler/network/fuse_additions.h"
#include "compiler/network/loss.h"
#include "compiler/training/build.h"
#include "models/zoo.h"
#include "tests/make_plan.h"
#include "tests/random_graph.h"

using namespace plimsoll;

namespace {

TaskGraph training_of(const std::string& spec, int64_t batch) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("plimsoll-zoo-" + std::to_string(::getpid()) + ".onnx");
  REQUIRE(write_zoo_model(spec + (spec.find(':') == std::string::npos ? ":" : ",") + "init=zeros", path).ok());
  Result<ImportedModel> model = import_onnx(path, {.batch = batch});
  std::filesystem::remove(path);
  std::filesystem::remove(path.string() + ".data");
  REQUIRE(model.ok());
  std::vector<std::string> notes;
  REQUIRE(attach_loss(model->network, LossKind::softmax_cross_entropy, notes).ok());
  fuse_additions(model->network);
  fuse_activations(model->network);
  Result<TaskGraph> graph = build_task_graph(model->network, {.batch = batch});
  REQUIRE(graph.ok());
  return std::move(*graph);
}

void plan_soundly(const std::vector<std::string>& policies) {
  const int64_t batch = 6;
  for (const std::string spec :
       {"lenet", "resnet20:width=8", "vgg11:input=32,width=8,hidden=64", "googlenet:input=64"}) {
    const TaskGraph graph = training_of(spec, batch);
    for (const std::string& policy : policies) {
      CAPTURE(spec, policy);
      RandomCosts costs(3);
      for (const int64_t sub_batch : {int64_t{0}, int64_t{4}}) {
        CAPTURE(sub_batch);
        const auto free = make_plan(graph, costs, {.policy = policy, .batch = batch, .sub_batch = sub_batch});
        if (!free.ok()) FAIL(free.error().message);
        const int64_t least = free->summary.minimum_bytes, most = free->summary.arena_bytes;
        for (const int64_t budget : {least, least + (most - least) / 4, (least + most) / 2, most}) {
          CAPTURE(budget);
          const auto plan = make_plan(
              graph, costs, {.policy = policy, .batch = batch, .sub_batch = sub_batch, .budget_bytes = budget});
          if (!plan.ok()) FAIL(plan.error().message);
          CHECK(plan->summary.arena_bytes <= budget);
          CHECK(to_string(check_plan(*plan)) == "");
          CHECK(to_string(check_against_graph(*plan, plan->rounds > 1 ? accumulating(graph) : graph)) == "");
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("modnn and dymem plan small networks soundly under every budget that is possible") {
  plan_soundly({"modnn", "dymem"});
}

TEST_CASE("vDNN plans small networks soundly under every budget that is possible") {
  plan_soundly({"vdnn-all:m", "vdnn-all:p", "vdnn-conv:m", "vdnn-conv:p", "vdnn-dyn"});
}

TEST_CASE("sublinear plans small networks soundly under every budget that is possible") { plan_soundly({"sublinear"}); }
