// Kernels with operands in bf16 or f16 against the kernel for f32 on widened operands (runtime/precision.h): the same
// bytes, except for products.
#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <set>

#include "executor.h"
#include "narrow_operands.h"
#include "runtime/backend.h"
#include "runtime/compiled_types.h"

namespace plimsoll::test {
namespace {

// The library adds up the products in another order.
const std::set<std::string_view> kNarrowProducts = {"ConvForward", "ConvBackwardData", "ConvBackwardWeights",
                                                    "ConvTransposeForward", "MatMul"};

// They depend on the machine's processor.
const std::set<std::string_view> kInLibrary = {
    "ConvForward",        "ConvBackwardData", "ConvBackwardWeights", "ConvTransposeForward",
    "LinearCrossEntropy", "MatMul",           "Reorder"};

// What a product makes is rounded to 16 bits before the next one reads it, so all results differ by that.
const std::set<std::string_view> kChainsOfProducts = {"LinearCrossEntropy"};

// The host's kernels that run on widened operands, and why that is no matter.
const std::map<std::string_view, std::string_view> kWithoutForm = {
    {"ArgPick", "gives positions"},
    {"Compare", "gives truth values"},
    {"GatherElementsBackward", "adds up in its result"},
    {"GridSampleBackward", "rare"},
    {"GridSampleBackwardGrid", "rare"},
    {"GridSampleForward", "rare"},
    {"GruBackward", "its steps are products of f32"},
    {"GruForward", "its steps are products of f32"},
    {"GruInputs", "reads what GruBackward wrote"},
    {"LstmBackward", "its steps are products of f32"},
    {"LstmForward", "its steps are products of f32"},
    {"NegativeLogLikelihood", "of f32, made by LogSoftmax"},
    {"NegativeLogLikelihoodEach", "of f32, made by LogSoftmax"},
    {"NegativeLogLikelihoodEachBackward", "of f32, made by LogSoftmax"},
    {"OneHot", "reads positions"},
    {"OutputLoss", "one number"},
    {"RandomMask", "reads nothing"},
    {"RandomNumbers", "reads nothing"},
    {"RecurrentWeights", "reads what the backward of the steps wrote"},
    {"ResetFirstGruBackward", "its steps are products of f32"},
    {"ResetFirstGruForward", "its steps are products of f32"},
    {"ScatterElements", "adds up in its result"},
    {"TopK", "gives positions"},
};

// Runs body(operands) for every way to have some of the f32 operands in this type for which there is a kernel.
template <class Body>
void for_each_narrow_kernel(DataType narrow, const Task& task, const KernelCall& call, Body body) {
  const auto there_is = [&](std::span<const OperandDesc> operands) { return has_narrow_kernel(call.name, operands); };
  for (const std::vector<OperandDesc>& operands : ways_in(narrow, task, call, there_is)) body(operands);
}

struct KernelRun {
  const Task& task;
  const std::vector<OperandDesc>& operands;
  const Buffers& before;
  const RunContext& context;

