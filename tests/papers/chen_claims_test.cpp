// The published figures of Chen et al. GB are GiB.
#include "tests/papers/planned.h"

#include "compiler/papers/chen.h"

using namespace plimsoll;
using papers::hold;
using papers::hold_computed;

namespace {

TaskGraph chen_graph_of(const std::string& spec, int64_t batch) {
  Result<TaskGraph> graph = chen_graph(papers::import_zoo(spec, batch).network, batch);
  REQUIRE(graph.ok());
  return std::move(*graph);
}

ChenFigures figures_of(const TaskGraph& graph, const std::string& policy) {
  RooflineCosts costs(kChenRates);
  return chen_figures(papers::plan_graph(graph, costs, policy));
}

double gib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

}  // namespace

TEST_CASE("a ResNet of 992 layers: 48 GB, and 7 GB with the sublinear plan") {
  const TaskGraph graph = chen_graph_of("resnet:n=15,120,180,15,relu_on=branches", 32);
  const ChenFigures shared = figures_of(graph, "liveness"), sublinear = figures_of(graph, "sublinear");
  hold_computed("all tensors", 153.7, gib(shared.all_bytes), 153.6, 153.8);
  hold("sharing", 48, gib(shared.matched_bytes), 36, 61);
  // "two to three".
  hold("times less by what is shared", 3,
       static_cast<double>(shared.all_bytes) / static_cast<double>(shared.matched_bytes), 2, 3.3);
  hold_computed("sublinear, maps only", 4.57, gib(sublinear.matched_bytes), 4.3, 4.6);
  hold("sublinear with W and dW", 7, gib(sublinear.matched_bytes + sublinear.parameter_bytes), 4.0 + 2.3, 7.0);
  hold("times less, maps only", 48.0 / 7, gib(shared.matched_bytes) / gib(sublinear.matched_bytes), 8.6, 11);
  CHECK(shared.planned_bytes <= shared.matched_bytes);  // our placement is tighter
  CHECK(sublinear.planned_bytes <= sublinear.matched_bytes);
  hold("time added, %", 30, 100 * sublinear.recompute_share, 20, 34);
}

TEST_CASE("a ResNet of 200 layers is the deepest that shares its way into 12 GB") {
  const auto gib_of = [](const std::string& spec) {
    const ChenFigures figures = figures_of(chen_graph_of(spec, 32), "liveness");
    return gib(figures.matched_bytes + figures.parameter_bytes);
  };
  hold("200 layers, with W and dW", 12, gib_of("resnet:n=3,24,36,3,relu_on=branches"), 10, 12);
  CHECK(gib_of("resnet:n=3,30,44,3,relu_on=branches") > 12);  // 242
}

TEST_CASE("an unrolled LSTM takes more than 4 times less") {
  for (const int steps : {32, 64}) {
    const TaskGraph graph =
        chen_graph_of(fmt::format("lstm:layers=4,hidden=1024,features=1024,classes=5000,steps={}", steps), 64);
    const ChenFigures shared = figures_of(graph, "liveness"), sublinear = figures_of(graph, "sublinear");
    hold(fmt::format("LSTM over {} steps, times less", steps), 4,
         gib(shared.matched_bytes) / gib(sublinear.matched_bytes), 4, 20);
  }
}
