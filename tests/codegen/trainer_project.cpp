#include "trainer_project.h"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace plimsoll::test {

namespace fs = std::filesystem;

TrainerProject::TrainerProject(const std::vector<GeneratedFile>& files, const std::string& model) {
  std::string pattern = (fs::temp_directory_path() / "plimsoll-trainer-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("no directory for the trainer");
  directory_ = pattern;
  for (const GeneratedFile& file : files) write(file.path, file.contents);
  write("model.onnx", model);
}

TrainerProject::~TrainerProject() { fs::remove_all(directory_); }

std::string TrainerProject::read(const std::string& name) const {
  std::ifstream in(path(name), std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void TrainerProject::write(const std::string& name, const std::string& bytes) const {
  fs::create_directories(fs::path(path(name)).parent_path());
  std::ofstream(path(name), std::ios::binary) << bytes;
}

void TrainerProject::write_npy(const std::string& name, const std::string& shape,
                               const std::vector<float>& values) const {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
  while ((header.size() + 11) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += {'\1', '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  write(name, bytes + header + bytes_of_floats(values));
}

int TrainerProject::shell(const std::string& command) {
  const std::string log = path("output.txt");
  const int status = std::system(("(" + command + ") > " + log + " 2>&1").c_str());
  output_ = read("output.txt");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int TrainerProject::build(const std::string& options) {
  return shell("cmake -G Ninja -S " + directory_ + " -B " + path("build") + " " + options + " && cmake --build " +
               path("build"));
}

int TrainerProject::run(const std::string& arguments, const std::string& environment) {
  return shell("cd " + directory_ + " && " + environment + " build/train " + arguments);
}

std::string bytes_of_floats(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> floats_of_bytes(const std::string& bytes, size_t offset, size_t count) {
  std::vector<float> values(count);
  if (offset + count * sizeof(float) > bytes.size()) throw std::runtime_error("the file is too short");
  std::memcpy(values.data(), bytes.data() + offset, count * sizeof(float));
  return values;
}

}  // namespace plimsoll::test
