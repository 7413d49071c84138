// Algorithms that oneDNN cannot create are not offered; all others are.
#include <catch2/catch.hpp>
#include <dlfcn.h>

#include <string>
#include <type_traits>

#include "runtime/kernel_set.h"
#include "runtime/kernels.h"

namespace {

int64_t made = 0, may_be_made = INT64_MAX;

constexpr int kOutOfMemory = 1;  // dnnl_out_of_memory

}  // namespace

// Called by the kernels instead of oneDNN's function: counts the created primitives, and fails beyond a limit.
extern "C" int dnnl_primitive_create(void** primitive, const void* descriptor) {
  using Create = int (*)(void**, const void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "dnnl_primitive_create"));
  if (++made > may_be_made) return kOutOfMemory;
  return create(primitive, descriptor);
}

namespace plimsoll {
namespace {

// Allows `count` primitives and then fails, until destroyed.
struct Limit {
  explicit Limit(int64_t count) {
    made = 0;
    may_be_made = count;
  }
  ~Limit() { may_be_made = INT64_MAX; }
};

const ConvAttrs kAttrs{.pads = {1, 1, 1, 1}};
const TensorDesc kImage = f32({2, 32, 14, 14}), kFilter = f32({32, 32, 3, 3});
const std::vector<OperandDesc> kOperands = {read(kImage), read(kFilter), absent(), write(kImage)};

int64_t primitives_of_direct() {
  made = 0;
  ConvForward::make(kAttrs, kOperands, "direct");
  return made;
}

}  // namespace

TEST_CASE("a convolution is offered as oneDNN can make it, where the copies of its activations cannot be made") {
  const auto all = ConvForward::algorithms(kAttrs, kOperands);
  REQUIRE(all.size() >= 2);
  REQUIRE(all[0].name == "direct");
  const int64_t direct = primitives_of_direct();
  REQUIRE(direct > 0);
  const Limit limit(direct);
  const auto left = ConvForward::algorithms(kAttrs, kOperands);
  CHECK(made > direct);
  REQUIRE(left.size() == 1);
  CHECK(left[0].name == "direct");
  CHECK(left[0].workspace_bytes == all[0].workspace_bytes);
}

TEST_CASE("a convolution that oneDNN cannot make at all is an error that says why") {
  const Limit limit(0);
  CHECK_THROWS_AS(ConvForward::algorithms(kAttrs, kOperands), KernelError);
  CHECK_THROWS_AS(ConvForward::make(kAttrs, kOperands, ""), KernelError);
  CHECK_THROWS_AS(ConvForward::make(kAttrs, kOperands, "direct"), KernelError);
}

// oneDNN has a reference implementation for everything: a thousand times slower, and listed last.
TEST_CASE("a matrix multiplication is offered by its name, and not left to oneDNN's reference") {
  const TensorDesc a = f32({64, 128}), b = f32({128, 256}), y = f32({64, 256});
  const std::vector<OperandDesc> operands = {read(a), read(b), absent(), write(y)};
  const auto all = MatMul::algorithms(MatMulAttrs{}, operands);
  REQUIRE(!all.empty());
  for (const Algorithm& one : all) {
    CHECK(!one.name.starts_with("ref"));
    CHECK(MatMul::make(MatMulAttrs{}, operands, one.name) != nullptr);
  }
}

TEST_CASE("what else oneDNN cannot make is an error that a kernel set names the layers of") {
  const TensorDesc matrix = f32({16, 16}), image = f32({1, 8, 4, 4});
  TensorDesc blocked = image;
  blocked.layout = Layout::nChw8c;
  const Limit limit(0);
  const auto error_of = [](auto kernel, const auto& attrs, std::initializer_list<OperandDesc> operands) -> std::string {
    KernelSet kernels(1);
    try {
      kernels.add<typename decltype(kernel)::type>(0, attrs, operands, "", 0, "a layer");
    } catch (const KernelError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(error_of(std::type_identity<MatMul>(), MatMulAttrs{}, {read(matrix), read(matrix), absent(), write(matrix)})
            .starts_with("a layer: oneDNN has no such matrix multiplication: "));
  CHECK(error_of(std::type_identity<Reorder>(), Reorder::Attrs{}, {read(image), write(blocked)})
            .starts_with("a layer: oneDNN has no such reorder: "));
}

}  // namespace plimsoll
