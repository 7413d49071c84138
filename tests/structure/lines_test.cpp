// Lines of source, build files and pages end at 120 columns in the folders below. tools/format.sh checks the lines of a
// change in all files.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

constexpr const char* kHeld[] = {"cmake",  "codegen", "compiler", "models", "passes",
                                 "python", "runtime", "tests",    "tools"};
constexpr const char* kExtensions[] = {".h",  ".cpp", ".cu",   ".py",    ".sh", ".bash",
                                       ".js", ".css", ".html", ".cmake", ".in"};
constexpr std::ptrdiff_t kColumns = 120;

bool is_held(const fs::path& path) {
  return path.filename() == "CMakeLists.txt" ||
         std::ranges::find(kExtensions, path.extension().string()) != std::end(kExtensions);
}

std::vector<fs::path> held_files() {
  const fs::path root = PLIMSOLL_SOURCE_DIR;
  std::vector<fs::path> files = {root / "CMakeLists.txt", root / "third_party" / "CMakeLists.txt"};
  for (const char* const folder : kHeld)
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (is_held(entry.path())) files.push_back(entry.path());
  return files;
}

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
  const std::vector<fs::path> files = held_files();
  CHECK(files.size() > 1400);
  std::string all;
  for (const fs::path& file : files)
    for (const std::string& line : long_lines(file)) all += line + "\n";
  INFO(all);
  CHECK(all.empty());
}

TEST_CASE("lines of build files and pages are checked too") {
  const std::vector<fs::path> files = held_files();
  for (const char* const name :
       {"CMakeLists.txt", "cmake/embed.cmake", "codegen/stamp.cpp.in", "runtime/CMakeLists.txt",
        "compiler/report/html/plan.js", "compiler/report/html/plan.css", "compiler/report/html/plan.html"}) {
    INFO(name);
    CHECK(std::ranges::find(files, fs::path(PLIMSOLL_SOURCE_DIR) / name) != files.end());
  }
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
