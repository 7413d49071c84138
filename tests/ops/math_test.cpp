// The vectorized elementary functions against libm's in double precision.
#include "runtime/host/math.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace plimsoll::test {
namespace {

// The largest |f(x) - exact(x)| / max(|exact(x)|, floor) over [low, high].
template <class F, class Exact>
double error_of(F f, Exact exact, float low, float high, double floor) {
  double worst = 0;
  for (int i = 0; i <= 200000; ++i) {
    const float x = low + (high - low) * (static_cast<float>(i) / 200000.0F);
    const double wanted = exact(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(f(x)) - wanted) / std::max(std::abs(wanted), floor));
  }
  return worst;
}

}  // namespace

TEST_CASE("elementary functions are accurate to a few units in the last place") {
  const auto exact_exp = [](double x) { return std::exp(x); };
  const auto exact_tanh = [](double x) { return std::tanh(x); };
  const auto exact_erf = [](double x) { return std::erf(x); };
  const auto exact_sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  CHECK(error_of(host::exp_of, exact_exp, -86.98F, 88.72F, 0) < 3e-7);
  CHECK(error_of(host::exp_of, exact_exp, -0.5F, 0.5F, 0) < 1.5e-7);
  CHECK(error_of(host::tanh_of, exact_tanh, -10, 10, 0) < 3e-7);
  CHECK(error_of(host::tanh_of, exact_tanh, -1e-3F, 1e-3F, 1e-30) < 2e-7);
  CHECK(error_of(host::erf_of, exact_erf, -5, 5, 0) < 6e-7);
  CHECK(error_of(host::sigmoid_of, exact_sigmoid, -80, 80, 0) < 5e-7);
  const auto exact_log = [](double x) { return std::log(x); };
  CHECK(error_of(host::log_of, exact_log, 1, 1.001F, 1e-30) < 2e-7);
  CHECK(error_of(host::log_of, exact_log, 0.5F, 2, 1e-30) < 2e-7);
  CHECK(error_of(host::log_of, exact_log, 1, 1e6F, 1e-30) < 2e-7);
}

TEST_CASE("elementary functions at the ends of their ranges") {
  CHECK(host::exp_of(0) == 1);
  CHECK(host::exp_of(-INFINITY) == 0);
  CHECK(host::exp_of(-200) == 0);
  CHECK(host::exp_of(-87.5F) == 0);
  CHECK(host::exp_of(-87) <= 1.7e-38F);
  CHECK(std::isinf(host::exp_of(100)));
  CHECK(std::isnan(host::exp_of(NAN)));
  CHECK(host::log_of(1) == 0);
  CHECK(std::isnan(host::log_of(NAN)));
  CHECK(host::tanh_of(100) == 1);
  CHECK(host::tanh_of(-100) == -1);
  CHECK(std::isnan(host::tanh_of(NAN)));
  CHECK(host::sigmoid_of(-100) == 0);
  CHECK(host::erf_of(10) == 1);
  CHECK(host::erf_of(0) == 0);
}

}  // namespace plimsoll::test
