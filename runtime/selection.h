// The operand of a kernel whose integers select rows, elements or classes, and the range that they must be in. For an
// integer out of range, kernels access no memory, and their results show it: NaN or the smallest integer. With the
// range, the trainer can name the integer (runtime/train/diagnose.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/kernel.h"

namespace plimsoll {

struct Selection {
  size_t slot;
  int64_t first, last;
  bool of_classes = false;  // labels: negative ones, which do not count, are allowed
  int64_t ignored = -1;     // of_classes: also allowed

  bool allows(int64_t number) const {
    return (number >= first && number <= last) || (of_classes && (number < 0 || number == ignored));
  }
};

// nullopt: the kernel has no such operand.
std::optional<Selection> selection_of(const KernelMaker& maker, std::span<const OperandDesc> operands);

}  // namespace plimsoll
