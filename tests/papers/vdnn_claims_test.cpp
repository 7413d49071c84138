// The published figures of vDNN. GB are 1000 MiB. Its "VGG-16" is configuration E. Its workspaces are unknown; ours are
// none.
#include "tests/papers/planned.h"

#include "compiler/papers/vdnn.h"

using namespace plimsoll;
using papers::hold;
using papers::hold_computed;

namespace {

Plan vdnn_plan_of(const std::string& spec, int64_t batch, const std::string& policy) {
  const Result<TaskGraph> graph = vdnn_graph(papers::import_zoo(spec, batch).network, batch);
  REQUIRE(graph.ok());
  RooflineCosts costs(kVdnnRates);
  return papers::plan_graph(*graph, costs, policy);
}

double kmib(double bytes) { return bytes / (1000.0 * (1 << 20)); }
double kmib(int64_t bytes) { return kmib(static_cast<double>(bytes)); }

int64_t usage_at(const Plan& plan, const VdnnFigures& figures, const std::string& task) {
  for (const StepId id : ids_of(plan.steps))
    if (plan.steps[id].kind == StepKind::compute &&
        plan.tasks[plan.steps[id].task].name.find(task) != std::string::npos)
      return figures.usage[static_cast<size_t>(id.value)];
  FAIL("no task " + task);
  return 0;
}

// With W once, and with W + dW: both are in the band that the unknown workspace leaves open.
void hold_baseline(const std::string& spec, int64_t batch, double figure, double least, double most,
                   bool published = true) {
  const VdnnFigures figures = vdnn_figures(vdnn_plan_of(spec, batch, "network-wide"));
  const std::string claim = fmt::format("{}({}) baseline", spec, batch);
  const auto compare = [&](const std::string& what, double ours) {
    if (published) hold(what, figure, ours, least, most);
    else hold_computed(what, figure, ours, least, most);
  };
  compare(claim + ", W once", kmib(figures.baseline_bytes()));
  compare(claim + ", W + dW", kmib(figures.baseline_bytes() + figures.weight_gradient_bytes));
}

}  // namespace

TEST_CASE("vDNN's baselines of VGG-16: 28, 15 and 4.9 GB at batch 256, 128 and 32") {
  hold_baseline("vgg19", 256, 28, 22.9, 28.5);
  hold_baseline("vgg19", 128, 15, 11.7, 15.3);
  hold_baseline("vgg19", 32, 4.9, 3.3, 4.9);
}

TEST_CASE("vDNN's VGG-116 to VGG-416, batch 32: up to 67.1 GB") {
  hold_baseline("vgg:conv=416", 32, 67.1, 64.8, 68.1);
  // The paper has these in a figure only, so they are compared with an independent computation under the same rules.
  hold_baseline("vgg:conv=116", 32, 19.2, 18.7, 19.7, false);
  hold_baseline("vgg:conv=216", 32, 34.8, 34.0, 35.5, false);
  hold_baseline("vgg:conv=316", 32, 50.3, 49.4, 51.3, false);
}

TEST_CASE("vDNN_all offloads 16 GB of VGG-16(256)") {
  const VdnnFigures all = vdnn_figures(vdnn_plan_of("vgg19", 256, "vdnn-all:m"));
  hold("VGG-16(256) offloaded by vDNN_all", 16, kmib(all.offloaded_bytes), 16.11, 16.13);
  const VdnnFigures conv = vdnn_figures(vdnn_plan_of("vgg19", 256, "vdnn-conv:m"));
  // The paper has it in a figure only.
  hold_computed("VGG-16(256) offloaded by vDNN_conv", 10.14, kmib(conv.offloaded_bytes), 10.13, 10.15);
  hold("VGG-16(256) average saving, %", 90, 100 * (1 - kmib(all.average_bytes) / 28), 87, 92);
}

TEST_CASE("vDNN_all(m) uses at most 4.8 GB of VGG-16(128)") {
  const Plan plan = vdnn_plan_of("vgg19", 128, "vdnn-all:m");
  const VdnnFigures figures = vdnn_figures(plan);
  // The paper's figure omits the X that figure 10 prefetches during the backward of pool1; our maximum includes it.
  hold("VGG-16(128) maximum", 4.8, kmib(figures.peak_bytes), 4.70, 5.49);
  hold("VGG-16(128) at conv1_2's backward", 4.8, kmib(usage_at(plan, figures, "features.2/Conv.backward")), 4.70, 4.80);
}

TEST_CASE("vDNN_all(m) saves 89 % of AlexNet on average") {
  const VdnnFigures alexnet = vdnn_figures(vdnn_plan_of("alexnet:torchvision=1,input=224", 128, "vdnn-all:m"));
  hold("AlexNet(128) baseline with dW", 1.1, kmib(alexnet.baseline_bytes() + alexnet.weight_gradient_bytes), 0.78,
       1.20);
  hold("AlexNet(128) average saving, %", 89, 100 * (1 - kmib(alexnet.average_bytes) / 1.1), 86, 92);
}

// The paper has no figures for these baselines: ours, with W and dW and without workspace, take their place.
TEST_CASE("vDNN_all(m) saves 91 % of OverFeat and 95 % of GoogLeNet on average") {
  const auto saving = [](const std::string& spec) {
    const VdnnFigures figures = vdnn_figures(vdnn_plan_of(spec, 128, "vdnn-all:m"));
    return 100 *
           (1 - figures.average_bytes / static_cast<double>(figures.baseline_bytes() + figures.weight_gradient_bytes));
  };
  hold("OverFeat(128) average saving, %", 91, saving("overfeat"), 89.5, 92.5);
  hold("GoogLeNet(128) average saving, %", 95, saving("googlenet"), 92, 96);
}

