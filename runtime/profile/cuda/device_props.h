// The descriptions of devices in runtime/profile/cuda/device-props/, inside the profiler.
#pragma once

#include <span>
#include <string_view>

namespace plimsoll {

struct EmbeddedFile {
  std::string_view path, contents;
};

std::span<const EmbeddedFile> device_props_files();

}  // namespace plimsoll
