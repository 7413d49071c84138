// An operator's meaning is in its own file. General code consults the registry and compares no node's operator with a
// name. Passes that look for patterns of certain operators may; they are not in the list.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

TEST_CASE("what is general names no operator") {
  const fs::path root = PLIMSOLL_SOURCE_DIR;
  const std::vector<std::string> simplify_sources = {"attributes", "differentiable", "fit_inputs", "node_inputs",
                                                     "values"};
  const std::vector<std::string> network_sources = {"compact", "freeze",        "layout",    "layout_choice",
                                                    "min_cut", "output_loss",   "prune",     "undecided"};
  std::vector<fs::path> general;
  for (const std::string& name : simplify_sources)
    general.push_back(root / "compiler/network/simplify" / (name + ".cpp"));
  for (const std::string& name : network_sources) general.push_back(root / "compiler/network" / (name + ".cpp"));
  for (const auto& entry : fs::directory_iterator(root / "compiler/training"))
    if (entry.path().extension() == ".cpp") general.push_back(entry.path());
  general.push_back(root / "compiler/ops/task_builder.cpp");

  // An Identity may carry a mark of its exporter, so code may test for it.
  const std::regex comparison(R"re(\bop(_type\(\))?\s*[!=]=\s*"(?!Identity")\w+")re");
  for (const fs::path& path : general) {
    std::ifstream file(path);
    INFO(path.string());
    REQUIRE(file.good());
    std::ostringstream text;
    text << file.rdbuf();
    const std::string source = text.str();
    std::smatch found;
    const bool named = std::regex_search(source, found, comparison);
    CHECK((named ? found.str() : "") == "");
  }
}
