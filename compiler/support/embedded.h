// A file of the source tree, embedded in the compiler by cmake/embed.cmake so that it is a single binary.
#pragma once

#include <span>
#include <string_view>

namespace plimsoll {

struct EmbeddedFile {
  std::string_view path;  // relative to the root of the source tree: "runtime/host/ops/conv.cpp"
  std::string_view contents;
};

}  // namespace plimsoll
