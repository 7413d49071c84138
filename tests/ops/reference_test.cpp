// Windows and normalizations against numbers computed by PyTorch 1.13. Finite differences only show that a
// backward matches its forward; these tests check the forward itself.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "executor.h"
#include "runtime/backend.h"

namespace plimsoll::test {
namespace {

using Ints = std::vector<int64_t>;

Values counting(int64_t n) {
  Values values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

// An operator on inputs with given elements.
class Run {
 public:
  Run(const char* op, const Sample& sample, const std::vector<Values>& inputs, int64_t samples = 1)
      : instance_(make_instance(*find_op(op), sample)), executor_(instance_, samples), samples_(samples) {
    for (size_t i = 0; i < inputs.size(); ++i) given_[instance_.tensor_of.at(instance_.inputs[i])] = inputs[i];
  }

  RunContext& context() { return executor_.context; }
  Values output() { return after(instance_.outputs[0]); }
  // The contents of input `i` after the forward task, which updates statistics.
  Values input(size_t i) { return after(instance_.inputs[i]); }
  // The gradient of input `i`, if that of the output is this.
  Values gradient(size_t i, const Values& of_output) {
    given_[instance_.gradient_of.at(instance_.outputs[0])] = of_output;
    const Buffers buffers = executor_.run(given_);
    const ValueId input = instance_.inputs[i];
    return executor_.values(buffers, instance_.gradient_of.at(input), instance_.type_of(input));
  }

 private:
  Values after(ValueId value) {
    const Buffers buffers = executor_.run(given_, true);
    return executor_.values(buffers, instance_.tensor_of.at(value), instance_.type_of(value));
  }

  Instance instance_;
  Executor executor_;
  int64_t samples_;
  std::map<TensorId, Values> given_;
};

Values pooled(const char* op, int64_t size, std::map<std::string, NodeAttribute> attributes) {
  attributes["kernel_shape"] = Ints{3, 3};
  attributes["strides"] = Ints{2, 2};
  return Run(op, {.inputs = {{.dims = {kBatch, {1}, {size}, {size}}}}, .attributes = std::move(attributes)},
             {counting(size * size)})
      .output();
}

// Of three steps of two states, in the given order of gates.
Sample steps_of(int64_t gates, const Ints& order, size_t states) {
  Sample made{
      .inputs = {{.dims = {{3}, kBatch, {2 * gates}}}, {.dims = {{2 * gates}, {2}}, .kind = ValueKind::parameter}},
      .attributes = {{"gates", order}}};
  for (size_t i = 0; i < states; ++i) made.inputs.push_back({.dims = {kBatch, {2}}});
  return made;
}

Values elements(int64_t n, int64_t factor) {
  Values values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i * factor % 11 - 5) / 10);
  return values;
}

}  // namespace

TEST_CASE("pools in ceil_mode and with padding as PyTorch's") {
  const int64_t yes = 1;
  CHECK(pooled("MaxPool", 5, {{"ceil_mode", yes}}) == Values{13, 15, 23, 25});
  CHECK(pooled("MaxPool", 5, {{"pads", Ints{1, 1, 1, 1}}}) == Values{7, 9, 10, 17, 19, 20, 22, 24, 25});
  CHECK(pooled("MaxPool", 6, {{"pads", Ints{1, 1, 1, 1}}, {"ceil_mode", yes}}) ==
        Values{8, 10, 12, 12, 20, 22, 24, 24, 32, 34, 36, 36, 32, 34, 36, 36});
  CHECK(distance(pooled("AveragePool", 6, {{"pads", Ints{1, 1, 1, 1}}, {"ceil_mode", yes}, {"count_include_pad", yes}}),
                 {2, 4, 16. / 3, 3, 9, 15, 17, 9, 17, 27, 29, 15, 10.5, 16.5, 17.5, 9}) < 1e-6);
  CHECK(distance(pooled("AveragePool", 6, {{"pads", Ints{1, 1, 1, 1}}, {"ceil_mode", yes}}),
                 {4.5, 6, 8, 9, 13.5, 15, 17, 18, 25.5, 27, 29, 30, 31.5, 33, 35, 36}) < 1e-6);
  // A window larger than its input, which ceil_mode allows.
  CHECK(pooled("MaxPool", 2, {{"ceil_mode", yes}}) == Values{4});
  CHECK(distance(pooled("AveragePool", 2, {{"ceil_mode", yes}}), {2.5}) < 1e-6);
}

TEST_CASE("convolutions as PyTorch's") {
  const Sample grouped{.inputs = {{.dims = {kBatch, {2}, {5}, {5}}},
                                  {.dims = {{2}, {1}, {3}, {3}}, .kind = ValueKind::parameter},
                                  {.dims = {{2}}, .kind = ValueKind::parameter}},
                       .attributes = {{"group", int64_t{2}}, {"dilations", Ints{2, 2}}}};
  CHECK(Run("Conv", grouped, {counting(50), {1, 0, -1, 2, 1, 0, 3, -2, 1, .5, 1, 2, 0, 0, 1, -1, 1, 0}, {1, -2}})
            .output() == Values{74, 141});
  const Sample transposed{
      .inputs = {{.dims = {kBatch, {1}, {2}, {2}}},
                 {.dims = {{1}, {2}, {2}, {2}}, .kind = ValueKind::parameter},
                 {.dims = {{2}}, .kind = ValueKind::parameter}},
      .attributes = {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"output_padding", Ints{1, 1}}}};
  CHECK(Run("ConvTranspose", transposed, {counting(4), counting(8), {0.5, -1}}).output() ==
        Values{4.5, 6.5, 8.5, 6.5, 4.5, 8.5, 12.5, 12.5, 16.5, 7, 13, 15, 17, 19, 23, 23, 27, 31});
}

TEST_CASE("all steps of an LSTM and of a GRU as PyTorch's") {
  // nn.LSTM and nn.GRU of two states, whose weight of the inputs is the identity.
  const Values h0 = {0.5, -0.25}, c0 = {1, -0.75};
  CHECK(distance(Run("LstmSequence", steps_of(4, {0, 3, 1, 2}, 2), {elements(24, 3), elements(16, 7), h0, c0}).output(),
                 {0.2095223, -0.3082094, 0.0536775, -0.038897, 0.0147467, 0.0566254}) < 1e-6);
  Sample gru = steps_of(3, {1, 0, 2}, 1);
  gru.inputs.push_back({.dims = {{6}}, .kind = ValueKind::parameter});
  CHECK(distance(Run("GruSequence", gru, {elements(18, 3), elements(12, 7), h0, elements(6, 4)}).output(),
                 {0.1546375, -0.1030655, 0.2045539, -0.184573, 0.0957995, 0.2064456}) < 1e-6);
}

