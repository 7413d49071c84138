// Lines of C++, CUDA, Python and shell end at 120 columns in the folders below. tools/format.sh checks the lines of a
// change in all files.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

constexpr const char* kHeld[] = {"codegen", "compiler", "models", "passes", "python", "runtime", "tests", "tools"};
constexpr const char* kExtensions[] = {".h", ".cpp", ".cu", ".py", ".sh", ".bash"};
constexpr std::ptrdiff_t kColumns = 120;

// A character of several bytes is one column.
std::ptrdiff_t columns_of(const std::string& line) {
  return std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

std::vector<std::string> long_lines(const fs::path& path) {
  std::vector<std::string> found;
  std::ifstream file(path);
  REQUIRE(file.good());
  int number = 0;
  for (std::string line; std::getline(file, line);)
    if (++number; columns_of(line) > kColumns)
      found.push_back(path.string() + ":" + std::to_string(number) + ": " + std::to_string(columns_of(line)) +
                      " columns");
  return found;
}

}  // namespace

TEST_CASE("lines end at 120 columns") {
  int files = 0;
  std::string all;
  for (const char* const folder : kHeld)
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(PLIMSOLL_SOURCE_DIR) / folder)) {
      const std::string extension = entry.path().extension().string();
      if (std::ranges::find(kExtensions, extension) == std::end(kExtensions)) continue;
      ++files;
      for (const std::string& line : long_lines(entry.path())) all += line + "\n";
    }
  CHECK(files > 1400);
  INFO(all);
  CHECK(all.empty());
}

TEST_CASE("columns are characters, not bytes") {
  CHECK(columns_of("abc") == 3);
  CHECK(columns_of("a…é") == 3);
  const fs::path path = fs::temp_directory_path() / "plimsoll_lines_test.txt";
  std::ofstream(path) << std::string(120, 'x') << "\n" << std::string(121, 'x') << "\n";
  const std::vector<std::string> found = long_lines(path);
  fs::remove(path);
  REQUIRE(found.size() == 1);
  CHECK(found[0].ends_with(":2: 121 columns"));
}
