// SuperNeurons' published figures on offloading, its cache and its recomputation, planned by its policies under its
// rules.
#include <catch2/catch.hpp>

#include <map>
#include <set>

#include "tests/papers/superneurons_plan.h"

using namespace plimsoll;
using superneurons::graph_of;
using superneurons::hold;
using superneurons::mib;
using superneurons::moment_of;
using superneurons::plan_of;

namespace {

double gb(int64_t bytes) { return static_cast<double>(bytes) / 1e9; }
double gib(double bytes) { return bytes / (1 << 30); }

// Layer i of AlexNet: CONV1 RELU1 LRN1 POOL1 | CONV2 RELU2 LRN2 POOL2 | CONV3 RELU3 | CONV4 RELU4 | CONV5 RELU5 POOL5 |
// …
constexpr int64_t kPool2Backward = 47 - 8, kPool5Backward = 47 - 15;

struct PolicyRow {
  std::string spec;
  int64_t batch;
  std::string policy;
  int64_t published_again;
  double published_mib, ours_mib;
  int64_t step, live;  // ours; of these the paper only has AlexNet's 44
};

void hold_row(const TaskGraph& graph, const PolicyRow& row) {
  INFO(row.spec + " " + row.policy);
  const Plan plan = plan_of(graph, row.policy);
  WARN(fmt::format("{}, {}: run again, published {}, ours {}", row.spec, row.policy, row.published_again,
                   plan.summary.recomputed_tasks));
  CHECK(plan.summary.recomputed_tasks == row.published_again);
  hold(row.spec + ", " + row.policy + ", MiB", row.published_mib, mib(plan.summary.live_bytes),
       std::abs(row.published_mib - row.ours_mib) + 0.001);
  CHECK(std::abs(mib(plan.summary.live_bytes) - row.ours_mib) < 0.0005);
  CHECK(plan.summary.peak_step == row.step);
  CHECK(plan.summary.peak_live_tensors == row.live);
}

}  // namespace

TEST_CASE("AlexNet, batch 200, with offload: 1132.155 MiB at step 39 with 9 tensors") {
  const TaskGraph graph = graph_of("alexnet", 200);
  const Plan liveness = plan_of(graph, "liveness"), plan = plan_of(graph, "superneurons:offload");
  const double peak = mib(plan.summary.live_bytes), baseline = mib(plan.summary.network_wide_bytes);
  hold("offload peak, MiB", 1132.155, peak, 0.1);  // 0.0993 of unknown origin
  CHECK(std::abs(peak - 1132.0557) < 0.0001);
  CHECK(plan.summary.peak_step == kPool2Backward);
  CHECK(plan.summary.peak_live_tensors == 9);
  CHECK(moment_of(liveness, kPool2Backward).tensors == 10);
  CHECK(plan.summary.recomputed_tasks == 0);
  hold("saved by offload, MiB", 357.2, mib(liveness.summary.live_bytes) - peak, 0.1);
  hold("saved by liveness and offload, %", 48.29, 100 * (1 - peak / baseline), 0.01);

  // "... before and including POOL5": the outputs of CONV1 to CONV5 and the layers between them.
  const double all = moment_of(liveness, kPool5Backward).mib;
  int64_t pool5 = 0;
  for (const TensorId tensor : graph.tasks[TaskId(kPool5Backward - 1)].reads())
    pool5 += graph.tensors[tensor].bytes(200);
  for (const TensorId tensor : graph.tasks[TaskId(kPool5Backward - 1)].writes())
    pool5 += graph.tensors[tensor].bytes(200);
  hold("stashed in front of POOL5, MiB", 1409.277, all - mib(pool5), 0.001);
  hold("touched by POOL5's backward, MiB", 80.078, mib(pool5), 0.001);
  // The paper's 1075.9 counts CONV4 as resident, although the text says that it is offloaded.
  const double with_conv4 = moment_of(plan, kPool5Backward).mib;
  hold("POOL5 with offload, MiB", 1075.9, with_conv4, 49.6);
  CHECK(std::abs(with_conv4 - 1026.3916) < 0.0001);
}

TEST_CASE("table 1: recomputations and peaks of AlexNet, batch 200") {
  const TaskGraph graph = graph_of("alexnet", 200);
  for (const PolicyRow& row : {PolicyRow{"AlexNet", 200, "superneurons:speed", 14, 993.018, 993.0176, 43, 6},
                               PolicyRow{"AlexNet", 200, "superneurons:memory", 23, 886.23, 886.2305, 44, 4},
                               PolicyRow{"AlexNet", 200, "superneurons:cost", 17, 886.23, 886.2305, 44, 4}})
    hold_row(graph, row);
  const Plan plan = plan_of(graph, "superneurons");
  hold("all three, text and figure 10c, MiB", 886.385, mib(plan.summary.live_bytes), 0.16);  // 0.1545 of unknown origin
  hold("saved by running again, MiB", 245.77,
       mib(plan_of(graph, "superneurons:offload").summary.live_bytes) - mib(plan.summary.live_bytes), 0.06);
}