TEST_CASE("all steps of a GRU that resets before the product as ONNX Runtime's, with PyTorch's gradients") {
  // PyTorch has no such GRU: the gradients are those of ONNX's equations, in double.
  Run gru("ResetFirstGruSequence", steps_of(3, {1, 0, 2}, 1), {elements(18, 3), elements(12, 7), {0.5, -0.25}});
  CHECK(distance(gru.output(), {0.0757587, -0.1847973, 0.1707403, -0.3010962, 0.0427287, 0.024964}) < 1e-6);
  const Values dy = elements(6, 5);
  CHECK(distance(gru.gradient(0, dy), {0.0037687, 0.0017931, -0.0600986, -0.0007423, -0.0896461, 0.0062211, -0.0028441,
                                       -0.0065839, -0.0312721, -0.0088697, 0.3921032, -0.0608774, -0.0019694,
                                       -0.0073717, 0.0319618, 0.0272473, 0.1459821, -0.1086256}) < 1e-6);
  CHECK(distance(gru.gradient(1, dy), {0.0013326, 0.0001764, -0.0008609, 0.002988, -0.0269613, 0.0111801, 0.0036091,
                                       -0.0063794, 0.0122148, -0.0554366, -0.0091725, 0.0217612}) < 1e-6);
  CHECK(distance(gru.gradient(2, dy), {-0.1392871, 0.0192036}) < 1e-6);
}

TEST_CASE("volumes as PyTorch's") {
  Values x, w;  // [1, 1, 4, 3, 5] and [1, 1, 2, 2, 3]
  for (int i = 1; i <= 60; ++i) x.push_back(i * 7 % 23);
  for (int i = 1; i <= 12; ++i) w.push_back(i * 5 % 7);
  const SampleInput volume{.dims = {kBatch, {1}, {4}, {3}, {5}}};
  const SampleInput weights{.dims = {{1}, {1}, {2}, {2}, {3}}, .kind = ValueKind::parameter};
  const Sample conv{
      .inputs = {volume, weights},
      .attributes = {{"strides", Ints{2, 1, 2}}, {"dilations", Ints{1, 2, 1}}, {"pads", Ints{1, 0, 1, 1, 0, 1}}}};
  CHECK(Run("Conv", conv, {x, w}).output() == Values{185, 291, 144, 397, 282, 402, 27, 250, 276});

  const Values small = {7, 14, 19, 3, 20, 4, 9, 16};
  const Sample transposed{
      .inputs = {{.dims = {kBatch, {1}, {2}, {2}, {2}}}, weights},
      .attributes = {{"strides", Ints{2, 1, 2}}, {"pads", Ints{1, 0, 1, 1, 0, 1}}, {"output_padding", Ints{1, 0, 0}}}};
  CHECK(Run("ConvTranspose", transposed, {small, w}).output() == Values{35,  21, 70, 137, 99,  99,  114, 79,  18,
                                                                        60,  40, 12, 107, 153, 64,  36,  114, 64,
                                                                        100, 60, 20, 165, 111, 104, 54,  52,  96});

  const auto pooled = [&](const char* op, int64_t counts) {
    std::map<std::string, NodeAttribute> attributes = {{"kernel_shape", Ints{2, 3, 2}}, {"strides", Ints{2, 2, 2}},
                                                       {"pads", Ints{1, 1, 1, 1, 1, 1}}, {"ceil_mode", int64_t{1}}};
    if (counts) attributes["count_include_pad"] = int64_t{1};
    return Run(op, {.inputs = {volume}, .attributes = attributes}, {x}).output();
  };
  CHECK(pooled("MaxPool", 0) == Values{19, 21, 17, 19, 22, 17, 22, 17, 20, 22, 18, 20, 12, 19, 21, 12, 19, 22});
  CHECK(distance(pooled("AveragePool", 1),
                 {26. / 12, 4, 35. / 12, 27. / 12, 50. / 12, 37. / 12, 61. / 12, 68. / 12, 88. / 12, 63. / 12, 6,
                  92. / 12, 1, 43. / 12, 53. / 12, 13. / 12, 3.75, 55. / 12}) < 1e-6);
  CHECK(distance(pooled("AveragePool", 0), {13, 12, 8.75, 13.5, 12.5, 9.25, 15.25, 8.5, 11, 15.75, 9, 11.5, 6, 10.75,
                                            13.25, 6.5, 11.25, 13.75}) < 1e-6);
}

