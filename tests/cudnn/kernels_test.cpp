// Convolutions as a trainer builds them: by the name that was planned, within the workspace that was planned.
#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "runtime/cuda/cudnn/convolution.h"
#include "runtime/cuda/cudnn/device.h"
#include "runtime/cuda/cudnn/engines.h"
#include "runtime/kernel_set.h"
#include "runtime/kernels.h"
#include "runtime/precision.h"

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

TensorDesc stored(DataType type, TensorDesc desc, Layout layout = Layout::plain) {
  desc.type = type;
  desc.layout = layout;
  return desc;
}

const DataType kNarrow[] = {DataType::bf16, DataType::f16};

KernelSet built(const std::string& algorithm, int64_t workspace) {
  KernelSet kernels(1);
  kernels.add<ConvBackwardWeights>(0, kAttrs, {read(kImage), read(kImage), write(kFilter), absent()}, algorithm,
                                   workspace, "conv1");
  return kernels;
}

}  // namespace

TEST_CASE("a bias is fused, or follows: the default is exact and the same at every run") {
  describe_h200();
  const auto with = algorithms<ConvForward>({read(kImage), read(kFilter), read(kBias), write(kImage)});
  CHECK(with[0].name.starts_with("fused_eng"));
  CHECK(std::any_of(with.begin(), with.end(), [](const Algorithm& a) { return a.name.starts_with("eng"); }));
  for (const auto& all : {with, algorithms<ConvForward>({read(kImage), read(kFilter), absent(), write(kImage)}),
                          algorithms<ConvBackwardData>({read(kFilter), read(kImage), write(kImage)})}) {
    CHECK(all[0].deterministic);
    CHECK(!all[0].tf32);
    CHECK(all[0].workspace_bytes <= (cudnnGetVersion() < 92000 ? 0 : 4096));  // none in 9.19; 2304 in 9.28
  }
}

TEST_CASE("the bias alone may be trained, and a gradient that is added to may be made aside") {
  describe_h200();
  const auto alone = algorithms<ConvBackwardWeights>({read(kImage), read(kImage), absent(), write(kBias)});
  REQUIRE(alone.size() == 1);
  CHECK(alone[0].name == "bias");
  CHECK(alone[0].workspace_bytes >= kBias.bytes());
  const auto added = algorithms<ConvBackwardWeights>({read(kImage), read(kImage), update(kFilter), absent()});
  const auto aside =
      std::find_if(added.begin(), added.end(), [](const Algorithm& a) { return a.name.ends_with("_add"); });
  REQUIRE(aside != added.end());
  CHECK(aside->workspace_bytes >= kFilter.bytes());
  CHECK(added.size() > 5);
  for (const Algorithm& algorithm : added) {
    INFO(algorithm.name);
    const auto kernel = ConvBackwardWeights::make(
        kAttrs, std::vector{read(kImage), read(kImage), update(kFilter), absent()}, algorithm.name);
    CHECK(kernel->workspace_found() == algorithm.workspace_bytes);
  }
}

TEST_CASE("the gradient of data may be added to another, by cuDNN or aside") {
  describe_h200();
  const std::vector<OperandDesc> operands = {read(kFilter), read(kImage), write(kImage), read(kImage)};
  const auto added = ConvBackwardData::algorithms(kAttrs, operands);
  CHECK((added[0].deterministic && !added[0].tf32));
  CHECK(!added[0].name.ends_with("_add"));  // no pass of its own over dx, and no workspace of its size
  CHECK(added[0].workspace_bytes < kImage.bytes());
  const auto aside =
      std::find_if(added.begin(), added.end(), [](const Algorithm& a) { return a.name.ends_with("_add"); });
  REQUIRE(aside != added.end());
  CHECK(aside->workspace_bytes >= kImage.bytes());
  CHECK(added.size() > 5);
  for (const Algorithm& algorithm : added) {
    INFO(algorithm.name);
    const auto kernel = ConvBackwardData::make(kAttrs, operands, algorithm.name);
    CHECK(kernel->workspace_found() == algorithm.workspace_bytes);
  }
}

TEST_CASE(
    "an engine that needs more than was planned, or is none here, or is on tensor cores here, gives way to an exact "
    "one") {
  describe_h200();
  const auto all = algorithms<ConvBackwardWeights>({read(kImage), read(kImage), write(kFilter), absent()});
  const auto large =
      std::max_element(all.begin(), all.end(), [](const Algorithm& a, const Algorithm& b) {  // of the exact ones
        return a.tf32 != b.tf32 ? a.tf32 : a.workspace_bytes < b.workspace_bytes;
      });
  REQUIRE(!large->tf32);
  REQUIRE(large->workspace_bytes > 0);
  CHECK(built(large->name, large->workspace_bytes).replaced().empty());
  const auto tensor_cores = std::find_if(all.begin(), all.end(), [](const Algorithm& a) { return a.tf32; });
  REQUIRE(tensor_cores != all.end());
  REQUIRE(tensor_cores->name.starts_with("tf32_"));
  CHECK(built(tensor_cores->name, tensor_cores->workspace_bytes).replaced().empty());
  const std::pair<std::string, int64_t> cases[] = {{large->name, large->workspace_bytes - 1},
                                                   {"eng99999", 1 << 20},
                                                   {"winograd", 0},
                                                   {tensor_cores->name.substr(5), tensor_cores->workspace_bytes}};
  for (const auto& [name, workspace] : cases) {
    INFO(name);
    const KernelSet kernels = built(name, workspace);
    REQUIRE(kernels.replaced().size() == 1);
    const auto& [layers, planned, taken, why] = kernels.replaced()[0];
    CHECK(layers == "conv1");
    CHECK(planned == name);
    const auto other = std::find_if(all.begin(), all.end(), [&](const Algorithm& a) { return a.name == taken; });
    REQUIRE(other != all.end());
    CHECK((other->deterministic && !other->tf32 && other->workspace_bytes <= workspace));
  }
}

