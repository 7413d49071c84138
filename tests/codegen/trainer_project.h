// A generated directory on the disk, built and run.
#pragma once

#include <string>
#include <vector>

#include "codegen/generate.h"

namespace plimsoll::test {

class TrainerProject {
 public:
  // Writes files and model.onnx (these bytes) to a fresh directory, which is removed at the end.
  TrainerProject(const std::vector<GeneratedFile>& files, const std::string& model);
  ~TrainerProject();
  TrainerProject(const TrainerProject&) = delete;
  TrainerProject& operator=(const TrainerProject&) = delete;

  // The exit status; the output of the commands is in output(). `options` are CMake's.
  int build(const std::string& options);
  int run(const std::string& arguments, const std::string& environment = "");
  int shell(const std::string& command);
  const std::string& output() const { return output_; }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  std::string read(const std::string& name) const;
  void write(const std::string& name, const std::string& bytes) const;
  void write_npy(const std::string& name, const std::string& shape, const std::vector<float>& values) const;

 private:
  std::string directory_, output_;
};

// The bytes of the values, and back.
std::string bytes_of_floats(const std::vector<float>& values);
std::vector<float> floats_of_bytes(const std::string& bytes, size_t offset, size_t count);

}  // namespace plimsoll::test
