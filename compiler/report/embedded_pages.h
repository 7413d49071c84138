// The files of compiler/report/html/, embedded in the compiler by cmake/embed.cmake.
#pragma once

#include "compiler/support/embedded.h"

namespace plimsoll {

std::span<const EmbeddedFile> page_files();  // by path

}  // namespace plimsoll