TEST_CASE("a depthwise convolution keeps cuDNN's order, after an exact default") {
  describe_h200();
  const ConvAttrs attrs{.pads = {1, 1, 1, 1}, .group = 96};
  const TensorDesc image = f32({32, 96, 28, 28}), filter = f32({96, 1, 3, 3});
  const auto all = ConvBackwardData::algorithms(attrs, std::vector{read(filter), read(image), write(image)});
  const cudnn::Graph graph = cudnn::graph_of({cudnn::Direction::backward_data, image, filter, image, attrs});
  CHECK(cudnn::why_no_engine(graph).empty());
  std::vector<std::string> expected, listed;
  for (const cudnn::Engine& engine : cudnn::engines_for(graph))
    expected.push_back((engine.tf32 ? "tf32_" : "") + engine.name);
  for (const Algorithm& one : all) listed.push_back(one.name);
  REQUIRE(!all.empty());
  CHECK((all[0].deterministic && !all[0].tf32));
  const auto first = std::find(expected.begin(), expected.end(), listed[0]);
  REQUIRE(first != expected.end());
  std::rotate(expected.begin(), first, first + 1);
  CHECK(listed == expected);
}

TEST_CASE("a plan in TF32 whose engine is missing is replaced in TF32, and by an exact engine where none fits") {
  describe_h200();
  const auto all = algorithms<ConvBackwardWeights>({read(kImage), read(kImage), write(kFilter), absent()});
  const auto taken = [&](const std::string& planned, int64_t workspace) {
    const KernelSet kernels = built(planned, workspace);
    REQUIRE(kernels.replaced().size() == 1);
    const auto other =
        std::find_if(all.begin(), all.end(), [&](const Algorithm& a) { return a.name == kernels.replaced()[0].taken; });
    REQUIRE(other != all.end());
    CHECK((other->deterministic && other->workspace_bytes <= workspace));
    return *other;
  };
  int64_t least = INT64_MAX, most = 0;
  for (const Algorithm& one : all) {
    if (!one.tf32 || !one.deterministic) continue;
    least = std::min(least, one.workspace_bytes);
    most = std::max(most, one.workspace_bytes);
  }
  CHECK(taken("tf32_eng99999", most).tf32);
  if (least > 0) CHECK(!taken("tf32_eng99999", 0).tf32);
  CHECK(!taken("eng99999", most).tf32);
}

TEST_CASE("where nothing fits the workspace that was planned, the layer is named, and how much it would take") {
  describe_h200();
  const auto all = algorithms<ConvBackwardWeights>({read(kImage), read(kImage), write(kFilter), absent()});
  std::string said;
  try {
    built(all[0].name, -1);
  } catch (const KernelError& error) {
    said = error.what();
  }
  CHECK(said.find("conv1") != std::string::npos);
  CHECK(said.find("needs " + std::to_string(all[0].workspace_bytes) + " bytes") != std::string::npos);
}

TEST_CASE("a product's algorithms are bounds of its workspace, in each arithmetic") {
  describe_h200();
  const std::vector<OperandDesc> operands = {read(f32({64, 25088})), read(f32({25088, 4096})), absent(),
                                             write(f32({64, 4096}))};
  const std::vector<Algorithm> all = MatMul::algorithms({}, operands);
  REQUIRE(all.size() == 6);
  CHECK(all[0].name == "fp32_0");
  CHECK(all[2].name == "fp32_32MiB");
  CHECK(all[2].workspace_bytes == 16 * 64 * 4096 * 4);
  for (const Algorithm& algorithm : all) CHECK(algorithm.tf32 == algorithm.name.starts_with("tf32"));
  CHECK_THROWS_AS(MatMul::make({}, operands, "fp16_0"), KernelError);
}