TEST_CASE("vDNN's VGG-16 trains on 12 GB with 64 images, and not with 128") {
  const auto least = [](int64_t batch) {
    return vdnn_figures(vdnn_plan_of("vgg19", batch, "network-wide")).baseline_bytes();
  };
  const auto most = [](int64_t batch) {
    const VdnnFigures figures = vdnn_figures(vdnn_plan_of("vgg19", batch, "network-wide"));
    return figures.baseline_bytes() + figures.weight_gradient_bytes;
  };
  const int64_t card = int64_t{12} << 30;
  CHECK(most(64) < card);
  CHECK(kmib(least(128)) + 2.7 > kmib(card));  // with the smallest workspace that its 15 GB allow
}

// Section III: the share of the layers before the classifier in the paper's baselines. W once gives AlexNet's figure, W
// and dW that of VGG-16.
TEST_CASE("layers that extract features take 81 % of AlexNet and 96 % of VGG-16") {
  const auto share = [](const std::string& spec, int64_t batch, int64_t copies, double baseline) {
    const Result<TaskGraph> graph = vdnn_graph(papers::import_zoo(spec, batch).network, batch);
    REQUIRE(graph.ok());
    int64_t classifier = 0;
    for (const Tensor& tensor : graph->tensors)
      if (tensor.kind == TensorKind::weight && tensor.type.rank() == 2) classifier += tensor.bytes(batch);
    return 100 * (1 - kmib(copies * classifier) / baseline);
  };
  hold("AlexNet(128), %", 81, share("alexnet:torchvision=1,input=224", 128, 1, 1.1), 79, 82);
  hold("VGG-16(256), %", 96, share("vgg19", 256, 2, 28), 95.5, 97);
}

// Section III-A: the time between the two uses of the first layer's X, available for its copies.
TEST_CASE("the first layer's X rests for more than 60 ms in AlexNet and 1.2 s in VGG-16(64)") {
  const auto milliseconds = [](const std::string& spec, int64_t batch) {
    const Plan plan = vdnn_plan_of(spec, batch, "network-wide");
    double from = -1, to = 0;
    for (const Step& step : plan.steps) {
      if (step.kind != StepKind::compute || plan.tasks[step.task].op != "CONV") continue;
      if (is_forward(plan.tasks[step.task].kind)) from = from < 0 ? step.end : from;
      else to = step.start;  // of the last such layer, which is the first layer's
    }
    return 1e3 * (to - from);
  };
  const double alexnet = milliseconds("alexnet:torchvision=1,input=224", 128), vgg = milliseconds("vgg19", 64);
  CHECK(alexnet > 60);
  CHECK(vgg > 1200);
  papers::expect_figure("AlexNet(128), ms", alexnet);
  papers::expect_figure("VGG-16(64), ms", vgg);
}

// Section V-A: average savings of vDNN over six networks, relative to the whole. Ours has no workspace on either side,
// so (m) and (p) are the same.
TEST_CASE("vDNN's mean savings over six networks") {
  struct Saved {
    double most = 0, average = 0;
  };
  const std::pair<std::string, int64_t> six[] = {{"alexnet:torchvision=1,input=224", 128},
                                                 {"overfeat", 128},
                                                 {"googlenet", 128},
                                                 {"vgg19", 64},
                                                 {"vgg19", 128},
                                                 {"vgg19", 256}};
  const auto mean = [&](const std::string& policy) {
    Saved sum;
    for (const auto& [spec, batch] : six) {
      const VdnnFigures figures = vdnn_figures(vdnn_plan_of(spec, batch, policy));
      const double all = static_cast<double>(figures.baseline_bytes() + figures.weight_gradient_bytes);
      const double most = 100 * (1 - static_cast<double>(figures.peak_bytes) / all),
                   average = 100 * (1 - figures.average_bytes / all);
      WARN(fmt::format("{}({}), {}: {:.1f} % of the maximum, {:.1f} % on average", spec, batch, policy, most, average));
      if (policy == "vdnn-all:p") CHECK((average >= 73 && average <= 98));  // "73 to 98 %"
      sum = {sum.most + most / 6, sum.average + average / 6};
    }
    return sum;
  };
  const Saved all = mean("vdnn-all:p"), conv = mean("vdnn-conv:p");
  hold("vDNN_all, of the maximum, %", 73, all.most, 60, 75);  // 64 (p)
  hold("vDNN_all, on average, %", 93, all.average, 88, 94);   // 90 (p)
  hold("vDNN_conv, of the maximum, %", 52, conv.most, 40, 60);
  hold("vDNN_conv, on average, %", 76, conv.average, 70, 82);
}

TEST_CASE("vDNN_dyn moves no more than it must") {
  const Result<TaskGraph> graph = vdnn_graph(papers::import_zoo("vgg19", 64).network, 64);
  REQUIRE(graph.ok());
  RooflineCosts costs(kVdnnRates);
  const auto offloaded = [&](int64_t budget) {
    return vdnn_figures(papers::plan_graph(*graph, costs, "vdnn-dyn", budget)).offloaded_bytes;
  };
  const auto arena = [&](const std::string& policy) {
    return papers::plan_graph(*graph, costs, policy).summary.arena_bytes;
  };
  CHECK(offloaded(0) == 0);  // "VGG-16(64) fits"
  CHECK(offloaded(arena("vdnn-conv:p")) > 0);
  CHECK(offloaded(arena("vdnn-conv:p")) <= offloaded(arena("vdnn-all:m")));
}
