// NumPy's .npy files: one array, no objects. https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <string>

#include "runtime/attrs/tensor.h"
#include "runtime/train/file.h"

namespace plimsoll::train {

struct NpyHeader {
  TensorDesc desc;
  int64_t data_offset = 0;
  int64_t width = 0;     // bytes of an element in the file
  bool boolean = false;  // NumPy's bool: a byte of 0 or 1, described as uint8
};

// Accepts versions 1 to 3, C order, and little-endian float32, int32, int64, uint8 and bool. The file's size must match
// its header. `shorts`: also accepts uint16, described as int32. Throws TrainerError (unreadable_input) that says what
// was found.
NpyHeader read_npy_header(const InputFile& file, bool shorts = false);

// The header of a float32 array in C order; a multiple of 64 bytes.
std::string npy_header(const IntList& dims);

}  // namespace plimsoll::train
