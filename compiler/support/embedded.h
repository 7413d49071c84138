// A file of the source tree that is built into the compiler (cmake/embed.cmake), so that it is one binary.
#pragma once

#include <span>
#include <string_view>

namespace plimsoll {

struct EmbeddedFile {
  std::string_view path;  // from the root of the source tree: "runtime/host/ops/conv.cpp"
  std::string_view contents;
};

}  // namespace plimsoll
