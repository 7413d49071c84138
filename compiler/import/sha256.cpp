#include "compiler/import/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "compiler/support/status.h"

namespace plimsoll {

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  PLIMSOLL_CHECK(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1,
                 "the library has no SHA-256");
}

void Sha256::add(std::string_view bytes) {
  PLIMSOLL_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "the library's SHA-256 failed");
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned length = 0;
  PLIMSOLL_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &length) == 1, "the library's SHA-256 failed");
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.hex();
}

}  // namespace plimsoll
