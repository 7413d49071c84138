// Squares of elements, transposed in registers: as many rows as a row has elements.
#pragma once

#include <cstdint>
#include <cstring>

namespace plimsoll::host {

// T has two or four bytes; a row is a vector of 32 bytes.
template <class T>
class Square {
 public:
  static constexpr int kSize = 32 / sizeof(T);
  typedef T Row __attribute__((vector_size(32)));

  // The rows are `step` elements apart.
  void load(const T* from, int64_t step) {
#pragma GCC unroll 16
    for (int i = 0; i < kSize; ++i) std::memcpy(&rows_[i], from + i * step, sizeof(Row));
  }
  Row& row(int i) { return rows_[i]; }

  // Rows i and i + n/2 are interleaved, and become rows 2i and 2i + 1: log2(n) times.
  void transpose() {
#pragma GCC unroll 4
    for (int width = 1; width < kSize; width *= 2) {
      Row before[kSize];
#pragma GCC unroll 16
      for (int i = 0; i < kSize; ++i) before[i] = rows_[i];
#pragma GCC unroll 8
      for (int i = 0; i < kSize / 2; ++i) {
        rows_[2 * i] = lower(before[i], before[i + kSize / 2]);
        rows_[2 * i + 1] = upper(before[i], before[i + kSize / 2]);
      }
    }
  }

 private:
#if __has_builtin(__builtin_shufflevector)
  static Row lower(const Row& a, const Row& b) {
    if constexpr (kSize == 16)
      return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    else return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  }
  static Row upper(const Row& a, const Row& b) {
    if constexpr (kSize == 16)
      return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    else return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  }
#else
  static Row interleaved(const Row& a, const Row& b, int first) {
    Row made;
    for (int i = 0; i < kSize / 2; ++i) {
      made[2 * i] = a[first + i];
      made[2 * i + 1] = b[first + i];
    }
    return made;
  }
  static Row lower(const Row& a, const Row& b) { return interleaved(a, b, 0); }
  static Row upper(const Row& a, const Row& b) { return interleaved(a, b, kSize / 2); }
#endif

  Row rows_[kSize];
};

}  // namespace plimsoll::host