TEST_CASE("a convolution of 16 bits is multiplied as it is, in every direction and layout") {
  describe_h200();
  for (const DataType type : kNarrow)
    for (const Layout layout : {Layout::plain, Layout::nhwc}) {
      const TensorDesc image = stored(type, kImage, layout), filter = stored(type, kFilter, layout);
      const TensorDesc gradient = f32(kFilter.dims, layout);
      const std::string prefix = std::string(name_of(type)) + "_";
      const auto all_built = [&]<class K>(K, ConvAttrs attrs, const std::vector<OperandDesc>& operands) {
        INFO(K::kName << (layout == Layout::nhwc ? ", channels last" : "") << " in " << name_of(type));
        CHECK(has_narrow_kernel(K::kName, operands));
        const std::vector<Algorithm> all = algorithms_in_any_precision(maker_of<K>(attrs), operands);
        CHECK(all[0].deterministic);
        int built = 0;
        for (const Algorithm& algorithm : all) {
          INFO(algorithm.name);
          CHECK(algorithm.name.starts_with(prefix));
          CHECK(!algorithm.tf32);
          CHECK(K::make(attrs, operands, algorithm.name)->workspace_found() == algorithm.workspace_bytes);
          if (++built == 6) break;
        }
        CHECK(built == 6);
        return all;
      };
      all_built(ConvForward{}, kAttrs, {read(image), read(filter), absent(), write(image)});
      ConvAttrs relu = kAttrs;
      relu.relu = true;
      const auto fused = all_built(ConvForward{}, relu, {read(image), read(filter), read(kBias), write(image)});
      CHECK(fused[0].name.starts_with(prefix + "fused_"));
      all_built(ConvBackwardData{}, kAttrs, {read(filter), read(image), write(image), absent()});
      all_built(ConvBackwardData{}, kAttrs, {read(filter), read(image), write(image), read(image)});
      for (const OperandDesc& dw : {write(gradient), update(gradient)})
        for (const Algorithm& one :
             all_built(ConvBackwardWeights{}, kAttrs, {read(image), read(image), dw, write(kBias)}))
          CHECK(one.workspace_bytes >= filter.bytes());  // dw in 16 bits, before it is widened
    }
}

TEST_CASE("an engine's name holds the type of the factors") {
  describe_h200();
  const DataType types[] = {DataType::f32, DataType::bf16, DataType::f16};
  const auto operands_in = [](DataType type) {
    return std::vector<OperandDesc>{read(stored(type, kImage)), read(stored(type, kFilter)), absent(),
                                    write(stored(type, kImage))};
  };
  for (const DataType one : types)
    for (const DataType other : types) {
      if (one == other) continue;
      const std::string name = ConvForward::algorithms(kAttrs, operands_in(other))[0].name;
      INFO(name << " for " << name_of(one));
      CHECK_THROWS_AS(ConvForward::make(kAttrs, operands_in(one), name), KernelError);
    }
}

TEST_CASE("a product of 16 bits has algorithms of its own, and room for a row that is converted") {
  describe_h200();
  for (const DataType type : kNarrow) {
    const std::string prefix = std::string(name_of(type)) + "_";
    const TensorDesc a = stored(type, f32({64, 25088})), b = stored(type, f32({25088, 4096})),
                     y = stored(type, f32({64, 4096}));
    const auto all = MatMul::algorithms({}, std::vector{read(a), read(b), absent(), write(y)});
    REQUIRE(all.size() == 3);
    CHECK(all[0].name == prefix + "0");
    CHECK(all[0].workspace_bytes == 0);
    CHECK(all[2].name == prefix + "32MiB");
    CHECK(all[2].workspace_bytes == 16 * 64 * 4096 * 4);  // partial sums are in f32
    const auto with_row = MatMul::algorithms({}, std::vector{read(a), read(b), read(f32({4096})), write(y)});
    CHECK(with_row[0].workspace_bytes == 2 * 4096);
    const TensorDesc row = stored(type, f32({4096}));
    CHECK(MatMul::algorithms({}, std::vector{read(a), read(b), read(row), write(y)})[0].workspace_bytes == 0);
  }
}

TEST_CASE("kernels of two products have the algorithms that both products have, and build each") {
  describe_h200();
  const RecurrentAttrs attrs{.gates = {0, 1, 2}};
  const TensorDesc x = f32({3, 128, 1536}), r = f32({1536, 512}), y = f32({3, 128, 512}), state = f32({128, 512});
  const auto names = [&]<class K>(K, const std::vector<OperandDesc>& operands) {
    std::string all;
    for (const Algorithm& algorithm : K::algorithms(attrs, operands)) {
      INFO(K::kName << " by " << algorithm.name);
      CHECK(K::make(attrs, operands, algorithm.name) != nullptr);
      all += algorithm.name + " ";
    }
    return all;
  };
  // Of a step, the larger result alone has sums of 32 MiB.
  const std::string of_step = "fp32_0 fp32_4MiB tf32_0 tf32_4MiB ";
  CHECK(names(ResetFirstGruForward{}, {read(x), read(r), read(state), write(y), write(state), write(x)}) == of_step);
  CHECK(names(ResetFirstGruBackward{}, {read(r), read(state), read(y), read(x), read(y), read(state), write(x),
                                        write(y), write(state)}) == of_step);
  CHECK(names(RecurrentWeights{}, {read(x), read(y), read(state), read(y), update(r)}) ==
        "fp32_0 fp32_4MiB fp32_32MiB tf32_0 tf32_4MiB tf32_32MiB ");
}
