// The runtime's sources, held inside the compiler. Made by cmake/embed.cmake.
#pragma once

#include <string_view>

#include "compiler/support/embedded.h"

namespace plimsoll {

std::span<const EmbeddedFile> carried_files();  // by path

// A hash of those that are compiled. The runtime library defines plimsoll_runtime_STAMP.
std::string_view runtime_stamp();

}  // namespace plimsoll
