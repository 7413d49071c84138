#include "compiler/import/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "compiler/support/status.h"

namespace plimsoll {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned length = 0;
  PLIMSOLL_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) == 1,
                 "the library has no SHA-256");
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace plimsoll
