// Batch normalization of rows [N, C] against the same values as one sample of N pixels [1, C, N], which other tests
// compare with PyTorch: both have the same statistics.
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "executor.h"
#include "runtime/backend.h"
#include "runtime/kernels.h"

namespace plimsoll::test {
namespace {

using NormFloats = std::vector<float>;

NormFloats turned_rows(const NormFloats& x, int64_t rows, int64_t columns) {
  NormFloats result(x.size());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      result[static_cast<size_t>(c * rows + r)] = x[static_cast<size_t>(r * columns + c)];
  return result;
}

struct NormOutcome {
  NormFloats y, dx, mean, var, running_mean, running_var, dscale, dbias;
};

// x, addend and dy have the order of `desc`.
NormOutcome run_norm(const BatchNormAttrs& attrs, const TensorDesc& desc, NormFloats x, NormFloats addend,
                     NormFloats dy) {
  const int64_t channels = desc.dim(1);
  const auto of_channels = [&](float factor) {
    NormFloats values(static_cast<size_t>(channels));
    for (size_t c = 0; c < values.size(); ++c) values[c] = 0.5F + factor * std::cos(static_cast<float>(c));
    return values;
  };
  NormFloats scale = of_channels(0.25F), bias = of_channels(0.5F), running_mean = of_channels(0.125F);
  // Near the channel's values, as in a trained network: otherwise sums of dy · (x - mean) are large and inexact.
  for (size_t c = 0; c < running_mean.size(); ++c) running_mean[c] += static_cast<float>(c);
  const NormFloats zeros(static_cast<size_t>(channels));
  NormOutcome out{.y = NormFloats(x.size()), .dx = NormFloats(x.size()), .mean = zeros, .var = zeros,
              .running_mean = running_mean, .running_var = of_channels(0.375F), .dscale = zeros, .dbias = zeros};
  const auto at = [](NormFloats& values) { return reinterpret_cast<std::byte*>(values.data()); };
  const TensorDesc each = f32({channels});
  std::vector<OperandDesc> forward = {read(desc),  read(each), read(each), update(each), update(each),
                                      write(desc), write(each), write(each)};
  if (attrs.frozen) forward[3] = forward[4] = read(each), forward[6] = forward[7] = {.access = Access::absent};
  if (!addend.empty()) forward.push_back(read(desc));
  std::byte* const of_forward[] = {at(x), at(scale), at(bias), at(out.running_mean), at(out.running_var), at(out.y),
                                   attrs.frozen ? nullptr : at(out.mean), attrs.frozen ? nullptr : at(out.var),
                                   at(addend)};
  const auto bytes = [&](int64_t workspace) { return std::vector<double>(static_cast<size_t>(workspace) / 8 + 1); };
  std::vector<double> workspace = bytes(BatchNormForward::algorithms(attrs, forward)[0].workspace_bytes);
  BatchNormForward::make(attrs, forward, "")->run({}, of_forward, reinterpret_cast<std::byte*>(workspace.data()));
  backend::finish(nullptr);  // it still uses its workspace
  std::vector<OperandDesc> backward = {read(desc), read(desc),
                                       read(each), read(each),
                                       read(each), attrs.relu ? read(desc) : OperandDesc{.access = Access::absent},
                                       write(desc), write(each),
                                       write(each)};
  if (attrs.reads_bias()) backward.push_back(read(each));
  NormFloats &mean = attrs.frozen ? out.running_mean : out.mean, &var = attrs.frozen ? out.running_var : out.var;
  std::byte* const of_backward[] = {at(x), at(dy), at(scale), at(mean), at(var), at(out.y), at(out.dx), at(out.dscale),
                                    at(out.dbias), at(bias)};
  workspace = bytes(BatchNormBackward::algorithms(attrs, backward)[0].workspace_bytes);
  BatchNormBackward::make(attrs, backward, "")->run({}, of_backward, reinterpret_cast<std::byte*>(workspace.data()));
  backend::finish(nullptr);
  return out;
}

double farthest(const NormFloats& a, const NormFloats& b) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return worst;
}

void check_rows(const BatchNormAttrs& attrs, int64_t rows, int64_t channels, bool adds) {
  NormFloats x(static_cast<size_t>(rows * channels)), dy(x.size()), addend(adds ? x.size() : 0);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = 3 * std::sin(static_cast<float>(i) * 1.7F) + static_cast<float>(i % static_cast<size_t>(channels));
    dy[i] = std::cos(static_cast<float>(i) * 0.7F);
    if (adds) addend[i] = std::sin(static_cast<float>(i) * 0.3F);
  }
  const auto turned = [&](const NormFloats& values) {
    return values.empty() ? values : turned_rows(values, rows, channels);
  };
  const NormOutcome got = run_norm(attrs, f32({rows, channels}), x, addend, dy),
                wanted = run_norm(attrs, f32({1, channels, rows}), turned(x), turned(addend), turned(dy));
  CHECK(farthest(turned(got.y), wanted.y) < 1e-5);
  CHECK(farthest(turned(got.dx), wanted.dx) < 1e-5);
  CHECK(farthest(got.mean, wanted.mean) < 1e-4);
  CHECK(farthest(got.var, wanted.var) < 1e-4);
  CHECK(farthest(got.running_mean, wanted.running_mean) < 1e-4);
  CHECK(farthest(got.running_var, wanted.running_var) < 1e-4);
  CHECK(farthest(got.dscale, wanted.dscale) < 1e-3);
  CHECK(farthest(got.dbias, wanted.dbias) < 1e-3);
}

}  // namespace

TEST_CASE("a batch normalization of rows is that of one sample with as many pixels") {
  for (const BatchNormAttrs& attrs :
       {BatchNormAttrs{}, {.relu = true}, {.swish = true}, {.hard_swish = true}, {.frozen = true}})
    for (const bool adds : {false, true}) {
      if (adds && attrs.reads_bias()) continue;  // such an activation is not fused with an addition
      check_rows(attrs, 5, 3, adds);
      check_rows(attrs, 70, 16, adds);
      check_rows(attrs, 1000, 130, adds);
    }
}

}  // namespace plimsoll::test
