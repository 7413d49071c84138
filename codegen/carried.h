// The runtime's sources, held inside the compiler so that it is one binary. Made by cmake/embed.cmake.
#pragma once

#include <span>
#include <string_view>

namespace plimsoll {

struct CarriedFile {
  std::string_view path;  // "runtime/host/ops/conv.cpp"
  std::string_view contents;
};

std::span<const CarriedFile> carried_files();  // by path

}  // namespace plimsoll
