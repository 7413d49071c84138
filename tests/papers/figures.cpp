#include "tests/papers/figures.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace plimsoll::papers {
namespace {

const std::filesystem::path kFile = std::filesystem::path(PLIMSOLL_TEST_DIR) / "figures.txt";

// "test | claim" to the figure as text.
std::map<std::string, std::string> read_figures() {
  std::map<std::string, std::string> figures;
  std::ifstream file(kFile);
  for (std::string line; std::getline(file, line);) {
    const size_t bar = line.find(" | ");
    REQUIRE(bar != std::string::npos);
    REQUIRE(figures.emplace(line.substr(bar + 3), line.substr(0, bar)).second);
  }
  return figures;
}

// ctest runs several tests at once, and each writes its own figures.
void write_figure(const std::string& key, const std::string& figure) {
  const int lock = ::open(PLIMSOLL_TEST_DIR, O_RDONLY | O_DIRECTORY);
  REQUIRE(lock >= 0);
  REQUIRE(::flock(lock, LOCK_EX) == 0);
  std::map<std::string, std::string> figures = read_figures();
  figures[key] = figure;
  {
    std::ofstream file(kFile);
    for (const auto& [name, text] : figures) file << text << " | " << name << "\n";
    REQUIRE(file.flush().good());
  }
  ::close(lock);
}

}  // namespace

void expect_figure(const std::string& claim, double ours) {
  const std::string key = Catch::getResultCapture().getCurrentTestName() + " | " + claim;
  const std::string figure = fmt::format("{:.5g}", ours);
  const char* const update = std::getenv("PLIMSOLL_UPDATE");
  if (update && std::string(update) == "1") return write_figure(key, figure);
  const auto figures = read_figures();
  const auto found = figures.find(key);
  INFO("to write the figure into tests/papers/figures.txt: PLIMSOLL_UPDATE=1 ctest");
  INFO(key);
  CHECK((found == figures.end() ? "there is no such figure" : found->second) == figure);
}

}  // namespace plimsoll::papers
