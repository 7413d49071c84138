#include "compiler/import/fingerprint.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <system_error>

#include "compiler/import/sha256.h"
#include "compiler/support/output.h"
#include "onnx/onnx.pb.h"

namespace plimsoll {

Result<std::string> fingerprint_of_model(const std::string& path) {
  namespace fs = std::filesystem;
  PLIMSOLL_ASSIGN(const std::string bytes, read_file(path));
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes))
    return Error{ExitCode::invalid_model, fmt::format("'{}' is not an ONNX model", path)};
  std::set<std::string> locations;
  for (const onnx::TensorProto& tensor : model.graph().initializer())
    for (const auto& entry : tensor.external_data())
      if (entry.key() == "location") locations.insert(entry.value());
  std::string text = sha256_hex(bytes);
  for (const std::string& location : locations) {
    std::error_code failed;
    const fs::path file = fs::path(path).parent_path() / location;
    const auto size = fs::file_size(file, failed);
    if (failed)
      return Error{ExitCode::unreadable_input,
                   fmt::format("cannot read '{}', the weights of '{}': {}", file.string(), path, failed.message())};
    const auto changed = fs::last_write_time(file, failed);
    text += fmt::format(" {} {} {}", location, size, changed.time_since_epoch().count());
  }
  return text;
}

}  // namespace plimsoll
