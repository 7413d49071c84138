// What the host's kernels of recurrent networks share.
//
// A step is a product of the state with r by oneDNN, then a loop over the state's elements. r is packed once.
#pragma once

#include <cstring>
#include <type_traits>

#include "runtime/host/flat_kernel.h"
#include "runtime/host/repeated_product.h"
#include "runtime/kernels.h"
#include "runtime/recurrent.h"

namespace plimsoll::host {

inline constexpr const char* kNoRecurrence = "oneDNN has no product for the steps of a recurrent network";

inline bool present(const OperandDesc& operand) { return operand.access != Access::absent; }

inline void copy_state(const float* from, float* to, int64_t elements) {
  if (to) std::memcpy(to, from, static_cast<size_t>(elements) * sizeof(float));
}

// body(first element of a row of states, of a row of gates), for `samples` rows.
template <class Body>
void for_states(const RecurrentShape& s, int64_t samples, Body body) {
#pragma omp parallel for schedule(static) firstprivate(body) if (samples * s.size > 2048)
  for (int64_t n = 0; n < samples; ++n) body(n * s.size, n * s.rows);
}

// For every sample of a step.
template <class Body>
void for_samples(const RecurrentShape& s, Body body) {
  for_states(s, s.samples, body);
}

// body(std::bool_constant), for a choice for which a loop is compiled both ways.
template <class Body>
void by_flag(bool flag, Body body) {
  flag ? body(std::true_type{}) : body(std::false_type{});
}

// Hands out parts of the workspace, on cache lines.
class Parts {
 public:
  explicit Parts(std::byte* workspace) : free_(workspace) {}
  float* take(int64_t floats) {
    float* const part = reinterpret_cast<float*>(free_);
    free_ += bytes_of(floats);
    return part;
  }
  std::byte* rest() const { return free_; }
  static int64_t bytes_of(int64_t floats) { return (floats * 4 + 63) / 64 * 64; }

 private:
  std::byte* free_;
};

template <class K>
std::vector<Algorithm> recurrent_algorithms(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands) {
  return made(kNoRecurrence,
              [&]() -> std::vector<Algorithm> { return {{.workspace_bytes = K(attrs, operands).workspace_bytes()}}; });
}

template <class K>
std::unique_ptr<Kernel> recurrent_kernel(const RecurrentAttrs& attrs, std::span<const OperandDesc> operands) {
  return made(kNoRecurrence, [&]() -> std::unique_ptr<Kernel> { return std::make_unique<K>(attrs, operands); });
}

}  // namespace plimsoll::host

// The two functions of a kernel, from its class.
#define PLIMSOLL_RECURRENT(name)                                                                                    \
  std::vector<Algorithm> name::algorithms(const Attrs& attrs, std::span<const OperandDesc> operands) {              \
    return host::recurrent_algorithms<name##Kernel>(attrs, operands);                                               \
  }                                                                                                                 \
  std::unique_ptr<Kernel> name::make(const Attrs& attrs, std::span<const OperandDesc> operands, std::string_view) { \
    return host::recurrent_kernel<name##Kernel>(attrs, operands);                                                   \
  }
