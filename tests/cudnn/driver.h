// Engines of cuDNN 9.28 load their code when they are built. Without a driver, the toolkit's stub of it refuses that:
// what was listed of them stands, and no more can be known here.
#pragma once

#include <stdexcept>
#include <string_view>

// Whether build() came to its end: false where it wants a driver. Throws what it throws otherwise.
template <class Build>
bool built_without_driver(Build build) {
  try {
    build();
    return true;
  } catch (const std::runtime_error& error) {
    if (std::string_view(error.what()).find("CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER") == std::string_view::npos)
      throw;
    return false;
  }
}
