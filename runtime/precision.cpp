#include "runtime/precision.h"

#include <algorithm>
#include <iterator>

namespace plimsoll {
namespace {

struct KernelFile {
  std::string_view name, file;
};

constexpr KernelFile kFiles[] = {
#define KERNEL(kernel, attributes, file) {#kernel, #file},
#include "runtime/attrs/kernels.def"
#undef KERNEL
};

bool is_widened(const OperandDesc& operand) {
  return operand.access != Access::absent && is_narrow(operand.tensor.type);
}

int64_t widened_bytes(const OperandDesc& operand) {
  return is_widened(operand) ? (4 * operand.tensor.padded_elements() + 255) / 256 * 256 : 0;
}

int64_t widened_bytes(std::span<const OperandDesc> operands) {
  int64_t bytes = 0;
  for (const OperandDesc& operand : operands) bytes += widened_bytes(operand);
  return bytes;
}

class WidenedKernel final : public Kernel {
 public:
  WidenedKernel(std::unique_ptr<Kernel> kernel, std::span<const OperandDesc> operands)
      : kernel_(std::move(kernel)), operands_(operands.begin(), operands.end()), addresses_(operands.size()) {}

  void run(const RunContext& context, std::byte* const* operands, std::byte* workspace) override {
    std::byte* free = workspace;
    for (size_t i = 0; i < operands_.size(); ++i) {
      const OperandDesc& operand = operands_[i];
      addresses_[i] = operands[i];
      if (!is_widened(operand)) continue;
      addresses_[i] = free;
      free += widened_bytes(operand);
      if (operand.access != Access::write)
        widen_elements(context, operand.tensor.type, operands[i], addresses_[i], operand.tensor.padded_elements());
    }
    kernel_->run(context, addresses_.data(), free);
    for (size_t i = 0; i < operands_.size(); ++i)
      if (is_widened(operands_[i]) && operands_[i].access != Access::read)
        narrow_elements(context, operands_[i].tensor.type, addresses_[i], operands[i],
                        operands_[i].tensor.padded_elements());
  }

  int64_t workspace_found() const override {
    const int64_t own = kernel_->workspace_found();
    return own < 0 ? -1 : own + widened_bytes(operands_);
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
  const std::vector<OperandDesc> operands_;
  std::vector<std::byte*> addresses_;  // of one run
};

}  // namespace

bool takes(const NarrowForm& form, std::span<const OperandDesc> operands) {
  const DataType narrow = narrow_type(operands);
  if (form.state && narrow != DataType::bf16) return false;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].access == Access::absent) continue;
    const bool reduced = is_narrow(operands[i].tensor.type);
    if (reduced && operands[i].tensor.type != narrow) return false;
    // What accumulates is f32: the gradient of a weight.
    if (!form.state && reduced && operands[i].access == Access::update) return false;
    const size_t bit = std::min<size_t>(i, 31);  // the last stands for all further slots, too
    if (((form.either >> bit) & 1) == 0 && reduced != (((form.reduced >> bit) & 1) != 0)) return false;
  }
  return true;
}

bool is_elementwise(std::string_view kernel) {
  constexpr std::string_view kElementwise[] = {"activation", "relu", "unary"};
  const auto found =
      std::find_if(std::begin(kFiles), std::end(kFiles), [&](const KernelFile& one) { return one.name == kernel; });
  return found != std::end(kFiles) &&
         std::find(std::begin(kElementwise), std::end(kElementwise), found->file) != std::end(kElementwise);
}

bool uses_narrow(std::span<const OperandDesc> operands) {
  return std::any_of(operands.begin(), operands.end(), is_widened);
}

DataType narrow_type(std::span<const OperandDesc> operands) {
  const auto found = std::find_if(operands.begin(), operands.end(), is_widened);
  return found == operands.end() ? DataType::f32 : found->tensor.type;
}

std::vector<OperandDesc> as_f32(std::span<const OperandDesc> operands) {
  std::vector<OperandDesc> all(operands.begin(), operands.end());
  for (OperandDesc& operand : all) {
    if (operand.tensor.type == DataType::i16)
      throw KernelError("no kernel updates a weight in two halves with these operands");
    if (is_widened(operand)) operand.tensor.type = DataType::f32;
  }
  return all;
}

std::vector<Algorithm> named_widened(std::vector<Algorithm> offered) {
  for (Algorithm& one : offered)
    one.name = one.name == Algorithm{}.name ? std::string(kWidened) : std::string(kWidened) + "_" + one.name;
  return offered;
}

std::vector<Algorithm> on_widened(std::vector<Algorithm> offered, std::span<const OperandDesc> operands) {
  for (Algorithm& one : offered) one.workspace_bytes += widened_bytes(operands);
  return named_widened(std::move(offered));
}

std::unique_ptr<Kernel> on_widened(std::unique_ptr<Kernel> kernel, std::span<const OperandDesc> operands) {
  return std::make_unique<WidenedKernel>(std::move(kernel), operands);
}

std::string_view without_widened(std::string_view algorithm) {
  algorithm.remove_prefix(kWidened.size());
  return algorithm.empty() ? std::string_view("default") : algorithm.substr(1);
}

std::vector<Algorithm> with_widened(std::string_view kernel, std::span<const OperandDesc> operands,
                                    const ListAlgorithms& narrow, const ListAlgorithms& widened) {
  if (!uses_narrow(operands)) return narrow();
  std::vector<Algorithm> all;
  if (has_narrow_kernel(kernel, operands)) {
    try {
      all = narrow();
      if (!may_be_slower_than_widened(kernel)) return all;
    } catch (const KernelError&) {
      // the library has f32 only
    }
  }
  const std::vector<Algorithm> more = widened();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<Algorithm> algorithms_in_any_precision(const KernelMaker& maker, std::span<const OperandDesc> operands) {
  const auto own = [&] { return maker.algorithms(maker.attrs, operands); };
  if (!uses_narrow(operands) || widens_itself(maker.name, operands)) return own();
  return with_widened(maker.name, operands, own,
                      [&] { return on_widened(maker.algorithms(maker.attrs, as_f32(operands)), operands); });
}

std::unique_ptr<Kernel> make_in_any_precision(const KernelMaker& maker, std::span<const OperandDesc> operands,
                                              std::string_view algorithm) {
  if (!uses_narrow(operands)) return maker.make(maker.attrs, operands, algorithm);
  const std::string named(algorithm.empty() ? algorithms_in_any_precision(maker, operands).front().name : algorithm);
  if (!named.starts_with(kWidened) || widens_itself(maker.name, operands))
    return maker.make(maker.attrs, operands, named);
  return on_widened(maker.make(maker.attrs, as_f32(operands), without_widened(named)), operands);
}

}  // namespace plimsoll
