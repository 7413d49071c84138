// Tests that are text files. A *.test file is a sentence, a command and sections; what the command makes of the inputs
// is compared with the sections of those names. Adding a case touches no C++:
//
//   # A value that is idle over the loss leaves the device and is back before its first reader.
//   RUN: offload --budget=36MiB
//   --- graph
//   …
//   --- out
//   …
//
// With PLIMSOLL_UPDATE=1 in the environment the expected sections are rewritten instead.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll {

struct TextCase {
  std::filesystem::path path = {};
  std::string head = {};  // the sentence and the RUN line, as they stand
  std::string run = {};   // what follows "RUN: "
  std::vector<std::pair<std::string, std::string>> sections = {};  // in the order of the file

  const std::string* find(const std::string& name) const {
    for (const auto& [section, text] : sections)
      if (section == name) return &text;
    return nullptr;
  }
  // An input that the case must have.
  std::string input(const std::string& name) const {
    const std::string* const text = find(name);
    if (!text) FAIL(path.string() << " has no section '--- " << name << "'");
    return text ? *text : "";
  }
  // The value of `--key=value` in the command, else `missing`.
  std::string option(const std::string& key, const std::string& missing = "") const {
    std::istringstream words(run);
    for (std::string word; words >> word;)
      if (word.rfind("--" + key + "=", 0) == 0) return word.substr(key.size() + 3);
    return missing;
  }
};

// What a case makes, by the names of the sections that must hold it.
using TextResults = std::vector<std::pair<std::string, std::string>>;

inline TextCase read_text_case(const std::filesystem::path& path) {
  TextCase found{.path = path};
  std::ifstream file(path, std::ios::binary);
  std::string line;
  bool in_head = true;
  while (std::getline(file, line)) {
    if (line.rfind("--- ", 0) == 0) {
      found.sections.emplace_back(line.substr(4), "");
      in_head = false;
    } else if (in_head) {
      found.head += line + "\n";
      if (line.rfind("RUN: ", 0) == 0) found.run = line.substr(5);
    } else {
      found.sections.back().second += line + "\n";
    }
  }
  return found;
}

// Runs every *.test file of the folder, each in a section of its own.
inline void run_text_cases(const std::filesystem::path& folder,
                           const std::function<TextResults(const TextCase&)>& make) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".test") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  REQUIRE_FALSE(paths.empty());

  const char* const update = std::getenv("PLIMSOLL_UPDATE");
  const bool rewrite = update && std::string(update) == "1";
  for (const std::filesystem::path& path : paths) {
    DYNAMIC_SECTION(path.filename().string()) {
      TextCase text_case = read_text_case(path);
      REQUIRE_FALSE(text_case.head.empty());
      const TextResults results = make(text_case);
      bool changed = false;
      for (const auto& [name, text] : results) {
        const std::string made = text.empty() || text.back() == '\n' ? text : text + "\n";
        const std::string* const expected = text_case.find(name);
        if (expected && *expected == made) continue;
        if (!rewrite) {
          INFO("to write what is made now into the file: PLIMSOLL_UPDATE=1 ctest");
          INFO("section '--- " << name << "' of " << path.string());
          CHECK((expected ? *expected : "there is no such section\n") == made);
          continue;
        }
        changed = true;
        const auto at = std::find_if(text_case.sections.begin(), text_case.sections.end(),
                                     [&](const auto& section) { return section.first == name; });
        if (at != text_case.sections.end()) at->second = made;
        else text_case.sections.emplace_back(name, made);
      }
      if (changed) {
        std::ofstream file(path, std::ios::binary);
        file << text_case.head;
        for (const auto& [name, text] : text_case.sections) file << "--- " << name << "\n" << text;
        REQUIRE(file.good());
      }
      SUCCEED();
    }
  }
}

}  // namespace plimsoll