TEST_CASE("pictures at the places of a grid as PyTorch's") {
  Values x;  // [1, 1, 3, 4] or [1, 1, 2, 3, 2]
  for (int i = 1; i <= 12; ++i) x.push_back(i * 7 % 23);
  // Corners, the middle, between pixels, beyond one edge, beyond two, and far away.
  const Values places = {-1, -1, 1, 1, 0, 0, 0.3, -0.6, -1.4, 0.2, 0.9, 1.7, 2.6, -3.1};
  const auto sampled = [&](const char* padding, int64_t align_corners, const char* mode) {
    const Sample sample{.inputs = {{.dims = {kBatch, {1}, {3}, {4}}}, {.dims = {kBatch, {1}, {7}, {2}}}},
                        .attributes = {{"padding_mode", std::string(padding)},
                                       {"align_corners", align_corners},
                                       {"mode", std::string(mode)}}};
    return Run("GridSample", sample, {x, places}).output();
  };
  CHECK(distance(sampled("zeros", 0, "linear"), {1.75, 3.75, 11, 17.83, 0, 0, 0}) < 1e-6);
  CHECK(distance(sampled("zeros", 1, "linear"), {7, 15, 11, 13.91, 5.2, 4.185, 0}) < 1e-6);
  CHECK(distance(sampled("border", 0, "linear"), {7, 15, 11, 17.83, 13.5, 15, 5}) < 1e-6);
  CHECK(distance(sampled("border", 1, "linear"), {7, 15, 11, 13.91, 13, 13.95, 5}) < 1e-6);
  CHECK(distance(sampled("reflection", 0, "linear"), {7, 15, 11, 17.83, 13.53, 12.25, 12.2}) < 1e-6);
  CHECK(distance(sampled("reflection", 1, "linear"), {7, 15, 11, 13.91, 14.44, 10.45, 8.28}) < 1e-6);
  // As PyTorch, whose padding applies to each of the 16 pixels.
  CHECK(distance(sampled("zeros", 0, "cubic"), {1.1875, 4.3125, 11, 19.894366, -1.626132, -0.967856, 0}) < 1e-5);
  CHECK(distance(sampled("zeros", 1, "cubic"), {7, 15, 11, 16.349744, 5.157088, 4.574842, 0}) < 1e-5);
  CHECK(distance(sampled("border", 0, "cubic"), {5.875, 16.125, 11, 18.634146, 13.94625, 15.77175, 5}) < 1e-5);
  CHECK(distance(sampled("border", 1, "cubic"), {7, 15, 11, 14.051636, 13.147456, 14.458432, 5}) < 1e-5);
  CHECK(distance(sampled("reflection", 0, "cubic"), {4.75, 17.25, 11, 18.634146, 14.681518, 14.201866, 11.778048}) <
        1e-5);
  CHECK(distance(sampled("reflection", 1, "cubic"), {7, 15, 11, 15.982051, 16.245664, 11.581741, 7.864977}) < 1e-5);
  // One half is rounded to the even pixel.
  CHECK(sampled("zeros", 0, "nearest") == Values{7, 0, 3, 21, 0, 0, 0});
  CHECK(sampled("border", 1, "nearest") == Values{7, 15, 3, 21, 12, 15, 5});
  CHECK(sampled("reflection", 0, "nearest") == Values{7, 15, 3, 21, 12, 10, 17});
  CHECK(sampled("reflection", 1, "nearest") == Values{7, 15, 3, 21, 19, 10, 1});

  const auto in_volume = [&](const char* padding) {
    const Sample sample{.inputs = {{.dims = {kBatch, {1}, {2}, {3}, {2}}}, {.dims = {kBatch, {1}, {1}, {3}, {3}}}},
                        .attributes = {{"padding_mode", std::string(padding)}}};
    return Run("GridSample", sample, {x, {-0.2, 0.4, 0.6, 0.9, -1.2, 0.1, -1.7, 0.3, 2.4}}).output();
  };
  CHECK(distance(in_volume("zeros"), {9.846, 1.392, 0}) < 1e-6);
  CHECK(distance(in_volume("border"), {10.94, 11.6, 12.95}) < 1e-6);
  CHECK(distance(in_volume("reflection"), {10.94, 11.6, 15.42}) < 1e-6);

  // NaN is not treated as a position outside.
  const Sample lost{.inputs = {{.dims = {kBatch, {1}, {3}, {4}}}, {.dims = {kBatch, {1}, {1}, {2}}}}};
  CHECK(std::isnan(Run("GridSample", lost, {x, {NAN, 0.2}}).output()[0]));
  // Infinitely far away: the edge.
  const Sample far{.inputs = {{.dims = {kBatch, {1}, {3}, {4}}}, {.dims = {kBatch, {1}, {2}, {2}}}},
                   .attributes = {{"padding_mode", std::string("border")}, {"mode", std::string("cubic")}}};
  CHECK(distance(Run("GridSample", far, {x, {INFINITY, 0, -INFINITY, -INFINITY}}).output(), {10, 7}) < 1e-5);
}

TEST_CASE("local response normalization and padding as PyTorch's") {
  const Sample lrn{.inputs = {{.dims = {kBatch, {8}, {1}, {1}}}},
                   .attributes = {{"size", int64_t{5}}, {"alpha", 0.5}, {"beta", 0.75}, {"bias", 2.0}}};
  CHECK(distance(Run("LRN", lrn, {{1, -2, 3, 0.5, 4, -1, 2, 2}}).output(),
                 {0.399384, -0.794391, 0.893859, 0.148977, 1.19181, -0.322319, 0.647322, 0.899977}) < 1e-5);
  const Sample pad{.inputs = {{.dims = {kBatch, {1}, {2}, {2}}},
                              {.dims = {{8}},
                               .kind = ValueKind::constant,
                               .constant = {0, 0, 0, 1, 0, 0, 1, -1},
                               .type = DataType::i64},
                              {.kind = ValueKind::constant, .constant = {9}}}};
  CHECK(Run("Pad", pad, {counting(4)}).output() == Values{9, 1, 9, 3, 9, 9});
}

TEST_CASE("batch normalization moves its statistics as PyTorch's, and evaluates by them") {
  const auto channels = [](ValueKind kind) { return SampleInput{.dims = {{2}}, .kind = kind}; };
  const Sample sample{.inputs = {{.dims = {kBatch, {2}, {1}, {2}}},
                                 channels(ValueKind::parameter),
                                 channels(ValueKind::parameter),
                                 channels(ValueKind::statistic),
                                 channels(ValueKind::statistic)},
                      .attributes = {{"epsilon", 1e-3}, {"momentum", 0.9}}};
  const Values x = {1, 2, 3, 4, -1, 5, 0, 2}, scale = {2, 0.5}, bias = {0.25, -1};
  Run training("BatchNormalization", sample, {x, scale, bias, {1, 2}, {3, 0.5}}, 2);
  CHECK(distance(training.output(), {-0.442746, 0.480915, -0.746512, -0.408527, -2.29007, 3.2519, -1.76047, -1.0845}) <
        1e-5);
  CHECK(distance(training.input(3), {1.075, 2.025}) < 1e-6);
  CHECK(distance(training.input(4), {3.325, 0.741667}) < 1e-6);
  training.context().recompute = true;
  CHECK(training.input(3) == Values{1, 2});
  Run evaluation("BatchNormalization", sample, {x, scale, bias, {1.075, 2.025}, {3.325, 0.741667}}, 2);
  evaluation.context().training = false;
  CHECK(distance(evaluation.output(), {0.167751, 1.2644, -0.434311, 0.145883, -2.02555, 4.55436, -2.17489, -1.0145}) <
        1e-5);
}

// A number that is not finite makes another one only where PyTorch's evaluation mode does: dx = scale / std * dy.
TEST_CASE("the gradient by frozen statistics does not read x, and a masked gradient is 0 whatever it was") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const bool with_relu : {false, true}) {
    for (const bool all_frozen : {false, true}) {  // then x is not kept
      CAPTURE(with_relu, all_frozen);
      const auto channels = [](ValueKind kind, bool frozen) {
        return SampleInput{.dims = {{2}}, .kind = kind, .frozen = frozen};
      };
      const auto activation = with_relu ? FusedActivation::relu : FusedActivation::none;
      const Sample sample{
          .inputs = {{.dims = {kBatch, {2}, {1}, {3}}},
                     channels(ValueKind::parameter, all_frozen),
                     channels(ValueKind::parameter, all_frozen),
                     channels(ValueKind::statistic, false),
                     channels(ValueKind::statistic, false)},
          .attributes = {{"epsilon", 0.0}},
          .marks = {.activation = activation, .frozen_statistics = true}};
      const Values x = {1, -2, kInfinity, 4, -1, 5};
      Run run("BatchNormalization", sample, {x, {2, 3}, {0, 0}, {0, 0}, {4, 9}});
      const Values dx = run.gradient(0, {1, kInfinity, 3, kInfinity, NAN, 6});
      CHECK(dx[0] == 1);
      CHECK(dx[1] == (with_relu ? 0 : kInfinity));
      CHECK(dx[2] == 3);
      CHECK(dx[3] == kInfinity);
      CHECK((with_relu ? dx[4] == 0 : std::isnan(dx[4])));
      CHECK(dx[5] == 6);
    }
  }
}