  // What the kernel leaves in the tensors. `shared`: {read, written} share bytes.
  Buffers of(Kernel& kernel, int64_t workspace_bytes, const Task::InPlace* shared = nullptr) const {
    Buffers buffers;
    for (size_t i = 0; i < operands.size(); ++i) {
      const TensorId id = task.operands[i].tensor;
      if (operands[i].access == Access::absent || buffers.count(id)) continue;
      const Buffer& given = before.at(id);
      buffers.emplace(id, is_narrow(operands[i].tensor.type) ? in_narrow(operands[i].tensor.type, given) : given);
    }
    std::vector<std::byte*> addresses;
    for (size_t i = 0; i < operands.size(); ++i) {
      const TensorId id = task.operands[i].tensor;
      if (operands[i].access == Access::absent) addresses.push_back(nullptr);
      else addresses.push_back(buffers.at(shared && shared->written == id ? shared->read : id).data());
    }
    Buffer workspace(workspace_bytes);
    kernel.run(context, addresses.data(), workspace.data());
    backend::finish(nullptr);
    CHECK(workspace.guards_intact());
    for (const auto& [id, buffer] : buffers) CHECK(buffer.guards_intact());
    if (shared) buffers.at(shared->written).copy_from(buffers.at(shared->read));
    return buffers;
  }
};

std::string types_of(std::span<const OperandDesc> operands) {
  std::string types;
  for (const OperandDesc& operand : operands)
    types += operand.access == Access::absent ? "- " : std::string(name_of(operand.tensor.type)) + " ";
  return types;
}

// Products are added up in another order, or, on tensor cores, of other roundings.
void compare(const KernelRun& run, const Buffers& expected, const Algorithm& offered, Kernel& kernel,
             bool are_products, bool is_chain) {
  const std::vector<OperandDesc>& operands = run.operands;
  const auto check = [&](const Buffers& got) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].access == Access::absent || operands[i].access == Access::read) continue;
      INFO("slot " << i);
      const TensorId id = run.task.operands[i].tensor;
      if (is_chain && got.at(id).contents() == expected.at(id).contents()) continue;  // in evaluation, as it was
      const Values values = load(operands[i].tensor, got.at(id).data()),
                   wanted = load(operands[i].tensor, expected.at(id).data());
      if (are_products) {
        // The results of tiles are sums of products whose factors were rounded to 16 bits once more. f16 has three
        // digits more than bf16.
        const double of_bf16 = offered.name.ends_with("_tiles") ? 8e-3 : 2e-3;
        const DataType type = operands[i].tensor.type;
        // Of logits that are nearly equal, another may be the largest, so a count of hits differs by some.
        CHECK(distance(values, wanted) < (is_chain                 ? (values.size() == 1 ? 5e-2 : 8e-3)
                                          : type == DataType::bf16 ? of_bf16
                                          : type == DataType::f16  ? of_bf16 / 8
                                                                   : 1e-5));
      } else {
        INFO("distance " << distance(values, wanted));
        CHECK((got.at(id).contents() == expected.at(id).contents()));
      }
    }
  };
  check(run.of(kernel, offered.workspace_bytes));
  if (!run.context.training) return;  // a loss then writes no gradient
  for (const Task::InPlace& pair : run.task.in_place) {
    const auto type = [&](TensorId id) {
      for (size_t i = 0; i < operands.size(); ++i)
        if (run.task.operands[i].tensor == id) return operands[i].tensor.type;
      return DataType::f32;
    };
    if (type(pair.read) != type(pair.written)) continue;
    INFO("in place");
    check(run.of(kernel, offered.workspace_bytes, &pair));
  }
}

void compare_with_widened(const Task& task, const KernelCall& call, const std::vector<OperandDesc>& operands,
                          const Buffers& before, const RunContext& context) {
  KernelCall native = call, single = call;
  native.operands = operands;
  single.operands = as_f32(operands);
  const std::vector<Algorithm> all = algorithms_of(native);
  if (all.front().name.starts_with(kWidened)) return;  // the library lacks the shape
  const KernelRun run{task, operands, before, context};
  const Buffers expected = run.of(*on_widened(make_kernel(single, ""), operands),
                                  on_widened(algorithms_of(single), operands).front().workspace_bytes);
  for (const Algorithm& offered : all) {  // the default, and what there is beside one on tensor cores
    INFO(offered.name);
    const bool on_tensor_cores = offered.name.ends_with("_tiles");
    compare(run, expected, offered, *make_kernel(native, offered.name),
            on_tensor_cores || kNarrowProducts.contains(call.name) || kChainsOfProducts.contains(call.name),
            kChainsOfProducts.contains(call.name));
    if (!on_tensor_cores) return;
  }
}

void compare_all_with_widened(DataType narrow) {
  for_each_instance([&](const Instance& instance) {
    Executor executor(instance, kSamples);
    executor.run(instance.given, false, [&](const Task& task, const Buffers& before) {
      for (const bool accumulate : {false, true}) {
        const KernelCall call = executor.call_of(task, accumulate);
        if (accumulate && std::none_of(call.operands.begin(), call.operands.end(),
                                       [](const OperandDesc& o) { return o.access == Access::update; }))
          continue;
        Buffers filled = before;
        for (size_t i = 0; i < call.operands.size(); ++i)  // finite, as a gradient that is accumulated
          if (call.operands[i].access == Access::update && task.operands[i].access == Access::write)
            filled.at(task.operands[i].tensor) = Buffer(filled.at(task.operands[i].tensor).size(), 0x3C);
        for_each_narrow_kernel(narrow, task, call, [&](const std::vector<OperandDesc>& operands) {
          INFO(task.name << ", " << task.kernel << " " << types_of(operands) << (accumulate ? ", accumulated" : ""));
          for (const bool training : {true, false}) {
            INFO((training ? "in training" : "in evaluation"));
            RunContext context = executor.context;
            context.training = training;
            compare_with_widened(task, call, operands, filled, context);
          }
        });
      }
    });
  });
}

}  // namespace

TEST_CASE("a kernel in bf16 gives the bytes of the kernel for f32 on widened operands") {
  compare_all_with_widened(DataType::bf16);
}

