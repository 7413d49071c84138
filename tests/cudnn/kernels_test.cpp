// Convolutions as a trainer builds them: by the name that was planned, within the workspace that was planned.
#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "runtime/cuda/cudnn/device.h"
#include "runtime/kernel_set.h"
#include "runtime/kernels.h"

using namespace plimsoll;

namespace {

void describe_h200() {
  std::stringstream text;
  text << std::ifstream(PLIMSOLL_DEVICE_PROPS "/h200.json").rdbuf();
  cudnn::use_described_device(text.str());
}

const ConvAttrs kAttrs{.pads = {1, 1, 1, 1}};
const TensorDesc kImage = f32({64, 64, 56, 56}), kFilter = f32({64, 64, 3, 3}), kBias = f32({64});

template <class K>
std::vector<Algorithm> algorithms(std::initializer_list<OperandDesc> operands) {
  return K::algorithms(kAttrs, std::vector<OperandDesc>(operands));
}

std::string refusal(const std::string& algorithm, int64_t workspace) {
  KernelSet kernels(1);
  try {
    kernels.add<ConvBackwardWeights>(0, kAttrs, {read(kImage), read(kImage), write(kFilter), absent()}, algorithm, workspace, "conv1");
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a bias is fused, or follows; the default is exact and the same at every run") {
  describe_h200();
  const auto with = algorithms<ConvForward>({read(kImage), read(kFilter), read(kBias), write(kImage)});
  CHECK(with[0].name.starts_with("fused_eng"));
  CHECK(std::any_of(with.begin(), with.end(), [](const Algorithm& a) { return a.name.starts_with("eng"); }));
  for (const auto& all : {with, algorithms<ConvForward>({read(kImage), read(kFilter), absent(), write(kImage)}),
                          algorithms<ConvBackwardData>({read(kFilter), read(kImage), write(kImage)})}) {
    CHECK(all[0].deterministic);
    CHECK(!all[0].tf32);
    CHECK(all[0].workspace_bytes == 0);
  }
}

TEST_CASE("the bias alone may be trained, and a gradient that is added to may be made aside") {
  describe_h200();
  const auto alone = algorithms<ConvBackwardWeights>({read(kImage), read(kImage), absent(), write(kBias)});
  REQUIRE(alone.size() == 1);
  CHECK(alone[0].name == "bias");
  CHECK(alone[0].workspace_bytes >= kBias.bytes());
  const auto added = algorithms<ConvBackwardWeights>({read(kImage), read(kImage), update(kFilter), absent()});
  const auto aside = std::find_if(added.begin(), added.end(), [](const Algorithm& a) { return a.name.ends_with("_add"); });
  REQUIRE(aside != added.end());
  CHECK(aside->workspace_bytes >= kFilter.bytes());
  for (const Algorithm& algorithm : added) {
    INFO(algorithm.name);
    const auto kernel = ConvBackwardWeights::make(kAttrs, std::vector{read(kImage), read(kImage), update(kFilter), absent()}, algorithm.name);
    CHECK(kernel->workspace_found() == algorithm.workspace_bytes);
  }
}

TEST_CASE("a trainer refuses an engine that needs more than was planned, or is none") {
  describe_h200();
  const auto all = algorithms<ConvBackwardWeights>({read(kImage), read(kImage), write(kFilter), absent()});
  const auto large = std::max_element(all.begin(), all.end(), [](const Algorithm& a, const Algorithm& b) { return a.workspace_bytes < b.workspace_bytes; });
  REQUIRE(large->workspace_bytes > 0);
  CHECK(refusal(large->name, large->workspace_bytes).empty());
  const std::string small = refusal(large->name, large->workspace_bytes - 1);
  CHECK(small.find("conv1") != std::string::npos);
  CHECK(small.find(std::to_string(large->workspace_bytes)) != std::string::npos);
  CHECK(refusal("winograd", 1 << 30).find("names no engine") != std::string::npos);
  CHECK(refusal("eng99999", 1 << 30).find("conv1") != std::string::npos);
}

TEST_CASE("a product's algorithms are bounds of its workspace, in each arithmetic") {
  describe_h200();
  const std::vector<OperandDesc> operands = {read(f32({64, 25088})), read(f32({25088, 4096})), absent(), write(f32({64, 4096}))};
  const std::vector<Algorithm> all = MatMul::algorithms({}, operands);
  REQUIRE(all.size() == 6);
  CHECK(all[0].name == "fp32_0");
  CHECK(all[2].name == "fp32_32MiB");
  CHECK(all[2].workspace_bytes == 16 * 64 * 4096 * 4);
  for (const Algorithm& algorithm : all) CHECK(algorithm.tf32 == algorithm.name.starts_with("tf32"));
  CHECK_THROWS_AS(MatMul::make({}, operands, "fp16_0"), KernelError);
}