TEST_CASE("normalizations of groups, of channels and by the root of the mean square as PyTorch's") {
  const auto row = [](int64_t elements) { return SampleInput{.dims = {{elements}}, .kind = ValueKind::parameter}; };
  const auto sample = [&](Dims x, int64_t factors, std::map<std::string, NodeAttribute> attributes, int opset) {
    attributes["epsilon"] = 1e-3;
    return Sample{.inputs = {{.dims = std::move(x)}, row(factors), row(factors)},
                  .attributes = std::move(attributes),
                  .opset = opset};
  };
  const Values x = {1, 2, -2.5, 4, 5, 0.25, 7, 8}, scale = {1, 2, 0.5, -1}, bias = {0, 0.25, -1, 3};
  const std::map<std::string, NodeAttribute> two_groups = {{"num_groups", int64_t{2}}};
  CHECK(distance(Run("GroupNormalization", sample({kBatch, {4}, {2}}, 4, two_groups, 21), {x, scale, bias}).output(),
                 {-0.05307, 0.371488, -2.828043, 2.691206, -1.010482, -1.807134, 2.3501, 2.014668}) < 1e-5);
  const Sample by_group = sample({kBatch, {4}, {2}}, 2, two_groups, 18);
  CHECK(distance(Run("GroupNormalization", by_group, {x, {2, -1}, {0.5, 0}}).output(),
                 {0.393861, 1.242976, -2.578043, 2.941206, 0.020965, 1.614268, -0.6499, -0.985332}) < 1e-5);
  CHECK(distance(Run("InstanceNormalization", sample({kBatch, {4}, {2}}, 4, {}, 20), {x, scale, bias}).output(),
                 {-0.998006, 0.998006, -1.749905, 2.249905, -0.500044, -1.499956, 3.998005, 2.001993}) < 1e-5);
  Sample rms = sample({kBatch, {8}}, 8, {}, 23);
  rms.inputs.resize(2);
  CHECK(distance(Run("RMSNormalization", rms, {x, {1, 2, 0.5, -1, 1, 1, 3, 2}}).output(),
                 {0.219979, 0.879917, -0.274974, -0.879917, 1.099896, 0.054995, 4.619564, 3.519667}) < 1e-5);
}

TEST_CASE("gates as PyTorch's") {
  const Values x = {-3, -1, -0.25, 0, 0.5, 1, 2, 20}, other = {2, -1, 3, 1, 0.5, -2, 1, 0.25};
  const SampleInput input{.dims = {kBatch, {8}}};
  const auto swish = [&](double alpha) {
    return Run("Swish", {.inputs = {input}, .attributes = {{"alpha", alpha}}, .opset = 24}, {x}).output();
  };
  CHECK(distance(swish(1), {-0.142278, -0.268941, -0.109456, 0, 0.31123, 0.731059, 1.761594, 20}) < 1e-5);
  CHECK(distance(swish(1.702), {-0.018071, -0.154204, -0.0988, 0, 0.350388, 0.845796, 1.935659, 20}) < 1e-5);
  const auto gated = [&](const std::string& activation) {
    const Sample sample{.inputs = {input, input}, .attributes = {{"activation", activation}}};
    return Run("GatedProduct", sample, {x, other}).output();
  };
  CHECK(distance(gated("Swish"), {-0.284555, 0.268941, -0.328368, 0, 0.155615, -1.462117, 1.761594, 5}) < 1e-5);
  CHECK(distance(gated("Gelu"), {-0.0081, 0.158655, -0.30097, 0, 0.172866, -1.682689, 1.9545, 5}) < 1e-5);
}

TEST_CASE("Mish and PRelu as PyTorch's, and their gradients") {
  const Values x = {-100, -20, -3, -0.5, 0, 1, 30}, ones(7, 1);
  Run mish("Mish", {.inputs = {{.dims = {kBatch, {7}}}}}, {x});
  CHECK(distance(mish.output(), {0, -4.12230724e-8, -0.145647461, -0.220743775, 0, 0.865098388, 30}) < 1e-6);
  CHECK(mish.output()[1] == Approx(-4.12230724e-8));  // no cancellation
  CHECK(distance(mish.gradient(0, ones), {0, -3.91619187e-8, -0.0933931145, 0.289510678, 0.6, 1.04903622, 1}) < 1e-6);

  const Sample bent{.inputs = {{.dims = {kBatch, {2}, {3}}}, {.dims = {{2}, {1}}, .kind = ValueKind::parameter}}};
  Run prelu("PRelu", bent, {{-2, 0, 3, -4, 5, -1}, {0.25, -2}});
  const Values dy = {1, 2, 3, 4, 5, 6};
  CHECK(prelu.output() == Values{-0.5, 0, 3, 8, 5, 2});
  CHECK(prelu.gradient(0, dy) == Values{0.25, 0.5, 3, -8, 5, -12});  // at 0, that of the slope
  CHECK(prelu.gradient(1, dy) == Values{-2, -22});
}

TEST_CASE("pairs turned by angles as ONNX's RotaryEmbedding") {
  const Values x = {1, 2, 3, 4, -1, 0.5, 2, -2}, cos = {0.8, 0.6, 1, 0}, sin = {0.6, -0.8, 0, 1};
  const auto turned = [&](int64_t interleaved) {
    const Sample sample{.inputs = {{.dims = {kBatch, {2}, {4}}}, {.dims = {{2}, {2}}}, {.dims = {{2}, {2}}}},
                        .attributes = {{"interleaved", interleaved}}};
    return Run("Rotary", sample, {x, cos, sin}).output();
  };
  CHECK(distance(turned(0), {-1, 4.4, 3, 0.8, -1, 2, 2, 0.5}) < 1e-6);
  CHECK(distance(turned(1), {-0.4, 2.2, 5, 0, -1, 0.5, 2, 2}) < 1e-6);
}

