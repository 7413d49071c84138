// The sizes of scaled dot-product attention, as its kernels see them on every backend.
//   q [N, H, T, D], k [N, G, S, D], v [N, G, S, E], mask broadcast to [N, H, T, S]; H is a multiple of G
//   q [H, T, D], k [H, S, D], v [H, S, E], mask broadcast to [H, T, S]; the heads of all samples, here of one
#pragma once

#include "runtime/attrs/attention.h"
#include "runtime/kernel.h"

namespace plimsoll {

struct AttentionShape {
  int64_t samples = 0, heads = 0, key_heads = 0, queries = 0, keys = 0, size = 0, value_size = 0;
  float scale = 1;
  int64_t left = -1, right = -1;  // AttentionAttrs
  bool turned = false;            // the backward reads y as [N, T, H, E]
  bool additive = false;          // the mask is added to the scores; false: a 0 hides a key
  DataType mask_type = DataType::f32;  // of an additive mask
  int64_t mask_strides[4] = {};  // in elements; 0 along an axis that is broadcast

  AttentionShape(const AttentionAttrs& attrs, const TensorDesc& q, const TensorDesc& k, const TensorDesc& v,
                 const OperandDesc& mask)
      : samples(q.rank() == 4 ? q.dim(0) : 1),
        heads(q.dim(q.rank() - 3)),
        key_heads(k.dim(k.rank() - 3)),
        queries(q.dim(q.rank() - 2)),
        keys(k.dim(k.rank() - 2)),
        size(q.dim(q.rank() - 1)),
        value_size(v.dim(v.rank() - 1)),
        scale(static_cast<float>(attrs.scale)),
        left(attrs.left),
        right(attrs.right),
        turned(attrs.turned) {
    if (mask.access == Access::absent) return;
    additive = is_real(mask.tensor.type);
    mask_type = mask.tensor.type;
    int64_t stride = 1;
    for (size_t axis = 4, of_mask = mask.tensor.rank(); axis-- > 0 && of_mask-- > 0;) {
      mask_strides[axis] = mask.tensor.dim(of_mask) == 1 ? 0 : stride;
      stride *= mask.tensor.dim(of_mask);
    }
  }

  int64_t rows() const { return samples * heads * queries; }
  // The row of the backward's y that has the results of query i of dy.
  int64_t row_of_y(int64_t i) const {
    if (!turned) return i;
    const int64_t query = i % queries, head = i / queries % heads, sample = i / queries / heads;
    return (sample * queries + query) * heads + head;
  }
  int64_t scores() const { return rows() * keys; }
};

}  // namespace plimsoll
