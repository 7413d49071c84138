// Kernels by name, for programs that handle them as data (the profiler, tests) rather than as generated code. The
// library is generic over kernels.def; the backend that it is linked with provides the kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/kernel.h"

namespace plimsoll {

struct KernelAttribute {
  std::string name;
  std::variant<bool, int64_t, double, std::vector<int64_t>> value;
};

// A task's description of its kernel. Omitted attributes have their defaults.
struct KernelCall {
  std::string name;
  std::vector<KernelAttribute> attributes = {};
  std::vector<OperandDesc> operands = {};
};

// Like the functions of runtime/kernels.h. KernelError: no kernel of that name, an unknown attribute or one of another
// type, or anything that the backend does not support.
std::vector<Algorithm> algorithms_of(const KernelCall& call);
std::unique_ptr<Kernel> make_kernel(const KernelCall& call, std::string_view algorithm);
// For a KernelSet. `call` must outlive the result; its operands do not matter.
KernelMaker maker_of(const KernelCall& call);

// All names, in the order of kernels.def.
std::span<const std::string_view> kernel_names();

}  // namespace plimsoll
