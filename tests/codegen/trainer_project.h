// A generated directory on disk, built and run.
#pragma once

#include <string>
#include <vector>

#include "codegen/generate.h"

namespace plimsoll::test {

class TrainerProject {
 public:
  // Writes files and model.onnx (these bytes) to a new directory, which the destructor removes.
  TrainerProject(const std::vector<GeneratedFile>& files, const std::string& model);
  ~TrainerProject();
  TrainerProject(const TrainerProject&) = delete;
  TrainerProject& operator=(const TrainerProject&) = delete;

  // Each returns the exit status; output() has the output of the commands. `options` are CMake's.
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

// Converts between values and their bytes.
std::string bytes_of_floats(const std::vector<float>& values);
std::vector<float> floats_of_bytes(const std::string& bytes, size_t offset, size_t count);

}  // namespace plimsoll::test
