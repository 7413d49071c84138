// Weights stored outside the .onnx file. Models may be malicious, so their references are not trusted: a path must be
// relative, stay in the model's directory, contain no symbolic link, and name a regular file with one hard link; the
// bytes must lie inside the file.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "compiler/support/status.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

// The directory of a model and its open files.
class ModelDirectory {
 public:
  explicit ModelDirectory(std::string model_path);
  ~ModelDirectory();
  ModelDirectory(const ModelDirectory&) = delete;
  ModelDirectory& operator=(const ModelDirectory&) = delete;

  // The `bytes` bytes that tensor.external_data() refers to. `who` is for errors: "initializer 'conv1.weight'". Errors:
  // invalid_model, if a reference violates a rule above; unreadable_input, if the file does not exist.
  Result<std::string> read(const onnx::TensorProto& tensor, int64_t bytes, const std::string& who);
  // Reads the same bytes in pieces without keeping them; each piece except the last is a multiple of a megabyte.
  Status pass_over(const onnx::TensorProto& tensor, int64_t bytes, const std::string& who,
                   const std::function<void(std::string_view)>& look);

 private:
  struct OpenFile {
    int descriptor = -1;
    int64_t bytes = 0;
    int64_t handed_out = 0;
  };
  Result<OpenFile> open(const std::string& location, const std::string& who);

  std::string path_;
  std::string piece_ = {};
  std::map<std::string, OpenFile> files_ = {};
};

}  // namespace plimsoll
