#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "compiler/import/model_file.h"
#include "compiler/import/sha256.h"

namespace plimsoll {
namespace {

Error unreadable(const std::string& path) {
  return {ExitCode::unreadable_input, fmt::format("cannot read '{}'", path)};
}

Status add_around(const std::string& path, std::vector<FileRange> ranges, Sha256& sum) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable(path);
  std::sort(ranges.begin(), ranges.end(), [](const FileRange& a, const FileRange& b) { return a.offset < b.offset; });
  ranges.push_back({.offset = static_cast<int64_t>(std::filesystem::file_size(path))});
  std::string piece;
  int64_t at = 0;
  for (const FileRange& range : ranges) {
    constexpr int64_t kPiece = 1 << 16;
    for (file.seekg(at); at < range.offset; at += static_cast<int64_t>(piece.size())) {
      piece.resize(static_cast<size_t>(std::min(kPiece, range.offset - at)));
      if (!file.read(piece.data(), static_cast<std::streamsize>(piece.size()))) return unreadable(path);
      sum.add(piece);
    }
    at = std::max(at, range.offset + range.bytes);
  }
  return {};
}

}  // namespace

Result<std::string> sha256_without(const std::string& path, const TwoFiles& files,
                                   const std::set<std::string>& initializers) {
  std::vector<FileRange> ranges;
  for (const auto& [name, range] : files.ranges)
    if (initializers.contains(name)) ranges.push_back(range);
  Sha256 sum;
  if (files.weights.empty()) {
    PLIMSOLL_TRY(add_around(path, std::move(ranges), sum));
    return sum.hex();
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable(path);
  std::string skeleton{std::istreambuf_iterator<char>(file), {}};
  for (size_t at = skeleton.find(files.weights); at != std::string::npos; at = skeleton.find(files.weights, at))
    skeleton.replace(at, files.weights.size(), files.weights.size(), '0');
  sum.add(skeleton);
  PLIMSOLL_TRY(
      add_around((std::filesystem::path(path).parent_path() / files.weights).string(), std::move(ranges), sum));
  return sum.hex();
}

}  // namespace plimsoll
