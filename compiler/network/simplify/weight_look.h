// What is asked of the numbers of a weight before anybody reads them, found in one pass and piece by piece: a plan needs no more of them,
// and they are most of what a model is.
#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll {

class WeightLook {
 public:
  // Of 32-bit floats, whole ones.
  void add(std::string_view piece);

  int64_t bad() const { return bad_; }  // infinite or not a number
  // Zeros, and something that a softmax makes zero: added to scores. A buffer of a module, which ONNX does not tell from a parameter.
  bool is_additive_mask() const { return may_mask_ && masks_; }

 private:
  void look_at(float value);

  int64_t bad_ = 0;
  bool may_mask_ = true, masks_ = false;
};

}  // namespace plimsoll
