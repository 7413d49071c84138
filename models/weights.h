// Initial weights from a counter-based generator: element i of a tensor depends only on the seed, the tensor's name and
// i, so tensors can be written in any order and in pieces. It uses integer arithmetic and one multiplication, so the
// bits are the same on every machine.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace plimsoll {

uint64_t weight_key(uint64_t seed, std::string_view tensor);

// Elements [first, first + out.size()) of the tensor with `key`: mean 0, standard deviation `deviation`, normal except
// for the tails, which end at 4.9 deviations (the sum of eight uniform numbers).
void fill_normal(std::span<float> out, uint64_t key, int64_t first, double deviation);

}  // namespace plimsoll
