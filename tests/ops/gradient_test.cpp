// Every gradient against finite differences of  F(x) = sum of r * y  (or F = y of a loss).
#include <omp.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "executor.h"

namespace plimsoll::test {
namespace {

// F, summed in double. The kernels compute in float: a difference over a step h has noise of about 1e-7 / h. The
// tensors are tiny and evaluated thousands of times: one thread is faster than several.
class Objective {
 public:
  explicit Objective(const Instance& instance)
      : instance_(instance), executor_(instance, kSamples), team_(omp_get_max_threads()) {
    omp_set_num_threads(1);
  }
  Objective(const Objective&) = delete;
  Objective& operator=(const Objective&) = delete;
  ~Objective() { omp_set_num_threads(team_); }

  double operator()(const std::map<TensorId, Values>& given) {
    const Buffers buffers = executor_.run(given, true);
    double sum = 0;
    for (const ValueId output : instance_.outputs) {
      const auto gradient = instance_.gradient_of.find(output);
      const bool seeded = gradient != instance_.gradient_of.end();
      if (!seeded && !(instance_.is_loss && output == instance_.outputs[0])) continue;
      const Values y = executor_.values(buffers, instance_.tensor_of.at(output), instance_.type_of(output));
      for (size_t i = 0; i < y.size(); ++i) sum += y[i] * (seeded ? given.at(gradient->second)[i] : 1.0);
    }
    return sum;
  }

 private:
  const Instance& instance_;
  Executor executor_;
  int team_;
};

// The slope of F along one element of x. A kink within reach (Relu, max) appears as disagreement between two step
// widths, or between the slopes to the left and to the right; then smaller steps are tried. nullopt: at a kink. `here`:
// the value of F at `given`.
std::optional<double> slope(Objective& objective, std::map<TensorId, Values>& given, TensorId x, size_t at,
                            double here) {
  double& element = given.at(x)[at];
  const double middle = element;
  const auto value_at = [&](double shift) {
    element = static_cast<double>(static_cast<float>(middle + shift));
    const double value = objective(given), moved = element - middle;
    element = middle;
    return std::pair(value, moved);
  };
  for (double h = 0x1p-6; h > 0x1p-11; h /= 4) {
    const auto [far_up, far_up_by] = value_at(h);
    const auto [far_down, far_down_by] = value_at(-h);
    const auto [up, up_by] = value_at(h / 2);
    const auto [down, down_by] = value_at(-h / 2);
    const double wide = (far_up - far_down) / (far_up_by - far_down_by), narrow = (up - down) / (up_by - down_by);
    const double left = (here - down) / -down_by, right = (up - here) / up_by;
    const double noise = 1e-6 * (1 + std::abs(here)) / h;
    const double allowed = 0.02 * std::abs(narrow) + 0.005 + noise;
    // Without a kink, the one-sided slopes differ only by h * F''.
    if (std::abs(wide - narrow) < allowed && std::abs(left - right) < 5 * allowed + 4 * h)
      return (4 * narrow - wide) / 3;  // Richardson: the error is of order h^4
  }
  return std::nullopt;
}

void check_gradient(const Instance& instance, ValueId input, const Values& gradient) {
  constexpr size_t kAtMost = 100;  // elements to test, selected once at random
  Objective objective(instance);
  std::map<TensorId, Values> given = instance.given;
  const TensorId x = instance.tensor_of.at(input);
  const double here = objective(given);
  std::mt19937_64 random(7);
  Values expected, actual;
  size_t tried = 0, kinks = 0;
  for (size_t i = 0; i < gradient.size(); ++i) {
    if (random() % gradient.size() >= kAtMost) continue;
    ++tried;
    if (const auto numeric = slope(objective, given, x, i, here)) {
      expected.push_back(*numeric);
      actual.push_back(gradient[i]);
    } else {
      ++kinks;
    }
  }
  INFO("gradient of " << instance.network.values[input].name << ", " << tried << " elements, " << kinks << " at kinks");
  CHECK(kinks * 5 <= tried);
  CHECK(distance(actual, expected, 0.1 * std::sqrt(static_cast<double>(tried))) < 2e-3);
}

}  // namespace

TEST_CASE("every operator has samples") {
  for (const Op* op : all_ops()) {
    INFO(op->name);
    CHECK((op->samples != nullptr && !op->samples().empty()));
  }
}

TEST_CASE("gradients agree with finite differences") {
  for_each_sample([](const Op& op, const Sample& sample) {
    const Instance instance = make_instance(op, sample);
    Executor executor(instance, kSamples);
    const Buffers buffers = executor.run(instance.given);
    for (const ValueId input : instance.inputs) {
      if (!input.valid() || !instance.gradient_of.count(input)) continue;
      const Values gradient = executor.values(buffers, instance.gradient_of.at(input), instance.type_of(input));
      for (const double g : gradient) REQUIRE(std::isfinite(g));
      if (sample.check_gradient) check_gradient(instance, input, gradient);
    }
  });
}

}  // namespace plimsoll::test