TEST_CASE("dropout drops its share, scales the rest, and is another with each seed, iteration and round") {
  const Sample sample{.inputs = {{.dims = {kBatch, {40000}}}, {.kind = ValueKind::constant, .constant = {0.25}}}};
  const Values ones(40000, 1.0);
  Run run("Dropout", sample, {ones});
  const Values y = run.output();
  double dropped = 0;
  for (const double v : y) {
    if (v == 0) ++dropped;
    REQUIRE((v == 0 || v == Approx(1 / 0.75)));
  }
  CHECK(dropped / 40000 == Approx(0.25).margin(0.01));  // 4.6 standard deviations
  CHECK(run.output() == y);
  const auto differs_by_chance = [&](const Values& other) {
    double different = 0;
    for (size_t i = 0; i < y.size(); ++i) different += y[i] != other[i];
    return std::abs(different / 40000 - 2 * 0.25 * 0.75) < 0.012;
  };
  run.context().iteration = 1;
  CHECK(differs_by_chance(run.output()));
  run.context() = {.seed = 42, .round = 1};
  CHECK(differs_by_chance(run.output()));
  run.context() = {.seed = 43};
  CHECK(differs_by_chance(run.output()));
  run.context() = {.training = false};
  CHECK(run.output() == ones);
}

TEST_CASE(
    "a random mask has its share of ones, is another with each seed, iteration and round, and its mean in evaluation") {
  const Sample sample{.attributes = {{"shape", Ints{-1, 40000}}, {"probability", 0.75}}};
  Run run("Bernoulli", sample, {});
  const Values y = run.output();
  double ones = 0;
  for (const double v : y) {
    REQUIRE((v == 0 || v == 1));
    ones += v;
  }
  CHECK(ones / 40000 == Approx(0.75).margin(0.01));
  CHECK(run.output() == y);
  const auto differs_by_chance = [&](const Values& other) {
    double different = 0;
    for (size_t i = 0; i < y.size(); ++i) different += y[i] != other[i];
    return std::abs(different / 40000 - 2 * 0.25 * 0.75) < 0.012;
  };
  run.context().iteration = 1;
  CHECK(differs_by_chance(run.output()));
  run.context() = {.seed = 42, .round = 1};
  CHECK(differs_by_chance(run.output()));
  run.context() = {.seed = 43};
  CHECK(differs_by_chance(run.output()));
  run.context() = {.training = false};
  CHECK(run.output() == Values(40000, 0.75));
}

TEST_CASE("images are resized as PyTorch's interpolate does") {
  const auto resized = [](std::vector<double> sizes, std::map<std::string, NodeAttribute> attributes) {
    return Run("Resize",
               {.inputs =
                    {{.dims = {kBatch, {1}, {2}, {3}}},
                     {.kind = ValueKind::constant},
                     {.kind = ValueKind::constant},
                     {.dims = {{4}}, .kind = ValueKind::constant, .constant = std::move(sizes), .type = DataType::i64}},
                .attributes = std::move(attributes)},
               {counting(6)})
        .output();
  };
  const NodeAttribute linear = std::string("linear"), asymmetric = std::string("asymmetric"),
                      floor = std::string("floor");
  // F.interpolate(torch.arange(1., 7).view(1, 1, 2, 3), size=(3, 5), mode=…)
  CHECK(resized({-1, 1, 3, 5}, {{"coordinate_transformation_mode", asymmetric}, {"nearest_mode", floor}}) ==
        Values{1, 1, 2, 2, 3, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6});
  CHECK(distance(resized({-1, 1, 3, 5},
                         {{"mode", linear}, {"coordinate_transformation_mode", std::string("pytorch_half_pixel")}}),
                 {1, 1.4, 2, 2.6, 3, 2.5, 2.9, 3.5, 4.1, 4.5, 4, 4.4, 5, 5.6, 6}) < 1e-6);
  CHECK(distance(resized({-1, 1, 3, 5},
                         {{"mode", linear}, {"coordinate_transformation_mode", std::string("align_corners")}}),
                 {1, 1.5, 2, 2.5, 3, 2.5, 3, 3.5, 4, 4.5, 4, 4.5, 5, 5.5, 6}) < 1e-6);
  // Three times a third is exactly one pixel.
  CHECK(resized({-1, 1, 2, 9}, {{"coordinate_transformation_mode", asymmetric}, {"nearest_mode", floor}}) ==
        Values{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6});
}

TEST_CASE("a row that is masked whole is zeros, and nothing flows back through it") {
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  const std::vector<float> rows = {0,       kMasked, 0,       kMasked, kMasked, kMasked,
                                   kMasked, kMasked, kMasked, 1,       kMasked, NAN};
  const auto turned = [](const std::vector<float>& given) {  // [4, 3] → [3, 4]
    std::vector<float> made;
    for (size_t c = 0; c < 3; ++c)
      for (size_t r = 0; r < 4; ++r) made.push_back(given[3 * r + c]);
    return made;
  };
  const auto softmax = [](const TensorDesc& desc, const std::vector<float>& x) {
    std::vector<std::vector<float>> tensors = {x, std::vector<float>(12, 7)};
    run_once({.name = "SoftmaxForward", .operands = {read(desc), write(desc)}}, {}, tensors);
    return tensors[1];
  };
  for (const bool side_by_side : {true, false}) {
    const TensorDesc desc = side_by_side ? f32({4, 3, 1}) : f32({1, 3, 4});
    const std::vector<float> y = softmax(desc, side_by_side ? rows : turned(rows));
    const std::vector<float> wanted = {0.5F, 0, 0.5F, 0, 0, 0, 0, 0, 0, NAN, NAN, NAN};
    const std::vector<float> in_order = side_by_side ? wanted : turned(wanted);
    for (size_t i = 0; i < 12; ++i) CHECK((y[i] == in_order[i] || (std::isnan(y[i]) && std::isnan(in_order[i]))));
    std::vector<std::vector<float>> tensors = {std::vector<float>(12, 0), std::vector<float>(12, 3),
                                               std::vector<float>(12, 7)};
    run_once({.name = "SoftmaxBackward", .operands = {read(desc), read(desc), write(desc)}}, {}, tensors);
    CHECK(tensors[2] == std::vector<float>(12, 0));
  }
}

TEST_CASE("what no float holds fills with infinity, the lowest float with itself") {
  const auto filled = [](double value) {
    std::vector<std::vector<float>> tensors = {{1, 2}, std::vector<float>(1), {7, 7}};
    const std::vector<unsigned char> mask = {0, 1};
    std::memcpy(tensors[1].data(), mask.data(), 2);
    const TensorDesc desc = f32({2});
    run_once({.name = "MaskedFill",
              .attributes = {{"value", value}},
              .operands = {read(desc), read({DataType::u8, {2}}), write(desc)}},
             {}, tensors);
    CHECK(tensors[2][1] == 2);
    return tensors[2][0];
  };
  constexpr double kLargest = std::numeric_limits<float>::max();
  CHECK(filled(-std::numeric_limits<double>::max()) == -std::numeric_limits<float>::infinity());
  CHECK(filled(std::numeric_limits<double>::max()) == std::numeric_limits<float>::infinity());
  CHECK(filled(-kLargest) == -std::numeric_limits<float>::max());
  CHECK(filled(-3) == -3);
}

