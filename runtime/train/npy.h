// NumPy's .npy files: one array, no objects. https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <string>

#include "runtime/attrs/tensor.h"
#include "runtime/train/file.h"

namespace plimsoll::train {

struct NpyHeader {
  TensorDesc desc;
  int64_t data_offset = 0;
  int64_t width = 0;  // bytes of an element in the file
};

// Accepts versions 1 to 3, C order, float32, int32, int64 and uint8 in little endian; the file must be as long as its
// header says. With `shorts` uint16 too, whose description is of int32. Throws TrainerError (unreadable_input), saying what
// else was found.
NpyHeader read_npy_header(const InputFile& file, bool shorts = false);

// What stands before the data of a float32 array in C order; a multiple of 64 bytes.
std::string npy_header(const IntList& dims);

}  // namespace plimsoll::train
