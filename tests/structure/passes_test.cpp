// The rules inside passes/ and codegen/ that docs/ARCHITECTURE.md states: which folder of passes/ may include which, no
// operator's or kernel's name, and no budget where schedules are searched.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path kProjectRoot = PLIMSOLL_SOURCE_DIR;

// What a folder of passes/ may include from passes/ besides itself. Files outside these folders may include all of
// them.
const std::set<std::string> kFacts = {"passes/context.h", "passes/policy.h", "passes/deadline.h"};
const std::map<std::string, std::set<std::string>> kInnerArrows = {
    {"passes/analysis", {}},
    {"passes/pool", {}},
    {"passes/order", {"passes/analysis"}},
    {"passes/place", {"passes/pool"}},
    {"passes/schedule", {"passes/analysis"}},
    {"passes/search", {"passes/schedule", "passes/analysis"}},
    {"passes/policies", {"passes/schedule", "passes/pool", "passes/analysis"}},
};

std::vector<fs::path> sources_in(const std::string& folder) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kProjectRoot / folder))
    if (entry.path().extension() == ".h" || entry.path().extension() == ".cpp") found.push_back(entry.path());
  REQUIRE(!found.empty());
  return found;
}

// The lines of a source, without comments.
std::vector<std::string> code_of(const fs::path& path) {
  std::ifstream file(path);
  REQUIRE(file.good());
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line.substr(0, line.find("//")));
  return lines;
}

// The names that a table of macros lists, as in OP(Conv).
std::set<std::string> names_in(const std::string& table, const std::string& macro) {
  std::ifstream file(kProjectRoot / table);
  REQUIRE(file.good());
  const std::regex row("^" + macro + R"(\((\w+))");
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);)
    if (std::smatch match; std::regex_search(line, match, row)) names.insert(match[1]);
  REQUIRE(names.size() > 50);
  return names;
}

// A unit is a header with its source. The units that each unit of passes/ includes.
std::map<std::string, std::set<std::string>> includes_of_units() {
  const std::regex include(R"re(^#include "(passes/[^"]+)\.h")re");
  std::map<std::string, std::set<std::string>> units;
  for (const fs::path& path : sources_in("passes")) {
    const std::string unit = fs::relative(path, kProjectRoot).replace_extension().generic_string();
    for (const std::string& line : code_of(path))
      if (std::smatch match; std::regex_search(line, match, include) && match[1] != unit) units[unit].insert(match[1]);
  }
  return units;
}

// The longest chain of includes from one unit to another, both ends included. Empty: there is none. Fails if a chain
// returns to a unit on it.
class Chains {
 public:
  explicit Chains(std::map<std::string, std::set<std::string>> units) : units_(std::move(units)) {}

  const std::vector<std::string>& longest(const std::string& from, const std::string& to) {
    const auto known = longest_.find(from);
    if (known != longest_.end()) return known->second;
    INFO("a chain of includes returns to " << from);
    REQUIRE(open_.insert(from).second);
    std::vector<std::string> most;
    if (from == to) most = {to};
    for (const std::string& next : units_[from]) {
      const std::vector<std::string>& chain = longest(next, to);
      if (chain.empty() || chain.size() < most.size()) continue;
      most = {from};
      most.insert(most.end(), chain.begin(), chain.end());
    }
    open_.erase(from);
    return longest_[from] = most;
  }

 private:
  std::map<std::string, std::set<std::string>> units_;
  std::map<std::string, std::vector<std::string>> longest_;
  std::set<std::string> open_;
};

bool inside(const std::string& path, const std::set<std::string>& allowed) {
  for (const std::string& each : allowed)
    if (path == each || path.starts_with(each + "/")) return true;
  return false;
}

}  // namespace

TEST_CASE("no include crosses an arrow inside passes") {
  const std::regex include(R"re(^#include "(passes/[^"]+)")re");
  size_t seen = 0;
  for (const auto& [folder, allowed] : kInnerArrows)
    for (const fs::path& path : sources_in(folder))
      for (const std::string& line : code_of(path)) {
        std::smatch match;
        if (!std::regex_search(line, match, include)) continue;
        INFO(path.string() << ": " << line);
        ++seen;
        CHECK((inside(match[1], {folder}) || inside(match[1], kFacts) || inside(match[1], allowed)));
      }
  CHECK(seen > 100);
  // A new folder needs a row.
  for (const fs::directory_entry& entry : fs::directory_iterator(kProjectRoot / "passes"))
    if (entry.is_directory()) CHECK(kInnerArrows.contains("passes/" + entry.path().filename().string()));
}

TEST_CASE("at most six includes lead from the planner to a weighed schedule, and none leads back") {
  Chains chains(includes_of_units());
  const std::vector<std::string> chain = chains.longest("passes/planner", "passes/schedule/evaluate");
  std::string listed;
  for (const std::string& unit : chain) listed += unit + "\n";
  INFO(listed);
  CHECK(chain.size() > 4);
  CHECK(chain.size() - 1 <= 6);
}

TEST_CASE("passes and codegen name no operator and no kernel") {
  std::set<std::string> names = names_in("compiler/ops/ops.def", "OP");
  names.merge(names_in("runtime/attrs/kernels.def", "KERNEL"));
  // Words with another meaning here: a round of gradient accumulation, and a move of the local search.
  names.erase("Round");
  names.erase("Move");
  const std::regex word(R"(\b\w+\b)");
  for (const char* folder : {"passes", "codegen"})
    for (const fs::path& path : sources_in(folder))
      for (const std::string& line : code_of(path))
        for (std::sregex_iterator each(line.begin(), line.end(), word), end; each != end; ++each) {
          const bool named = names.contains(each->str()) || each->str().starts_with("op_");
          if (!named) continue;
          INFO(path.string() << ": " << line);
          CHECK_FALSE(named);
        }
}

// The options of a search may depend on the model and the effort. If one depended on the budget, a larger budget could
// give a slower plan. So orders, schedules and the search for them never see a budget: callers select from the result.
TEST_CASE("no option of the search depends on the budget") {
  for (const char* folder : {"passes/analysis", "passes/order", "passes/schedule", "passes/search"})
    for (const fs::path& path : sources_in(folder))
      for (const std::string& line : code_of(path)) {
        INFO(path.string() << ": " << line);
        CHECK(line.find("budget") == std::string::npos);
      }
}
