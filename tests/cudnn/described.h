// The devices of runtime/profile/cuda/device-props, as cuDNN describes them.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "runtime/cuda/cudnn/device.h"

inline std::string contents(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

inline void describe(const std::string& device) {
  plimsoll::cudnn::use_described_device(contents(std::string(PLIMSOLL_DEVICE_PROPS "/") + device + ".json"));
}
