// Kernels by name: for those who meet them as data (the profiler, tests), not as generated code. The library is generic
// over kernels.def; which backend it speaks for is decided by what it is linked with.
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

// What a task says of its kernel. Attributes that are left out have their defaults.
struct KernelCall {
  std::string name;
  std::vector<KernelAttribute> attributes = {};
  std::vector<OperandDesc> operands = {};
};

// As the functions of runtime/kernels.h. KernelError: no kernel of that name, an attribute it does not have or of
// another type, or whatever the backend cannot do.
std::vector<Algorithm> algorithms_of(const KernelCall& call);
std::unique_ptr<Kernel> make_kernel(const KernelCall& call, std::string_view algorithm);

// All names, in the order of kernels.def.
std::span<const std::string_view> kernel_names();

}  // namespace plimsoll
