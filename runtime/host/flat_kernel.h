// Kernels that are one parallel loop over memory and need no workspace: activations, sums, optimizer updates.
#pragma once

#include <utility>

#include "runtime/kernel.h"

namespace plimsoll::host {

// Runs `body(context, operands)`; the body captures the attributes and sizes that it needs.
template <class Body>
class FlatKernel final : public Kernel {
 public:
  explicit FlatKernel(Body body) : body_(std::move(body)) {}
  void run(const RunContext& context, std::byte* const* operands, std::byte*) override { body_(context, operands); }

 private:
  Body body_;
};

template <class Body>
std::unique_ptr<Kernel> flat_kernel(Body body) {
  return std::make_unique<FlatKernel<Body>>(std::move(body));
}

// for_elements(n, [=](int64_t i) { … }): each element is computed by one thread, the same one on every run. Each thread
// has a copy of the captures: if threads shared them, the compiler would have to assume that stores change them, and
// could not vectorize the loop. `operations`: of an element; several threads share the loop if it is worth it.
template <class Body>
inline void for_elements(int64_t n, Body body, int64_t operations = 1) {
#pragma omp parallel for simd schedule(static) firstprivate(body) if (n * operations > 16384)
  for (int64_t i = 0; i < n; ++i) body(i);
}

// in(operands, 0): an operand in f32; in<Bf16>(operands, 0): one in bf16.
template <class T = float>
const T* in(std::byte* const* operands, size_t slot) {
  return reinterpret_cast<const T*>(operands[slot]);
}
template <class T = float>
T* out(std::byte* const* operands, size_t slot) {
  return reinterpret_cast<T*>(operands[slot]);
}

}  // namespace plimsoll::host