// 401 is not a value of the trace. Its largest are 406.125, the stem's ReLU with CONV1's output, and 392.
TEST_CASE("table 1: recomputations and peaks of ResNet-50, batch 32") {
  const TaskGraph graph = graph_of("resnet50:input=227,pool1_pad=0", 32);
  for (const PolicyRow& row : {PolicyRow{"ResNet-50", 32, "superneurons:speed", 84, 455.125, 455.125, 379, 6},
                               PolicyRow{"ResNet-50", 32, "superneurons:memory", 118, 401, 406.125, 380, 4},
                               PolicyRow{"ResNet-50", 32, "superneurons:cost", 85, 401, 406.125, 380, 4}})
    hold_row(graph, row);
}

// No published figures: an independent computation under the same rules.
TEST_CASE("recomputations and peaks of VGG-16 under the same rules") {
  const TaskGraph graph = graph_of("vgg16", 32);
  for (const PolicyRow& row : {PolicyRow{"VGG-16", 32, "superneurons:offload", 0, 1911, 1911, 55, 17},
                               PolicyRow{"VGG-16", 32, "superneurons:speed", 22, 1568, 1568, 75, 4},
                               PolicyRow{"VGG-16", 32, "superneurons:memory", 29, 1568, 1568, 75, 4},
                               PolicyRow{"VGG-16", 32, "superneurons:cost", 23, 1568, 1568, 75, 4}})
    hold_row(graph, row);
}

TEST_CASE("table 3: the cache moves nothing while the peak of liveness fits, and something once it does not") {
  struct Point {
    int64_t batch;
    double without_cache;  // GB, published
  };
  for (const Point& point :
       {Point{256, 2.56}, Point{384, 3.72}, Point{512, 4.88}, Point{640, 6.03}, Point{896, 8.35}, Point{1024, 9.5}}) {
    INFO(point.batch);
    const TaskGraph graph = graph_of("alexnet", point.batch);
    // Any value from 6.52 to 7.45 GiB separates 896 from 1024, as the paper's cache does.
    const int64_t room = int64_t{7} << 30;
    const PlanSummary cached = plan_of(graph, "superneurons:offload", room).summary;
    CHECK((cached.offloaded_bytes == 0) == (point.batch < 1024));
    CHECK(cached.prefetched_bytes == cached.offloaded_bytes);
    const int64_t liveness = plan_of(graph, "liveness").summary.arena_bytes;
    CHECK(plan_of(graph, "superneurons:offload", liveness).summary.offloaded_bytes == 0);
    const PlanSummary tight = plan_of(graph, "superneurons:offload", liveness - 1).summary;
    CHECK(tight.offloaded_bytes > 0);
    // Not reproduced: outputs of CONV and FC, copied out and back, are 5.27 MB per image. The paper's points lie on a
    // line of 9.04 MB per image, plus 0.25 GB.
    const PlanSummary full = plan_of(graph, "superneurons:offload").summary;
    const double moved = gb(full.offloaded_bytes + full.prefetched_bytes);
    CHECK(std::abs(moved / static_cast<double>(point.batch) - 5.266e-3) < 1e-6);
    CHECK(moved < 0.58 * point.without_cache);
    CHECK(tight.offloaded_bytes < full.offloaded_bytes);
  }
  // Published: 0.88. Not reproduced either, because the paper does not state its cache's size.
  CHECK(
      std::abs(
          gb(2 * plan_of(graph_of("alexnet", 1024), "superneurons:offload", int64_t{7} << 30).summary.offloaded_bytes) -
          2.379) < 1e-3);
}

TEST_CASE("a cached policy gives up no more than it has to, and never less than the budget wants") {
  const TaskGraph graph = graph_of("alexnet", 200);
  for (const char* policy : {"superneurons:offload", "superneurons:speed", "superneurons:memory", "superneurons"}) {
    INFO(policy);
    const Plan free = plan_of(graph, policy);
    int64_t moved = -1;
    for (int64_t budget = int64_t{1560} << 20; budget >= free.summary.minimum_bytes; budget -= int64_t{50} << 20) {
      const PlanSummary summary = plan_of(graph, policy, budget).summary;
      CHECK(summary.arena_bytes <= budget);
      CHECK(summary.offloaded_bytes + summary.recomputed_tasks >= moved);
      moved = summary.offloaded_bytes + summary.recomputed_tasks;
    }
    CHECK(moved > 0);
  }
}

