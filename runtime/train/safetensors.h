// Tensors in a file that other tools read: https://github.com/huggingface/safetensors#format
//
//   8 bytes: length of the header, little endian | header, JSON | the tensors' bytes, one after the other
//
// As the format requires, the tensors must fill the file without gaps or overlaps.
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

// The header of a file with these tensors, in this order. Sets their offsets.
std::string safetensors_header(Safetensors& file);

// Throws TrainerError (unreadable_input) that says what is wrong with the file.
Safetensors read_safetensors(const InputFile& file);

// The name as it stands in the header. ONNX names may have bytes that are not UTF-8; they become U+FFFD.
std::string utf8_name(const std::string& name);

}  // namespace plimsoll::train
