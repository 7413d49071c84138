// Initial weights from a counter: element i of a tensor depends on the seed, the tensor's name and i alone, so tensors
// can be written in any order and in pieces. Integer arithmetic and one multiplication: the same bits on every machine.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace plimsoll {

uint64_t weight_key(uint64_t seed, std::string_view tensor);

// Elements [first, first + out.size()) of the tensor with `key`: mean 0, standard deviation `deviation`, normal but for
// its tails, which end at 4.9 deviations (the sum of eight uniform numbers).
void fill_normal(std::span<float> out, uint64_t key, int64_t first, double deviation);

}  // namespace plimsoll
