// The model as a file once more: what a generated trainer starts from and writes its trained weights into.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "compiler/support/status.h"

namespace plimsoll {

struct ModelFile;  // the ONNX model in memory, with its functions inlined and its merged initializers apart

// Bytes [offset, offset + bytes) of a file.
struct FileRange {
  int64_t offset = 0;
  int64_t bytes = 0;
  friend bool operator==(const FileRange&, const FileRange&) = default;
};

// Writes one self-contained .onnx with the data of every initializer inline, and says where in the file each lies
// (little-endian, row-major). Overwriting a range gives the same model with another weight, with no Protobuf at hand.
// Errors: unwritable_output; unsupported when the file would exceed the 2 GiB that Protobuf allows.
Result<std::map<std::string, FileRange>> write_model(const ModelFile& file, const std::string& path);

}  // namespace plimsoll
