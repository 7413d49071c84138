// Kernels with narrow operands: in bf16 or f16. A backend has its own kernels for some of them. For all others, every
// narrow operand is widened to f32 in planned workspace, the kernel for f32 runs there, and results are rounded back.
// So each kernel works in every precision, with the same results as a kernel that reads and writes bf16 and computes in
// f32.
//
// Some kernels widen parts of their operands themselves, which takes less workspace.
//
//   workspace  | narrow operand 0 as f32 | narrow operand 1 as f32 | … | workspace of the kernel for f32 |
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>

#include "runtime/kernel.h"

namespace plimsoll {

// The prefix of an algorithm that works on widened operands.
inline constexpr std::string_view kWidened = "widened";

// --- defined by the backend ---

// Whether the backend may have kernels of this name for these operands, of which at least one is narrow. Building them
// may still fail (KernelError) if the library lacks the shape.
bool has_narrow_kernel(std::string_view kernel, std::span<const OperandDesc> operands);

// Whether a narrow kernel of this name may be slower than the kernel for f32 on widened operands. Then both are offered
// as algorithms.
bool may_be_slower_than_widened(std::string_view kernel);

// Whether the kernel of this name itself widens these operands, of which at least one is narrow: its algorithms() lists
// algorithms on narrow operands and then on widened ones, by with_widened(). So it may widen them in parts.
bool widens_itself(std::string_view kernel, std::span<const OperandDesc> operands);

// Elements in memory order, from or to bf16 or f16. On the context's stream; the host's are complete on return.
void widen_elements(const RunContext& context, DataType narrow, const std::byte* from, std::byte* to, int64_t elements);
void narrow_elements(const RunContext& context, DataType narrow, const std::byte* from, std::byte* to,
                     int64_t elements);

// --- common to all backends ---

// A kernel for bf16 or f16, with all narrow operands of one type: the slots whose operands must be narrow if they are
// present, as bits. Other operands are in f32 or of whole numbers, or may be either if `either` has their bit.
struct NarrowForm {
  std::string_view kernel;
  uint32_t reduced;
  uint32_t either = 0;
  bool in_library = false;  // the host has it only if oneDNN has bf16
  // Of an update: what is narrow is optimizer state in bf16, rounded at random (runtime/reduced_state.h), or the upper
  // half of a weight (runtime/split_weight.h), and then perhaps its gradient.
  bool state = false;
};

constexpr uint32_t slots(std::initializer_list<int> list) {
  uint32_t bits = 0;
  for (const int slot : list) bits |= 1U << slot;
  return bits;
}

bool takes(const NarrowForm& form, std::span<const OperandDesc> operands);

// Whether every backend defines the kernel of this name by a function of one element: {x, y} or {a, dy, dx}.
bool is_elementwise(std::string_view kernel);

bool uses_narrow(std::span<const OperandDesc> operands);
// Of the first narrow operand; f32: there is none.
DataType narrow_type(std::span<const OperandDesc> operands);
std::vector<OperandDesc> as_f32(std::span<const OperandDesc> operands);
// "direct" → "widened_direct", "default" → "widened"
std::vector<Algorithm> named_widened(std::vector<Algorithm> offered);
// `offered`: the algorithms for as_f32(operands).
std::vector<Algorithm> on_widened(std::vector<Algorithm> offered, std::span<const OperandDesc> operands);
// `kernel`: built for as_f32(operands).
std::unique_ptr<Kernel> on_widened(std::unique_ptr<Kernel> kernel, std::span<const OperandDesc> operands);
// "widened_direct" → "direct", "widened" → "default"
std::string_view without_widened(std::string_view algorithm);

// `narrow` and `widened` list the algorithms of both forms; `narrow` may throw a KernelError, if the library lacks the
// shape. The result has those that are to be measured.
using ListAlgorithms = std::function<std::vector<Algorithm>()>;
std::vector<Algorithm> with_widened(std::string_view kernel, std::span<const OperandDesc> operands,
                                    const ListAlgorithms& narrow, const ListAlgorithms& widened);

// The two functions of a kernel (KernelMaker) for operands of any precision.
std::vector<Algorithm> algorithms_in_any_precision(const KernelMaker& maker, std::span<const OperandDesc> operands);
std::unique_ptr<Kernel> make_in_any_precision(const KernelMaker& maker, std::span<const OperandDesc> operands,
                                              std::string_view algorithm);

}  // namespace plimsoll
