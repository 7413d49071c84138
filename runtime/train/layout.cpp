#include "runtime/train/layout.h"

#include <algorithm>

namespace plimsoll::train {
namespace {

// A blocked layout: the axes that are split into blocks, with block sizes, the innermost last. Outer axes keep their
// order.
//   OIhw16i16o:  [O/16][I/16][h][w][16 i][16 o]
struct Blocks {
  int64_t size = 1;
  int32_t count = 0;
  size_t axes[2] = {};
};

// Ohwi8o keeps i innermost except for the block; nhwc has no block.
struct Scheme {
  Blocks blocks;
  bool second_axis_last = false;  // [O/8][h][w][I][8 o]
};

Scheme scheme_of(Layout layout) {
  switch (layout) {
    case Layout::plain: return {};
    case Layout::nChw8c: return {.blocks = {8, 1, {1}}};
    case Layout::nChw16c: return {.blocks = {16, 1, {1}}};
    case Layout::OIhw8i8o: return {.blocks = {8, 2, {1, 0}}};
    case Layout::OIhw16i16o: return {.blocks = {16, 2, {1, 0}}};
    case Layout::Ohwi8o: return {.blocks = {8, 1, {0}}, .second_axis_last = true};
    case Layout::Ohwi16o: return {.blocks = {16, 1, {0}}, .second_axis_last = true};
    case Layout::Goihw8g: return {.blocks = {8, 1, {0}}};
    case Layout::Goihw16g: return {.blocks = {16, 1, {0}}};
    case Layout::nhwc: return {.blocks = {}, .second_axis_last = true};
  }
  return {};
}

int64_t offset_in(const Scheme& scheme, const TensorDesc& desc, const int64_t* index) {
  const size_t rank = desc.rank();
  const auto blocked = [&](size_t axis) {
    return std::find(scheme.blocks.axes, scheme.blocks.axes + scheme.blocks.count, axis) !=
           scheme.blocks.axes + scheme.blocks.count;
  };
  int64_t offset = 0;
  const auto outer = [&](size_t axis) {
    const int64_t size = blocked(axis) ? scheme.blocks.size : 1;
    offset = offset * ((desc.dim(axis) + size - 1) / size) + index[axis] / size;
  };
  for (size_t axis = 0; axis < rank; ++axis)
    if (!(scheme.second_axis_last && axis == 1)) outer(axis);
  if (scheme.second_axis_last) outer(1);
  for (int32_t i = 0; i < scheme.blocks.count; ++i)
    offset = offset * scheme.blocks.size + index[scheme.blocks.axes[i]] % scheme.blocks.size;
  return offset;
}

// Calls visit(plain offset, blocked offset) for every element, in plain order.
template <class Visit>
void for_each_element(const TensorDesc& desc, Visit visit) {
  const Scheme scheme = scheme_of(desc.layout);
  int64_t index[kMaxRank] = {};
  for (int64_t plain = 0; plain < desc.elements(); ++plain) {
    visit(plain, offset_in(scheme, desc, index));
    for (size_t axis = desc.rank(); axis-- > 0;) {
      if (++index[axis] < desc.dim(axis)) break;
      index[axis] = 0;
    }
  }
}

}  // namespace

int64_t element_offset(const TensorDesc& desc, const int64_t* index) {
  return offset_in(scheme_of(desc.layout), desc, index);
}

void to_blocked(const TensorDesc& desc, const float* plain, float* blocked) {
  if (desc.layout == Layout::plain) {
    std::copy(plain, plain + desc.elements(), blocked);
    return;
  }
  std::fill(blocked, blocked + desc.padded_elements(), 0.0f);
  for_each_element(desc, [&](int64_t at, int64_t to) { blocked[to] = plain[at]; });
}

void to_plain(const TensorDesc& desc, const float* blocked, float* plain) {
  if (desc.layout == Layout::plain) {
    std::copy(blocked, blocked + desc.elements(), plain);
    return;
  }
  for_each_element(desc, [&](int64_t at, int64_t from) { plain[at] = blocked[from]; });
}

}  // namespace plimsoll::train
