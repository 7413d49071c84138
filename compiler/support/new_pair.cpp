#include "compiler/support/new_pair.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

// The contents of the file; empty if there is none, or if it is too large to refer to another.
std::string first_of_pair_at(const std::string& path) {
  constexpr uintmax_t kLargest = uintmax_t{256} << 20;
  std::error_code none;
  if (!fs::is_regular_file(path, none) || fs::file_size(path, none) > kLargest) return {};
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Result<std::string> write_pair(const PairNames& names,
                               const std::function<std::string(const std::string& beside)>& text,
                               const std::function<Status(NewFile&)>& fill) {
  const std::string there = first_of_pair_at(names.path);
  std::string name = names.beside[0], other = names.beside[1];
  std::string first = text(name);
  if (first != there && there.find(name) != std::string::npos) {
    std::swap(name, other);
    first = text(name);
  }
  const fs::path folder = fs::path(names.path).parent_path();
  PLIMSOLL_ASSIGN(NewFile second, NewFile::create((folder / name).string()));
  PLIMSOLL_ASSIGN(NewFile file, NewFile::create(names.path));
  PLIMSOLL_TRY(fill(second));
  PLIMSOLL_TRY(file.write(first));
  PLIMSOLL_TRY(file.sync());
  PLIMSOLL_TRY(second.appear());
  PLIMSOLL_TRY(file.appear());
  if (other == names.beside[1] || there.find(other) != std::string::npos) ::unlink((folder / other).c_str());
  return name;
}

}  // namespace plimsoll
