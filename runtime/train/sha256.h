// SHA-256 (FIPS 180-4), incremental, so that `sha256sum -c` can check checkpoints.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace plimsoll::train {

class Sha256 {
 public:
  void add(const std::byte* from, int64_t bytes);
  std::string hex();  // the final sum; nothing may be added afterwards

 private:
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_ = {};
  size_t filled_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace plimsoll::train