TEST_CASE("a kernel in f16 gives the bytes of the kernel for f32 on widened operands") {
#if defined(PLIMSOLL_CHANNELS_LAST_BACKEND)
  compare_all_with_widened(DataType::f16);
#else
  for (const std::string_view name : {"ReluForward", "BinaryAdd", "CastTo", "SoftmaxForward"})
    CHECK_FALSE(has_narrow_kernel(name, std::vector{read(f16({4})), read(f16({4})), write(f16({4}))}));
#endif
}

TEST_CASE("no kernel takes operands in bf16 and in f16, and no optimizer has state in f16") {
  CHECK(has_narrow_kernel("BinaryAdd", std::vector{read(bf16({4})), read(bf16({4})), write(bf16({4}))}));
  CHECK_FALSE(has_narrow_kernel("BinaryAdd", std::vector{read(bf16({4})), read(f16({4})), write(bf16({4}))}));
  CHECK_FALSE(has_narrow_kernel("BinaryAdd", std::vector{read(f16({4})), read(f16({4})), write(bf16({4}))}));
  const auto momentum = [](TensorDesc state) {
    return has_narrow_kernel("MomentumUpdate", std::vector{update(f32({4})), read(f32({4})), update(state)});
  };
  CHECK(momentum(bf16({4})));
  CHECK_FALSE(momentum(f16({4})));
}

#if !defined(PLIMSOLL_CHANNELS_LAST_BACKEND)
TEST_CASE("every kernel of real numbers has a form for bf16, except a few") {
  std::set<std::string> without, with;
  const auto look_at = [&](const Executor& executor, const Task& task) {
    const KernelCall call = executor.call_of(task, false);
    if (std::any_of(call.operands.begin(), call.operands.end(), is_f32)) without.insert(task.kernel);
    for_each_narrow_kernel(DataType::bf16, task, call,
                           [&](const std::vector<OperandDesc>&) { with.insert(task.kernel); });
  };
  for (const Op* op : all_ops()) {
    if (op->samples == nullptr) continue;
    for (const Sample& sample : op->samples()) {
      const Instance instance = make_instance(*op, sample);
      const Executor executor(instance, kSamples);
      for (const Task& task : instance.graph.tasks) look_at(executor, task);
    }
  }
  for (const std::string& name : with) without.erase(name);
  for (const std::string_view name : kInLibrary) without.erase(std::string(name));
  std::set<std::string> expected;
  for (const auto& [name, why] : kWithoutForm) expected.insert(std::string(name));
  CHECK(without == expected);
}
#endif

TEST_CASE("a trainer without kernels for a narrow type says so") {
  const auto required = [](auto check, DataType type) {
    try {
      check(type);
    } catch (const KernelError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string bf16 = "this build has no kernels for bf16 (PLIMSOLL_NARROW_TYPES)",
                    f16 = "this build has no kernels for f16 (PLIMSOLL_NARROW_TYPES)";
  CHECK(required(require_compiled<0>, DataType::bf16) == bf16);
  CHECK(required(require_compiled<0>, DataType::f16) == f16);
  CHECK(required(require_compiled<1>, DataType::bf16).empty());
  CHECK(required(require_compiled<1>, DataType::f16) == f16);
  CHECK(required(require_compiled<2>, DataType::bf16) == bf16);
  CHECK(required(require_compiled<2>, DataType::f16).empty());
  for (const DataType type : {DataType::f32, DataType::i64, DataType::bf16, DataType::f16})
    CHECK(required(require_compiled<>, type).empty());
  CHECK(required(require_compiled<0>, DataType::f32).empty());
}

TEST_CASE("f32 is rounded to the nearest bf16, and ties to the even one") {
  const auto rounded = [](uint32_t bits) { return narrowed(std::bit_cast<float>(bits)); };
  CHECK(rounded(0x3F800000) == 0x3F80);  // 1
  CHECK(rounded(0x3F807FFF) == 0x3F80);
  CHECK(rounded(0x3F808000) == 0x3F80);  // ties
  CHECK(rounded(0x3F818000) == 0x3F82);
  CHECK(rounded(0x3F808001) == 0x3F81);
  CHECK(rounded(0xBF818000) == 0xBF82);
  CHECK(rounded(0x80000000) == 0x8000);  // -0
  CHECK(rounded(0x00018000) == 0x0002);  // denormal
  CHECK(rounded(0x7F7FFFFF) == 0x7F80);  // beyond the largest
  CHECK(rounded(0xFF800000) == 0xFF80);  // -infinity
  for (const uint32_t nan : {0x7F800001U, 0x7FFFFFFFU, 0xFF800001U, 0xFFFFFFFFU, 0x7FC00000U}) {
    const float wide = widened(rounded(nan));
    CHECK(wide != wide);
  }
}

}  // namespace plimsoll::test
