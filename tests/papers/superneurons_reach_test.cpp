// The reach of a 12 GB K40 under our plans: batches beyond table 5 of SuperNeurons, and a residual network beyond the
// 1920 layers of its table 4. Everything on the device counts: weights, optimizer state, images, statistics,
// workspaces. The batch is never split, because with splitting any batch would fit.
#include <catch2/catch.hpp>

#include "compiler/costs/modelled.h"
#include "compiler/network/fuse.h"
#include "compiler/network/fuse_additions.h"
#include "compiler/network/loss.h"
#include "compiler/training/build.h"
#include "tests/papers/superneurons_plan.h"

using namespace plimsoll;

namespace {

constexpr int64_t kCard = int64_t{11441} << 20;  // usable bytes of a K40c's 12 GB

// Policies that must reach at least as far as SuperNeurons did.
constexpr const char* kPolicies[] = {"auto", "superneurons"};

void expect_plan(const std::string& spec, int64_t batch, const std::string& policy) {
  INFO(spec + " " + policy);
  ImportedModel model = superneurons::import_zoo(spec, batch);
  std::vector<std::string> notes;
  REQUIRE(attach_loss(model.network, LossKind::softmax_cross_entropy, notes).ok());
  fuse_additions(model.network);
  fuse_activations(model.network);
  const Result<TaskGraph> graph = build_task_graph(model.network, {.batch = batch});
  REQUIRE(graph.ok());
  ModelledCosts costs(*find_device("k40m"));
  const Result<Plan> plan =
      make_plan(*graph, costs, {.policy = policy, .batch = batch, .sub_batch = batch, .budget_bytes = kCard});
  INFO((plan.ok() ? spec : plan.error().message));
  REQUIRE(plan.ok());
  CHECK(to_string(check_plan(*plan)) == "");
  CHECK(to_string(check_against_graph(*plan, *graph)) == "");
  CHECK(plan->rounds == 1);
  CHECK(plan->summary.arena_bytes <= kCard);
  WARN(fmt::format("{}, batch {}, {}: {:.0f} MiB, {:.0f} MiB at least; {:.2f} times its ideal time", spec, batch,
                   policy, superneurons::mib(plan->summary.arena_bytes), superneurons::mib(plan->summary.minimum_bytes),
                   plan->summary.iteration_seconds / plan->summary.ideal_seconds));
}

// One test case per network, because the largest take a while.
void expect_beyond(const std::string& spec, int64_t published) {
  for (const char* policy : kPolicies) expect_plan(spec, published + 1, policy);
}

}  // namespace

TEST_CASE("table 5: AlexNet on a K40 with more than 1792 images at once") { expect_beyond("alexnet", 1792); }
TEST_CASE("table 5: VGG-16 on a K40 with more than 224 images at once") { expect_beyond("vgg16", 224); }
TEST_CASE("table 5: Inception v4 on a K40 with more than 240 images at once") { expect_beyond("inception_v4", 240); }
TEST_CASE("table 5: ResNet-50 on a K40 with more than 384 images at once") { expect_beyond("resnet50", 384); }
TEST_CASE("table 5: ResNet-101 on a K40 with more than 256 images at once") { expect_beyond("resnet101", 256); }
TEST_CASE("table 5: ResNet-152 on a K40 with more than 176 images at once") { expect_beyond("resnet152", 176); }

TEST_CASE("table 4: a residual network of more than 1920 layers at batch 16 on a K40") {
  expect_plan("resnet:n=6,32,597,6", 16, "superneurons");  // 1925; `auto` takes minutes for it
}
