// The device descriptions of runtime/profile/cuda/device-props/, embedded in the profiler.
#pragma once

#include <span>
#include <string_view>

namespace plimsoll {

struct EmbeddedFile {
  std::string_view path, contents;
};

std::span<const EmbeddedFile> device_props_files();

}  // namespace plimsoll
