// GatedProductForward {a, b, y}: y = g(a) · b
// GatedProductBackward {a, b, dy, da, db}: da = dy · b · g'(a), db = dy · g(a)
#include "runtime/host/elementwise.h"
#include "runtime/host/gates.h"
#include "runtime/kernels.h"

namespace plimsoll {
namespace {

// body(gate), for the activation in the attributes.
template <class Body>
std::unique_ptr<Kernel> by_gate(const GatedProductAttrs& attrs, Body body) {
  if (!attrs.gelu) return body(host::SwishGate{static_cast<float>(attrs.alpha)});
  if (attrs.by_tanh) return body(host::GeluTanhGate{});
  return body(host::GeluGate{});
}

// da and db may overwrite a, b or dy: each element is read before it is written. Gradients of parameters are
// accumulated.
template <class Gate>
std::unique_ptr<Kernel> gated_backward(std::span<const OperandDesc> operands, Gate gate) {
  const int64_t n = operands[0].tensor.padded_elements();
  const bool adds_a = operands[3].access == Access::update, adds_b = operands[4].access == Access::update;
  if (operands[0].tensor.type == DataType::bf16)
    return host::flat_kernel([=](const RunContext&, std::byte* const* operand) {
      const Bf16 *a = host::in<Bf16>(operand, 0), *b = host::in<Bf16>(operand, 1), *dy = host::in<Bf16>(operand, 2);
      Bf16 *da = host::out<Bf16>(operand, 3), *db = host::out<Bf16>(operand, 4);
      host::for_elements(n, [=](int64_t i) {
        const float x = a[i], other = b[i], slope = dy[i];
        if (da) da[i] = slope * other * gate.slope(x);
        if (db) db[i] = slope * gate.value(x);
      });
    });
  return host::flat_kernel([=](const RunContext&, std::byte* const* operand) {
    const float *a = host::in(operand, 0), *b = host::in(operand, 1), *dy = host::in(operand, 2);
    float *da = host::out(operand, 3), *db = host::out(operand, 4);
    if (da && db && !adds_a && !adds_b) {
      host::for_elements(n, [=](int64_t i) {
        const float x = a[i], other = b[i], slope = dy[i];
        da[i] = slope * other * gate.slope(x);
        db[i] = slope * gate.value(x);
      });
      return;
    }
    host::for_elements(n, [=](int64_t i) {
      const float x = a[i], other = b[i], slope = dy[i];
      if (da) da[i] = slope * other * gate.slope(x) + (adds_a ? da[i] : 0.0F);
      if (db) db[i] = slope * gate.value(x) + (adds_b ? db[i] : 0.0F);
    });
  });
}

}  // namespace

PLIMSOLL_ELEMENTWISE(GatedProductForward, {
  return by_gate(attrs,
                 [&](auto gate) { return host::map2(operands, [=](float a, float b) { return gate.value(a) * b; }); });
})

PLIMSOLL_ELEMENTWISE(GatedProductBackward,
                     return by_gate(attrs, [&](auto gate) { return gated_backward(operands, gate); });)

}  // namespace plimsoll
