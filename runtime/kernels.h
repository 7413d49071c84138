// The declarations of all kernels, from kernels.def. A backend defines two functions for each.
#pragma once

#include "runtime/attrs/all.h"
#include "runtime/kernel.h"

namespace plimsoll {

// algorithms(): what this backend offers, the default first; never empty: if there is none, a KernelError gives the
// reason.
// make():       builds the kernel with one of them ("" means the default).
#define KERNEL(kernel, attributes, file)                                                                  \
  struct kernel {                                                                                         \
    using Attrs = attributes;                                                                             \
    static constexpr std::string_view kName = #kernel;                                                    \
    static std::vector<Algorithm> algorithms(const Attrs& attrs, std::span<const OperandDesc> operands);  \
    static std::unique_ptr<Kernel> make(const Attrs& attrs, std::span<const OperandDesc> operands,        \
                                        std::string_view algorithm);                                      \
  };
#include "runtime/attrs/kernels.def"
#undef KERNEL

}  // namespace plimsoll
