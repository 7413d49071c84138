// The declarations of all kernels, from kernels.def. A backend defines the two functions of each.
#pragma once

#include "runtime/attrs/all.h"
#include "runtime/kernel.h"

namespace plimsoll {

// algorithms(): what this backend offers, the default first; never empty, or a KernelError says why.
// make():       builds the kernel for one of them ("" means the default).
#define KERNEL(kernel, attributes, file)                                                                  \
  struct kernel {                                                                                         \
    using Attrs = attributes;                                                                             \
    static std::vector<Algorithm> algorithms(const Attrs& attrs, std::span<const OperandDesc> operands);  \
    static std::unique_ptr<Kernel> make(const Attrs& attrs, std::span<const OperandDesc> operands,        \
                                        std::string_view algorithm);                                      \
  };
#include "runtime/attrs/kernels.def"
#undef KERNEL

}  // namespace plimsoll
