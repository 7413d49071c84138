// Names in the unnamed namespaces of a folder are unique, so any of its files can be compiled as one (batches.cmake).
// The compiler finds two definitions of a name in one batch. tools/test.sh compiles whole folders, but of folders of
// kernels only eight files as one. This test reads the declarations of all folders, as clang-format prints them: each
// begins in the first column.
//
// A function may be overloaded in another file. In a folder of kernels, which is not compiled as one file, that could
// change the meaning of a call, so the first parameters must be of different classes there.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace {

// What a declaration declares: a name, and the types of a function's parameters, because functions may be overloaded.
// Empty if it declares no name, as a specialization does.
std::string declared(const std::string& declaration) {
  static const std::regex type(R"(^(?:struct|class|union|enum class|enum) (\w+)(?![\w<]))");
  static const std::regex alias(R"(^(?:using|namespace) (\w+) =)");
  static const std::regex function(R"(\b(?!__launch_bounds__)(\w+)\((.*))");
  static const std::regex parameter(R"( \w+(?=[,)]| = ))");
  static const std::regex variable(R"((\w+)(?:\[[^=]*\])?(?: = .*| ?\{|;)$)");
  std::smatch match;
  if (std::regex_search(declaration, match, type) || std::regex_search(declaration, match, alias)) return match[1];
  if (declaration.starts_with("using ")) return "";
  const size_t value = declaration.find(" = "), bracket = declaration.find('(');
  if (bracket < value && std::regex_search(declaration, match, function))
    return match[1].str() + "(" + std::regex_replace(match[2].str(), parameter, "");
  return std::regex_search(declaration, match, variable) ? match[1].str() : "";
}

// The names in the unnamed namespaces of a file, with the namespaces around them. The value is the declaration of an
// alias, which several files may have.
std::map<std::string, std::string> unnamed_names(const fs::path& path) {
  std::ifstream file(path);
  REQUIRE(file.good());
  std::map<std::string, std::string> names;
  std::vector<std::string> around;
  int unnamed = 0;
  std::string declaration;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("namespace ") && line.ends_with("{")) {
      around.push_back(line.substr(10));
      unnamed += line == "namespace {";
    } else if (line.starts_with("}  // namespace") && !around.empty()) {
      unnamed -= around.back() == "{";
      around.pop_back();
    } else if (unnamed > 0) {
      const bool begins = !line.empty() && (std::isalpha(static_cast<unsigned char>(line[0])) || line[0] == '_');
      const bool named = begins && !line.starts_with("template") && !line.starts_with("static_assert");
      if (declaration.empty() && !named) continue;
      declaration += (declaration.empty() ? "" : " ") + line.substr(std::min(line.size(), line.find_first_not_of(' ')));
      const size_t end = declaration.find_first_of("{;");
      if (end == std::string::npos) continue;
      if (const std::string name = declared(declaration.substr(0, end + 1)); !name.empty()) {
        std::string key;
        for (const std::string& space : around) key += space;
        const bool alias = declaration.starts_with("using ") || declaration.starts_with("namespace ");
        names[key + " " + name] = alias ? declaration : "";
      }
      declaration.clear();
    }
  }
  return names;
}

}  // namespace

TEST_CASE("names in unnamed namespaces are unique in a folder") {
  const fs::path root = PLIMSOLL_SOURCE_DIR;
  std::map<std::pair<fs::path, std::string>, std::pair<std::string, std::string>> first;  // a file and an alias
  std::string twice;
  for (const char* const folder : {"codegen", "compiler", "passes", "runtime", "tools/plimsoll"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const fs::path& path = entry.path();
      if (path.extension() != ".cpp" && path.extension() != ".cu") continue;
      for (const auto& [name, alias] : unnamed_names(path)) {
        const auto [at, added] =
            first.try_emplace({path.parent_path() / path.extension(), name}, path.filename().string(), alias);
        if (!added && (alias.empty() || alias != at->second.second))
          twice += name + ": " + at->second.first + ", " + path.string() + "\n";
      }
    }
  CHECK(first.size() > 2000);
  static const std::regex function(R"(^(.*? \w+)\((?:const )?(?:\w+::)*([A-Z]\w+)?)");
  std::map<std::pair<fs::path, std::string>, std::map<std::string, std::string>> overloads;  // by class: a file
  for (const auto& [where, found] : first) {
    const auto& [folder, name] = where;
    std::smatch match;
    if (folder.parent_path().filename() != "ops" || !std::regex_search(name, match, function)) continue;
    const std::string type = match[2];  // of the first parameter; empty: no class
    auto& others = overloads[{folder, match[1]}];
    for (const auto& [other, file] : others)
      if (file != found.first && (type.empty() || other.empty() || type == other))
        twice += name + ": " + file + ", " + found.first + " (overloads that a call may confuse)\n";
    others.emplace(type, found.first);
  }
  INFO(twice);
  CHECK(twice.empty());
}
