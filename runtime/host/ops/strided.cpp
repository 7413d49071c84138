// Slice {x, y}   SliceBackward {dy, dx}   Transpose {x, y}: the same elements, traversed with other strides. Plain
// layouts. bf16 is moved as a number of the same width, or converted if the other tensor of a slice is f32 (rows of a
// table); only f32 accumulates.
#include "runtime/host/flat_kernel.h"
#include "runtime/host/moved.h"
#include "runtime/host/real.h"
#include "runtime/kernels.h"
#include "runtime/loops.h"

namespace plimsoll {
namespace {

std::vector<int64_t> strides_of(const TensorDesc& desc) {
  std::vector<int64_t> strides(desc.rank(), 1);
  for (size_t i = desc.rank(); i-- > 1;) strides[i - 1] = strides[i] * desc.dim(i);
  return strides;
}

// The part of `whole` that a slice selects: loops over the slice, with its strides and those of the whole.
struct Window {
  Loops<2> loops;  // part, whole
  int64_t start = 0;     // in the whole
  int64_t elements;      // of the whole

  Window(const SliceAttrs& attrs, const TensorDesc& part, const TensorDesc& whole) : elements(whole.elements()) {
    const std::vector<int64_t> inner = strides_of(part), outer = strides_of(whole);
    loops.around(1, {1, 1});
    for (size_t axis = part.rank(); axis-- > 0;) {
      loops.around(part.dim(axis), {inner[axis], outer[axis] * attrs.steps[axis]});
      start += attrs.starts[axis] * outer[axis];
    }
  }
};

class TransposeKernel final : public Kernel {
 public:
  TransposeKernel(const TransposeAttrs& attrs, std::span<const OperandDesc> operands)
      : accumulates_(operands[1].access == Access::update),
        halves_(operands[0].tensor.type == DataType::bf16),
        moved_(loops_of(attrs, operands[0].tensor, operands[1].tensor)) {}

  void run(const RunContext&, std::byte* const* operands, std::byte*) override {
    if (halves_) moved_.run<false>(host::out<uint16_t>(operands, 1), host::in<uint16_t>(operands, 0));
    else if (accumulates_) moved_.run<true>(host::out(operands, 1), host::in(operands, 0));
    else moved_.run<false>(host::out(operands, 1), host::in(operands, 0));
  }

 private:
  static Loops<2> loops_of(const TransposeAttrs& attrs, const TensorDesc& x, const TensorDesc& y) {
    const std::vector<int64_t> from = strides_of(x), to = strides_of(y);
    const int64_t words = bytes_of(x.type) / (x.type == DataType::bf16 ? 2 : 4);  // moved without interpretation
    Loops<2> loops;
    loops.around(words, {1, 1});
    for (size_t axis = y.rank(); axis-- > 0;)
      loops.around(y.dim(axis), {words * to[axis], words * from[static_cast<size_t>(attrs.perm[axis])]});
    return loops;
  }

  bool accumulates_, halves_;
  host::Moved moved_;
};

// body(to, from): elements of operand 0 become those of operand 1.
template <class Body>
std::unique_ptr<Kernel> moved(std::span<const OperandDesc> operands, Body body) {
  const auto kernel = [&](auto from, auto to) -> std::unique_ptr<Kernel> {
    return host::flat_kernel([body](const RunContext&, std::byte* const* operand) {
      body(host::out<decltype(to)>(operand, 1), host::in<decltype(from)>(operand, 0));
    });
  };
  const DataType from = operands[0].tensor.type, to = operands[1].tensor.type;
  if (from == to) return from == DataType::bf16 ? kernel(uint16_t{}, uint16_t{}) : kernel(float{}, float{});
  return from == DataType::bf16 ? kernel(Bf16{}, float{}) : kernel(float{}, Bf16{});
}

}  // namespace

std::vector<Algorithm> Slice::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> Slice::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  const Window window(attrs, operands[1].tensor, operands[0].tensor);
  return moved(operands,
               [window](auto* to, const auto* from) { host::copy<false>(window.loops, to, from + window.start); });
}

std::vector<Algorithm> SliceBackward::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> SliceBackward::make(const Attrs& attrs, std::span<const OperandDesc> operands,
                                            std::string_view) {
  Window window(attrs, operands[0].tensor, operands[1].tensor);
  std::swap(window.loops.strides[0], window.loops.strides[1]);
  const bool accumulates = operands[1].access == Access::update;
  if (accumulates)
    return host::by_real(operands[0].tensor.type, [&](auto zero) -> std::unique_ptr<Kernel> {
      return host::flat_kernel([window](const RunContext&, std::byte* const* operand) {
        host::copy<true>(window.loops, host::out(operand, 1) + window.start, host::in<decltype(zero)>(operand, 0));
      });
    });
  return moved(operands, [window](auto* dx, const auto* dy) {
    host::for_elements(window.elements, [=](int64_t i) { dx[i] = {}; });
    host::copy<false>(window.loops, dx + window.start, dy);
  });
}

std::vector<Algorithm> Transpose::algorithms(const Attrs&, std::span<const OperandDesc>) { return {{}}; }

std::unique_ptr<Kernel> Transpose::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) {
  return std::make_unique<TransposeKernel>(attrs, operands);
}

}  // namespace plimsoll
