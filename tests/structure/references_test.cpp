// Comments and pages name files of the project. Every such name and every link must lead to an existing file.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path kProject = PLIMSOLL_SOURCE_DIR;

// Examples of files that the reader is to write.
const std::set<std::string> kExamples = {"compiler/ops/softsign.cpp", "runtime/host/ops/softsign.cpp"};

std::vector<fs::path> files_with(const std::set<std::string>& folders, const std::set<std::string>& extensions) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(kProject))
    if (entry.path().extension() == ".md") found.push_back(entry.path());
  for (const std::string& folder : folders)
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kProject / folder))
      if (entry.is_regular_file() && extensions.contains(entry.path().extension().string()))
        found.push_back(entry.path());
  return found;
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("every file that a comment or a page names is there") {
  const std::regex name(
      R"((^|[^A-Za-z0-9_./$-])((docs|tools|compiler|runtime|passes|codegen|models|tests|cmake)/)"
      R"([A-Za-z0-9_./-]+\.(md|py|sh|bash|h|cpp|cuh?|cmake|def))\b)");
  size_t seen = 0;
  for (const fs::path& path :
       files_with({"docs", "tools", "compiler", "runtime", "passes", "codegen", "models", "tests", "cmake"},
                  {".md", ".py", ".sh", ".bash", ".h", ".cpp", ".cu", ".cuh", ".cmake", ".def", ".txt"})) {
    const std::string text = contents(path);
    for (std::sregex_iterator match(text.begin(), text.end(), name), end; match != end; ++match) {
      const std::string target = (*match)[2];
      if (kExamples.contains(target)) continue;
      INFO(fs::relative(path, kProject).string() << " names " << target);
      ++seen;
      // The build generates some headers: codegen/carried.h.
      CHECK((fs::exists(kProject / target) || fs::exists(fs::path(PLIMSOLL_BINARY_DIR) / target)));
    }
  }
  CHECK(seen > 1000);
}

TEST_CASE("every link of a page leads somewhere") {
  const std::regex link(R"(\]\(([^)#\s]+)(#[^)]*)?\))");
  size_t seen = 0;
  for (const fs::path& path : files_with({"docs"}, {".md"})) {
    const std::string text = contents(path);
    for (std::sregex_iterator match(text.begin(), text.end(), link), end; match != end; ++match) {
      const std::string target = (*match)[1];
      if (target.starts_with("http")) continue;
      INFO(fs::relative(path, kProject).string() << " links to " << target);
      ++seen;
      CHECK(fs::exists(path.parent_path() / target));
    }
  }
  CHECK(seen > 50);
}
