// Tensors in a file that other tools read: https://github.com/huggingface/safetensors#format
//
//   8 bytes: length of the header, little endian | header, JSON | the tensors' bytes, one behind the other
//
// What is asked of a file is what the format asks: the tensors fill it without holes and without overlap.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/attrs/tensor.h"
#include "runtime/train/file.h"

namespace plimsoll::train {

struct StoredTensor {
  std::string name;
  TensorDesc desc;     // plain layout
  int64_t offset = 0;  // of its first byte in the file
};

struct Safetensors {
  std::map<std::string, std::string> metadata = {};
  std::vector<StoredTensor> tensors = {};  // in the order of their bytes
};

// The first bytes of a file with these tensors, in this order; sets their offsets.
std::string safetensors_header(Safetensors& file);

// Throws TrainerError (unreadable_input), saying what is wrong with the file.
Safetensors read_safetensors(const InputFile& file);

// The name as the header holds it: bytes that are not UTF-8, which ONNX files may have in names, become U+FFFD.
std::string utf8_name(const std::string& name);

}  // namespace plimsoll::train