TEST_CASE("a clip whose min is above its max is its max, with no gradient") {
  const TensorDesc desc = f32({4});
  std::vector<std::vector<float>> tensors = {{-3, 1, 1.5, 9}, std::vector<float>(4, 7)};
  run_once({.name = "ClipForward", .attributes = {{"min", 2.0}, {"max", 1.0}}, .operands = {read(desc), write(desc)}},
           {}, tensors);
  CHECK(tensors[1] == std::vector<float>{1, 1, 1, 1});
  std::vector<std::vector<float>> slopes = {tensors[1], {1, 2, 3, 4}, std::vector<float>(4, 7)};
  run_once({.name = "ClipBackward",
            .attributes = {{"min", 2.0}, {"max", 1.0}},
            .operands = {read(desc), read(desc), write(desc)}},
           {}, slopes);
  CHECK(slopes[2] == std::vector<float>{0, 0, 0, 0});
}

TEST_CASE("elementwise functions as ONNX has them") {
  const auto of = [](const char* op, const Values& x, std::map<std::string, NodeAttribute> attributes = {}) {
    const SampleInput row{.dims = {kBatch, {static_cast<int64_t>(x.size())}}};
    return Run(op, {.inputs = {row}, .attributes = std::move(attributes)}, {x}).output();
  };
  CHECK(of("Round", {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.25, -2.75}) == Values{-2, -2, 0, 0, 2, 2, 2, -3});
  CHECK(of("Floor", {-1.5, -1, 0.5, 2}) == Values{-2, -1, 0, 2});
  CHECK(of("Ceil", {-1.5, -1, 0.5, 2}) == Values{-1, -1, 1, 2});
  CHECK(of("Sign", {-1.5, 0, 0.25}) == Values{-1, 0, 1});
  CHECK(of("Abs", {-1.5, 0, 0.25}) == Values{1.5, 0, 0.25});
  CHECK(of("ThresholdedRelu", {-1, 0.5, 1, 1.5}) == Values{0, 0, 0, 1.5});
  CHECK(of("ThresholdedRelu", {-1, -0.25, 1}, {{"alpha", -0.5}}) == Values{0, -0.25, 1});
  CHECK(of("Softsign", {-3, 0, 1}) == Values{-0.75, 0, 0.5});
  CHECK(distance(of("Sin", {-2, 0.5, 1000}), {-0.90929743, 0.47942554, 0.82687954}) < 1e-6);
  CHECK(distance(of("Cos", {-2, 0.5, 1000}), {-0.41614684, 0.87758256, 0.56237908}) < 1e-6);
  CHECK(distance(of("Atan", {-2, 0.5, 1000}), {-1.10714872, 0.46364761, 1.56979633}) < 1e-6);
  CHECK(distance(of("Asin", {-0.5, 0, 1}), {-0.52359878, 0, 1.57079633}) < 1e-6);
  CHECK(distance(of("Acos", {-0.5, 0, 1}), {2.0943951, 1.57079633, 0}) < 1e-6);
  CHECK(distance(of("Asinh", {-1000, 0.5, 3}), {-7.6009027, 0.48121183, 1.81844646}) < 1e-6);
  CHECK(distance(of("Acosh", {1, 2, 1000}), {0, 1.31695790, 7.60090221}) < 1e-6);
  CHECK(distance(of("Atanh", {-0.5, 0, 0.75}), {-0.54930614, 0, 0.97295507}) < 1e-6);
  CHECK(distance(of("Sinh", {-2, 0, 0.5}), {-3.62686041, 0, 0.52109531}) < 1e-6);
  CHECK(distance(of("Cosh", {-2, 0, 0.5}), {3.76219569, 1, 1.12762597}) < 1e-6);
  std::vector<std::vector<float>> roots = {{0, 2, 0, 4}, {5, 8, 0, 4}, std::vector<float>(4, 9)};
  const TensorDesc desc = f32({4});
  run_once({.name = "SqrtBackward", .operands = {read(desc), read(desc), write(desc)}}, {}, roots);
  CHECK(roots[2] == std::vector<float>{0, 2, 0, 0.5});
  std::vector<std::vector<float>> tensors = {{-2, 0, 3, 0}, {5, 7, -1, 1}, std::vector<float>(4, 9)};
  run_once({.name = "AbsBackward", .operands = {read(desc), read(desc), write(desc)}}, {}, tensors);
  CHECK(tensors[2] == std::vector<float>{-5, 0, -1, 0});
}

TEST_CASE("a power of two tensors and its gradients as torch.pow has them: zeros, and negative numbers") {
  const TensorDesc row = f32({1, 4}), one = f32({1, 1});
  const auto slope = [&](const char* kernel, std::vector<float> x, std::vector<float> other) {
    std::vector<std::vector<float>> tensors = {std::move(x), std::move(other), {1, 1, 1, 2}, std::vector<float>(4, 9)};
    const TensorDesc desc = tensors[1].size() == 1 ? one : row;
    run_once({.name = kernel, .operands = {read(row), read(desc), read(row), write(row)}}, {}, tensors);
    return tensors[3];
  };
  std::vector<std::vector<float>> tensors = {{-2, 0, 2, 4}, {2, 3, 0, 0.5}, std::vector<float>(4, 9)};
  run_once({.name = "BinaryPow", .operands = {read(row), read(row), write(row)}}, {}, tensors);
  CHECK(tensors[2] == std::vector<float>{4, 0, 1, 2});
  CHECK(slope("PowBaseSlope", {-2, 0, 2, 4}, {2, 3, 0, 0.5}) == std::vector<float>{-4, 0, 0, 0.5});
  CHECK(slope("PowBaseSlope", {-2, 0, 2, 4}, {2}) == std::vector<float>{-4, 0, 4, 16});
  const std::vector<float> by_exponent = slope("PowExponentSlope", {2, 3, 0, 0.5}, {1, 0, 2, 4});
  CHECK((by_exponent[0] == 0 && by_exponent[1] == 0));
  CHECK(by_exponent[2] == Approx(0.69314718));
  CHECK(by_exponent[3] == Approx(2 * 2 * 1.38629436));
  CHECK(std::isnan(slope("PowExponentSlope", {2, 1, 1, 1}, {-2})[0]));
}