// Figure 8b: the layers whose outputs and gradients take the bytes, without the graph's copies and joins.
TEST_CASE("figure 8b: POOL, ACT, BN and LRN own half of the bytes, DROPOUT, SOFTMAX and FC almost none") {
  struct Share {
    std::string spec;
    int64_t batch;
    double cheap, small;  // %, an independent computation
  };
  double mean = 0;
  for (const Share& share : {Share{"alexnet", 200, 61.96, 1.533}, Share{"vgg16:input=227", 32, 48.34, 0.134},
                             Share{"resnet50:input=227,pool1_pad=0", 32, 60.26, 0.008}}) {
    const TaskGraph graph = graph_of(share.spec, share.batch);
    std::map<std::string, int64_t> owned;
    for (const Task& task : graph.tasks)
      for (const TensorId tensor : task.writes()) owned[task.op] += graph.tensors[tensor].bytes(share.batch);
    int64_t all = 0, cheap = 0, small = 0;
    for (const auto& [op, bytes] : owned) {
      if (op == "FORK" || op == "JOIN" || op == "CONCAT") continue;
      all += bytes;
      if (std::set<std::string>{"POOL", "ACT", "BN", "LRN"}.count(op)) cheap += bytes;
      if (std::set<std::string>{"DROPOUT", "SOFTMAX", "FC"}.count(op)) small += bytes;
    }
    hold(share.spec + ", POOL, ACT, BN and LRN, %", share.cheap, 100 * mib(cheap) / mib(all), 0.01);
    hold(share.spec + ", DROPOUT, SOFTMAX and FC, %", share.small, 100 * mib(small) / mib(all), 0.01);
    mean += 100 * mib(cheap) / mib(all) / 3;
  }
  CHECK(mean > 50);
}

TEST_CASE("liveness saves up to 50 %") {
  struct Saved {
    std::string spec;
    double percent;  // an independent computation
  };
  for (const Saved& saved :
       {Saved{"vgg16", 34.5}, Saved{"resnet50:input=227,pool1_pad=0", 51.2}, Saved{"inception_v4", 47}}) {
    const PlanSummary summary = plan_of(graph_of(saved.spec, 32), "liveness").summary;
    hold(saved.spec + ", saved by liveness, %", saved.percent,
         100 * (1 - mib(summary.live_bytes) / mib(summary.network_wide_bytes)), 0.5);
  }
}

// Three copies of the parameters and the largest layer: a lower bound for any way of training, including the paper's.
TEST_CASE("tables 4 and 5: what SuperNeurons trained is possible on 12 GB, by what cannot leave") {
  const double card = 11441.0 / 1024;  // GiB of a K40c
  const auto parameters = [](const std::string& spec) {
    return gib(3 * 4 * static_cast<double>(zoo_facts(spec)->parameters));
  };
  struct Largest {
    std::string spec;
    int64_t batch, most;  // the paper's; the bound
    double need;          // GiB, an independent computation
  };
  for (const Largest& row :
       {Largest{"alexnet", 1792, 3226, 6.51}, Largest{"vgg16:input=227", 224, 261, 9.80},
        Largest{"inception_v4", 240, 691, 4.19}, Largest{"resnet50:input=227,pool1_pad=0", 384, 1170, 3.86},
        Largest{"resnet101:input=227,pool1_pad=0", 256, 1148, 2.88},
        Largest{"resnet152:input=227,pool1_pad=0", 176, 1129, 2.31}}) {
    const SuperNeuronsFigures figures = superneurons_figures(plan_of(graph_of(row.spec, row.batch), "network-wide"));
    const double layer = gib(static_cast<double>(figures.largest_layer_distinct_bytes));
    hold(row.spec + ", needs at the paper's batch, GiB", row.need, layer + parameters(row.spec), 0.006);
    const double bound = (card - parameters(row.spec)) / layer * static_cast<double>(row.batch);
    hold(row.spec + ", bound of the batch", static_cast<double>(row.most), bound, 2);
    CHECK(bound > static_cast<double>(row.batch));
  }
  // Depth = 3 (n1 + n2 + n3 + n4) + 2, so 1920 is not a valid depth; n3 = 596 gives the next one.
  hold("1922 layers, parameters, GiB", 7.89, parameters("resnet:n=6,32,596,6"), 0.006);
  CHECK(parameters("resnet:n=6,32,596,6") + 0.20 < card);
  // "ResNet2500 ... 10^4 basic layers": 832 units and 2498 convolutions and products. Flatten is not a layer; forks and
  // the softmax are not nodes.
  const ZooFacts deepest = *zoo_facts("resnet:n=6,32,788,6");
  hold("ResNet2500, layers", 1e4, static_cast<double>(deepest.nodes - 1 + 832 + 1 + 2), 832);
  CHECK(deepest.nodes - 1 + 832 + 1 + 2 == 9169);
  CHECK(parameters("resnet:n=6,32,788,6") < card);
}
