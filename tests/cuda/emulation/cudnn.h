// The one question that the backend itself asks cuDNN.
#pragma once

#include <cstddef>

inline size_t cudnnGetVersion() { return 0; }