TEST_CASE("Max and Min share the gradient where operands are equal, as torch.maximum, and propagate NaN") {
  const TensorDesc row = f32({1, 4}), one = f32({1, 1});
  const auto shares = [&](const char* kernel, std::vector<float> x, std::vector<float> other) {
    std::vector<std::vector<float>> tensors = {std::move(x), std::move(other), {2, 4, 6, 8}, std::vector<float>(4, 9)};
    const TensorDesc desc = tensors[1].size() == 1 ? one : row;
    run_once({.name = kernel, .operands = {read(row), read(desc), read(row), write(row)}}, {}, tensors);
    return tensors[3];
  };
  CHECK(shares("MaxShare", {1, 2, 3, 4}, {2, 2, 2, 2}) == std::vector<float>{0, 2, 6, 8});
  CHECK(shares("MaxShare", {1, 2, 3, 4}, {3}) == std::vector<float>{0, 0, 3, 8});
  CHECK(shares("MinShare", {1, 2, 3, 4}, {2, 2, 2, 2}) == std::vector<float>{2, 2, 0, 0});
  std::vector<std::vector<float>> tensors = {{1, NAN, 3, 4}, {2, 2, NAN, -1}, std::vector<float>(4, 9)};
  run_once({.name = "BinaryMax", .operands = {read(row), read(row), write(row)}}, {}, tensors);
  CHECK((tensors[2][0] == 2 && std::isnan(tensors[2][1]) && std::isnan(tensors[2][2]) && tensors[2][3] == 4));
  run_once({.name = "BinaryMin", .operands = {read(row), read(row), write(row)}}, {}, tensors);
  CHECK((tensors[2][0] == 1 && std::isnan(tensors[2][1]) && std::isnan(tensors[2][2]) && tensors[2][3] == -1));
}

TEST_CASE(
    "reductions and their gradients as PyTorch has them: ties, zero factors, large exponents, infinities and NaN") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // Over rows that are contiguous, and over interleaved rows.
  for (const bool behind : {true, false}) {
    const TensorDesc wide = behind ? f32({2, 3}) : f32({3, 2}), narrow = behind ? f32({2, 1}) : f32({1, 2});
    const auto turned = [&](const std::vector<float>& rows) {
      return behind ? rows : std::vector<float>{rows[0], rows[3], rows[1], rows[4], rows[2], rows[5]};
    };
    const auto forward = [&](const std::string& op, const std::vector<float>& x) {
      std::vector<std::vector<float>> tensors = {turned(x), {9, 9}};
      run_once({.name = op + "Forward", .operands = {read(wide), write(narrow)}}, {}, tensors);
      return tensors[1];
    };
    const auto backward = [&](const std::string& op, const std::vector<float>& x, std::vector<float> dy) {
      std::vector<std::vector<float>> tensors = {turned(x), forward(op, x), std::move(dy), std::vector<float>(6, 9)};
      run_once({.name = op + "Backward", .operands = {read(wide), read(narrow), read(narrow), write(wide)}}, {},
               tensors);
      return tensors[3];
    };
    INFO((behind ? "one behind the other" : "side by side"));
    CHECK(forward("ReduceMax", {1, 3, 3, -2, -5, -4}) == std::vector<float>{3, -2});
    CHECK(forward("ReduceMin", {1, 3, 3, -2, -5, -5}) == std::vector<float>{1, -5});
    CHECK(backward("ReduceMax", {1, 3, 3, -2, -5, -4}, {6, 2}) == turned({0, 3, 3, 2, 0, 0}));
    CHECK(backward("ReduceMin", {1, 3, 3, -2, -5, -5}, {6, 2}) == turned({6, 0, 0, 0, 1, 1}));
    CHECK(std::isnan(forward("ReduceMax", {1, NAN, 3, 0, 0, 0})[0]));
    CHECK(std::isnan(forward("ReduceMin", {1, 2, 3, 0, NAN, 0})[1]));
    CHECK(forward("ReduceProd", {2, -3, 4, 0, 5, 6}) == std::vector<float>{-24, 0});
    CHECK(backward("ReduceProd", {2, -3, 4, 0, 5, 6}, {1, 2}) == turned({-12, 8, -6, 60, 0, 0}));
    CHECK(backward("ReduceProd", {0, -3, 0, 1, 5, 6}, {1, 1}) == turned({0, 0, 0, 30, 6, 5}));
    const std::vector<float> large = {1000, 1000, -1000, -kInfinity, -kInfinity, -kInfinity};
    const std::vector<float> sums = forward("ReduceLogSumExp", large);
    CHECK(sums[0] == Approx(1000 + std::log(2.0)));
    CHECK(sums[1] == -kInfinity);
    const std::vector<float> slopes = backward("ReduceLogSumExp", large, {2, 3});
    const std::vector<float> wanted = turned({1, 1, 0, 0, 0, 0});
    for (size_t i = 0; i < 6; ++i) CHECK(slopes[i] == Approx(wanted[i]).margin(1e-4));
    CHECK(forward("ReduceLogSumExp", {kInfinity, 0, 1, 0, NAN, 1})[0] == kInfinity);
    CHECK(std::isnan(forward("ReduceLogSumExp", {kInfinity, 0, 1, 0, NAN, 1})[1]));
  }
}

TEST_CASE("modes edge, reflect and wrap of Pad as numpy has them") {
  const auto padded = [](const char* mode, const Values& x, double begin, double end) {
    const SampleInput row{.dims = {kBatch, {static_cast<int64_t>(x.size())}}};
    const SampleInput pads{
        .dims = {{4}}, .kind = ValueKind::constant, .constant = {0, begin, 0, end}, .type = DataType::i64};
    return Run("Pad", {.inputs = {row, pads}, .attributes = {{"mode", std::string(mode)}}}, {x}).output();
  };
  CHECK(padded("edge", {1, 2, 3}, 2, 1) == Values{1, 1, 1, 2, 3, 3});
  CHECK(padded("reflect", {1, 2, 3}, 2, 2) == Values{3, 2, 1, 2, 3, 2, 1});
  CHECK(padded("reflect", {1, 2, 3}, 4, 5) == Values{1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2});
  CHECK(padded("reflect", {7}, 2, 1) == Values{7, 7, 7, 7});
  CHECK(padded("wrap", {1, 2, 3}, 2, 4) == Values{2, 3, 1, 2, 3, 1, 2, 3, 1});
  CHECK(padded("reflect", {1, 2, 3, 4}, -1, 2) == Values{2, 3, 4, 3, 2});
  CHECK(padded("wrap", {1, 2, 3, 4}, 1, -2) == Values{4, 1, 2});
}

