// Weights that lie beside the model. The model comes from anywhere, so its references are not trusted: they are
// relative, stay in the model's directory, pass no symbolic link, name a regular file with one link, and lie inside it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "compiler/support/status.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

// The directory of a model and the files of it that are open.
class ModelDirectory {
 public:
  explicit ModelDirectory(std::string model_path);
  ~ModelDirectory();
  ModelDirectory(const ModelDirectory&) = delete;
  ModelDirectory& operator=(const ModelDirectory&) = delete;

  // The `bytes` bytes that tensor.external_data() refers to. `who` is for errors: "initializer 'conv1.weight'".
  // Errors: invalid_model for a reference that breaks a rule above; unreadable_input for a file that is not there.
  Result<std::string> read(const onnx::TensorProto& tensor, int64_t bytes, const std::string& who);
  // The same piece by piece, each of whole megabytes but the last, and none of them kept.
  Status pass_over(const onnx::TensorProto& tensor, int64_t bytes, const std::string& who, const std::function<void(std::string_view)>& look);

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
