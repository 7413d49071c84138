// Properties of a weight's elements that are needed before training, found in one pass, piece by piece. A plan needs
// nothing else of the elements, which are most of a model's bytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll {

class WeightLook {
 public:
  // Whole 32-bit floats.
  void add(std::string_view piece);

  int64_t bad() const { return bad_; }  // infinite or NaN
  // Zeros, and values that a softmax turns into zero: an additive mask on scores. It is a buffer of a module, which
  // ONNX does not distinguish from a parameter.
  bool is_additive_mask() const { return may_mask_ && masks_; }

 private:
  void look_at(float value);

  int64_t bad_ = 0;
  bool may_mask_ = true, masks_ = false;
};

}  // namespace plimsoll
