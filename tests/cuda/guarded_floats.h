// Operands of real numbers in guarded memory, and a run of a kernel on them.
#pragma once

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

#include "executor.h"
#include "runtime/attrs/bf16.h"
#include "runtime/attrs/f16.h"
#include "runtime/backend.h"
#include "runtime/kernels.h"

namespace plimsoll::test {

class Guarded {
 public:
  int64_t count() const { return count_; }
  std::byte* data() { return buffer_.data(); }
  bool guards_intact() const { return buffer_.guards_intact(); }

 protected:
  Guarded(int64_t count, int64_t bytes) : count_(count), buffer_(bytes) {}

 private:
  int64_t count_;
  Buffer buffer_;
};

// `middle` everywhere, or sines of `step` around it.
class GuardedFloats : public Guarded {
 public:
  explicit GuardedFloats(int64_t count, float step = 0, float middle = 0) : Guarded(count, 4 * count) {
    for (int64_t i = 0; i < count; ++i)
      at(i) = step == 0 ? middle : middle + std::sin(step * static_cast<float>(i + 1));
  }
  float& at(int64_t i) { return reinterpret_cast<float*>(data())[i]; }
};

// T: Bf16 or F16.
template <class T>
class GuardedNarrow : public Guarded {
 public:
  explicit GuardedNarrow(int64_t count) : Guarded(count, 2 * count) {}
  // The nearest values; `floats` then holds those, too.
  explicit GuardedNarrow(GuardedFloats& floats) : GuardedNarrow(floats.count()) {
    for (int64_t i = 0; i < count(); ++i) {
      at(i) = floats.at(i);
      floats.at(i) = at(i);
    }
  }
  T& at(int64_t i) { return reinterpret_cast<T*>(data())[i]; }
};

// Requires that nothing outside the operands and the workspace, which begins with NaN, is written.
template <class K>
void run_on(const typename K::Attrs& attrs, const std::vector<OperandDesc>& operands,
            const std::vector<Guarded*>& values, std::string_view algorithm = "") {
  std::vector<std::byte*> addresses;  // null: the operand is absent
  for (Guarded* const one : values) addresses.push_back(one ? one->data() : nullptr);
  Buffer workspace(K::algorithms(attrs, operands).front().workspace_bytes);
  K::make(attrs, operands, algorithm)->run({}, addresses.data(), workspace.data());
  backend::finish(nullptr);
  for (Guarded* const one : values)
    if (one) CHECK(one->guards_intact());
  CHECK(workspace.guards_intact());
}

}  // namespace plimsoll::test
