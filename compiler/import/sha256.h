// SHA-256 (FIPS 180-4) in hexadecimal.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's

namespace plimsoll {

std::string sha256_hex(std::string_view bytes);

// For bytes that arrive in pieces.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  std::string hex();  // call once, after the last piece

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

}  // namespace plimsoll
