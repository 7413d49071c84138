#include "compiler/import/external_data.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

namespace plimsoll {
namespace {

struct Reference {
  std::string location = {};
  int64_t offset = 0;
  std::optional<int64_t> length = {};
};

std::optional<int64_t> parse_count(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// Accepts only the keys of the specification: a reader that accepted any key let a model set the reader's own fields
// (CVE-2026-34445).
Result<Reference> parse_reference(const onnx::TensorProto& tensor, const std::string& who) {
  Reference reference;
  for (const auto& entry : tensor.external_data()) {
    const std::string& key = entry.key();
    if (key == "location") {
      reference.location = entry.value();
    } else if (key == "offset" || key == "length") {
      const std::optional<int64_t> count = parse_count(entry.value());
      if (!count)
        return Error{ExitCode::invalid_model,
                     fmt::format("{}: external data has {} '{}', expected a number of bytes", who, key, entry.value())};
      if (key == "offset") reference.offset = *count;
      else reference.length = *count;
    } else if (key != "checksum" && key != "basepath") {
      return Error{ExitCode::invalid_model, fmt::format("{}: external data has an unknown key '{}'", who, key)};
    }
  }
  return reference;
}

// "weights/./a.data" → weights, a.data. nullopt if the path is absolute, leaves the directory, or is not a path.
std::optional<std::vector<std::string>> components_of(const std::string& location) {
  if (location.empty() || location[0] == '/' || location.find('\0') != std::string::npos) return std::nullopt;
  std::vector<std::string> components;
  for (size_t start = 0; start <= location.size();) {
    const size_t end = std::min(location.find('/', start), location.size());
    const std::string component = location.substr(start, end - start);
    start = end + 1;
    if (component.empty() || component == ".") continue;
    if (component == "..") {
      if (components.empty()) return std::nullopt;
      components.pop_back();
    } else {
      components.push_back(component);
    }
  }
  if (components.empty()) return std::nullopt;
  return components;
}

struct Descriptor {
  int value = -1;
  ~Descriptor() { if (value >= 0) ::close(value); }
  void reset(int other) { if (value >= 0) ::close(value); value = other; }
  int release() { const int kept = value; value = -1; return kept; }
};

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

ModelDirectory::ModelDirectory(std::string model_path) : path_(directory_of(model_path)) {}

ModelDirectory::~ModelDirectory() {
  for (const auto& [location, file] : files_) ::close(file.descriptor);
}

// Opens one path component at a time and refuses links, so that no name can leave the directory. The file type is
// checked before opening, because opening a device or a fifo can have side effects, and again afterwards.
Result<ModelDirectory::OpenFile> ModelDirectory::open(const std::string& location, const std::string& who) {
  const auto refuse = [&](std::string_view why) {
    return Error{ExitCode::invalid_model,
                 fmt::format("{}: external data '{}' is refused: {}", who, location, why),
                 {"external data must be a regular file in the model's directory or below"}};
  };
  const auto unreadable = [&](int error) {
    if (error == ELOOP || error == ENOTDIR)
      return refuse("a component of the path is a symbolic link or not a directory");
    return Error{
        ExitCode::unreadable_input,
        fmt::format("cannot open '{}/{}', the external data of {}: {}", path_, location, who, std::strerror(error)),
        {"the model keeps its weights in a separate file: copy it next to the .onnx file"}};
  };
  const auto components = components_of(location);
  if (!components) return refuse("the path is absolute or leaves the model's directory");

  Descriptor directory{::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (directory.value < 0) return unreadable(errno);
  for (size_t i = 0; i + 1 < components->size(); ++i) {
    const int next =
        ::openat(directory.value, (*components)[i].c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) return unreadable(errno);
    directory.reset(next);
  }
  const char* name = components->back().c_str();
  struct stat before = {}, after = {};
  if (::fstatat(directory.value, name, &before, AT_SYMLINK_NOFOLLOW) != 0) return unreadable(errno);
  if (S_ISLNK(before.st_mode)) return refuse("it is a symbolic link");
  if (!S_ISREG(before.st_mode)) return refuse("it is not a regular file");
  Descriptor file{::openat(directory.value, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  if (file.value < 0) return unreadable(errno);
  if (::fstat(file.value, &after) != 0) return unreadable(errno);
  if (!S_ISREG(after.st_mode) || after.st_ino != before.st_ino || after.st_dev != before.st_dev)
    return refuse("it changed while being opened");
  if (after.st_nlink != 1) return refuse("it has several hard links, so it may be a file of another directory");
  return OpenFile{.descriptor = file.release(), .bytes = static_cast<int64_t>(after.st_size)};
}

Result<std::string> ModelDirectory::read(const onnx::TensorProto& tensor, int64_t bytes, const std::string& who) {
  std::string data;
  PLIMSOLL_TRY(pass_over(tensor, bytes, who, [&](std::string_view piece) {
    if (data.empty()) data.reserve(static_cast<size_t>(bytes));  // by now the file is known to be that large
    data.append(piece);
  }));
  return data;
}

Status ModelDirectory::pass_over(const onnx::TensorProto& tensor, int64_t bytes, const std::string& who,
                                 const std::function<void(std::string_view)>& look) {
  constexpr int64_t kPiece = 1 << 20;
  PLIMSOLL_ASSIGN(const Reference reference, parse_reference(tensor, who));
  auto found = files_.find(reference.location);
  if (found == files_.end()) {
    PLIMSOLL_ASSIGN(const OpenFile file, open(reference.location, who));
    found = files_.emplace(reference.location, file).first;
  }
  OpenFile& file = found->second;
  if (reference.length && *reference.length != bytes)
    return Error{ExitCode::invalid_model, fmt::format("{}: its shape needs {} bytes, but its external data has {}", who,
                                                      bytes, *reference.length)};
  if (reference.offset > file.bytes || bytes > file.bytes - reference.offset)
    return Error{ExitCode::unreadable_input,
                 fmt::format("{}: its external data is {} bytes at offset {} of '{}', which has {} bytes", who, bytes,
                             reference.offset, reference.location, file.bytes),
                 {"it is truncated, or belongs to another model: copy the file again, together with the .onnx file"}};
  // Tensors may share bytes, but referring to a small file repeatedly could exhaust memory.
  file.handed_out += bytes;
  if (file.handed_out / 4 > file.bytes)
    return Error{ExitCode::invalid_model,
                 fmt::format("{}: the tensors in '{}' overlap: together they exceed four times the file's {} bytes",
                             who, reference.location, file.bytes)};
  piece_.resize(static_cast<size_t>(kPiece));
  for (int64_t done = 0; done < bytes;) {
    const int64_t size = std::min(kPiece, bytes - done);
    for (int64_t filled = 0; filled < size;) {
      const ssize_t got = ::pread(file.descriptor, piece_.data() + filled, static_cast<size_t>(size - filled),
                                  reference.offset + done + filled);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0)
        return Error{ExitCode::unreadable_input,
                     fmt::format("{}: cannot read its external data in '{}': {}", who, reference.location,
                                 got == 0 ? "the file became shorter" : std::strerror(errno))};
      filled += got;
    }
    look(std::string_view(piece_).substr(0, static_cast<size_t>(size)));
    done += size;
  }
  return {};
}

}  // namespace plimsoll