// As in ONNX and PyTorch: truncation, ties, NaN, indices from the end.
TEST_CASE("whole numbers, booleans and what is picked by them") {
  const auto of = [](DataType type, int64_t n) { return SampleInput{.dims = {kBatch, {n}}, .type = type}; };
  const auto constant = [](DataType type, Values items) {
    return SampleInput{
        .dims = {{static_cast<int64_t>(items.size())}}, .kind = ValueKind::constant, .constant = items, .type = type};
  };
  const auto cast = [&](DataType from, int64_t to, const Values& x) {
    return Run("Cast", {.inputs = {of(from, static_cast<int64_t>(x.size()))}, .attributes = {{"to", to}}}, {x})
        .output();
  };
  constexpr int64_t kToInt64 = 7, kToInt32 = 6, kToBool = 9, kToFloat = 1;
  CHECK(cast(DataType::f32, kToInt64, {1.9, -1.9, 0, NAN}) == Values{1, -1, 0, 0});
  CHECK(cast(DataType::f32, kToInt32, {3e9, -3e9}) == Values{2147483647, -2147483648.0});
  CHECK(cast(DataType::f32, kToBool, {0.5, 0, -2}) == Values{1, 0, 1});
  CHECK(cast(DataType::u8, kToBool, {7, 0, 1}) == Values{1, 0, 1});
  CHECK(cast(DataType::i64, kToFloat, {-3, 1 << 20}) == Values{-3, 1 << 20});

  const auto whole =
      [&](const char* op, const Values& a, const Values& b, std::map<std::string, NodeAttribute> attributes = {}) {
    const int64_t n = static_cast<int64_t>(a.size());
    return Run(op, {.inputs = {of(DataType::i64, n), of(DataType::i64, n)}, .attributes = std::move(attributes)},
               {a, b})
        .output();
  };
  CHECK(whole("Div", {7, -7, 7, 1}, {2, 2, -2, 0}) == Values{3, -3, -3, 0});
  CHECK(whole("Mod", {7, -7, 7, -7}, {3, 3, -3, -3}) == Values{1, 2, -2, -1});
  CHECK(whole("GreaterOrEqual", {1, 2, 3}, {2, 2, 2}) == Values{0, 1, 1});
  CHECK(whole("Less", {1, 2, 3}, {2, 2, 2}) == Values{1, 0, 0});
  const Values nan =
      Run("Equal", {.inputs = {of(DataType::f32, 2), of(DataType::f32, 2)}}, {{NAN, 1}, {NAN, 1}}).output();
  CHECK(nan == Values{0, 1});

  const auto sum = [&](int64_t exclusive, int64_t reverse) {
    SampleInput axis = constant(DataType::i64, {1});
    axis.dims = {};
    return Run("CumSum",
               {.inputs = {of(DataType::i64, 4), axis}, .attributes = {{"exclusive", exclusive}, {"reverse", reverse}}},
               {{1, 2, 3, 4}})
        .output();
  };
  CHECK(sum(0, 0) == Values{1, 3, 6, 10});
  CHECK(sum(1, 0) == Values{0, 1, 3, 6});
  CHECK(sum(0, 1) == Values{10, 9, 7, 4});
  CHECK(sum(1, 1) == Values{9, 7, 4, 0});

  const auto arg = [&](const char* op, int64_t last, const Values& x) {
    return Run(op,
               {.inputs = {of(DataType::f32, static_cast<int64_t>(x.size()))},
                .attributes = {{"axis", int64_t{1}}, {"select_last_index", last}}},
               {x})
        .output();
  };
  CHECK(arg("ArgMax", 0, {1, 3, 3, 2}) == Values{1});
  CHECK(arg("ArgMax", 1, {1, 3, 3, 2}) == Values{2});
  CHECK(arg("ArgMin", 0, {2, 1, 1}) == Values{1});
  CHECK(arg("ArgMax", 0, {1, NAN, 3}) == Values{1});
  const auto top = [&](int64_t largest, const Values& x) {
    return Run("TopK",
               {.inputs = {of(DataType::f32, static_cast<int64_t>(x.size())), constant(DataType::i64, {3})},
                .attributes = {{"largest", largest}},
                .outputs = 2},
               {x})
        .output();
  };
  CHECK(top(1, {1, 5, 3, 5}) == Values{5, 5, 3});
  CHECK(top(0, {4, 5, 3, 1}) == Values{1, 3, 4});

  CHECK(Run("GatherElements",
            {.inputs = {of(DataType::i64, 3), of(DataType::i64, 4)}, .attributes = {{"axis", int64_t{1}}}},
            {{10, 20, 30}, {-1, 0, 1, -3}})
            .output() == Values{30, 10, 20, 10});
  const SampleInput depth{.kind = ValueKind::constant, .constant = {3}, .type = DataType::i64};
  CHECK(Run("OneHot", {.inputs = {of(DataType::i64, 3), depth, constant(DataType::f32, {0, 2})}}, {{0, -1, 5}})
            .output() == Values{2, 0, 0, 0, 0, 2, 0, 0, 0});
}

TEST_CASE("TopK of which only the indices are read") {
  const TensorDesc indices{.type = DataType::i64, .dims = {1, 3, 1}};
  const KernelCall call{.name = "TopK",
                        .attributes = {{"least", false}, {"last", false}},
                        .operands = {read(f32({1, 4, 1})), absent(), write(indices)}};
  std::vector<float> x = {1, 5, 3, 4};
  std::vector<int64_t> at = {-1, -1, -1};
  std::byte* const operands[] = {reinterpret_cast<std::byte*>(x.data()), nullptr,
                                 reinterpret_cast<std::byte*>(at.data())};
  make_kernel(call, "")->run({}, operands, nullptr);
  backend::finish(nullptr);
  CHECK(at == std::vector<int64_t>{1, 3, 2});
}

TEST_CASE("kernels by name refuse what they are not") {
  CHECK_THROWS_AS(make_kernel({.name = "Nothing"}, ""), KernelError);
  CHECK_THROWS_AS(make_kernel({.name = "SgdUpdate", .attributes = {{"speed", 1.0}}}, ""), KernelError);
  CHECK_THROWS_AS(make_kernel({.name = "SgdUpdate", .attributes = {{"weight_decay", true}}}, ""), KernelError);
  const KernelCall conv{
      .name = "ConvForward",
      .operands = {read(f32({1, 2, 3, 3})), read(f32({4, 2, 3, 3})), absent(), write(f32({1, 4, 1, 1}))}};
  CHECK_THROWS_AS(make_kernel(conv, "magic"), KernelError);
  KernelCall wrong = conv;
  wrong.operands[3] = write(f32({1, 4, 2, 2}));
  CHECK_THROWS_AS(algorithms_of(wrong), KernelError);
}

}  // namespace plimsoll::test
