// Pages and comments are written in plain technical English. This test keeps replaced phrases from coming back: it
// searches the files and folders of prose/checked.txt for the phrases of prose/phrases.tsv.
//
// It skips the code blocks of pages, and reads only the comments and documentation of sources. A phrase may span lines.
// `Quoted code` and names (Fate::keep, crew.h, heeds()) are not prose: a name may be older than the word that replaced
// it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path kTop = PLIMSOLL_SOURCE_DIR;
const fs::path kProse = kTop / "tests/structure/prose";

// The prose of a file with all else left out, and the line that each of its characters is from.
struct Prose {
  std::string text = {};
  std::vector<int> lines = {};

  void add(char c, int line) {
    if (std::isspace(static_cast<unsigned char>(c))) {
      if (text.empty() || text.back() == ' ') return;  // a line break within a sentence is one space
      c = ' ';
    }
    text += c;
    lines.push_back(line);
  }
  // Ends a piece of prose, so that no phrase spans it and the next one.
  void end(int line) {
    add(' ', line);
    text += '\n';
    lines.push_back(line);
  }
};

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

void add_words(Prose& prose, const std::string& line, size_t begin, size_t end, int number) {
  for (size_t at = begin; at < end; ++at) prose.add(line[at], number);
  prose.add(' ', number);
}

// `Code` may span lines. A backquote without a partner in its piece of prose is an ordinary character.
Prose without_code(const Prose& prose) {
  Prose kept;
  for (size_t at = 0; at < prose.text.size(); ++at) {
    if (prose.text[at] == '`') {
      const size_t close = prose.text.find_first_of("`\n", at + 1);
      if (close != std::string::npos && prose.text[close] == '`') at = close;
    }
    kept.text += prose.text[at];
    kept.lines.push_back(prose.lines[at]);
  }
  return kept;
}

Prose prose_of_page(const std::string& text) {
  Prose prose;
  bool fenced = false;
  int number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    const size_t first = line.find_first_not_of(" \t");
    if (first != std::string::npos && line.compare(first, 3, "```") == 0) {
      fenced = !fenced;
      prose.end(number);
    } else if (!fenced) {
      if (first == std::string::npos) prose.end(number);
      else add_words(prose, line, 0, line.size(), number);
    }
  }
  return without_code(prose);
}

bool starts_token(const std::string& line, size_t at) {
  return at == 0 || !std::isalnum(static_cast<unsigned char>(line[at - 1]));
}

// `//` and `/* */`, except inside literals.
Prose prose_of_cpp(const std::string& text) {
  Prose prose;
  bool block = false;
  std::string raw_end;  // of the raw string that the line begins in
  int number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    bool comment = false;
    for (size_t at = 0; at < line.size();) {
      if (block) {
        const size_t close = std::min(line.find("*/", at), line.size());
        add_words(prose, line, std::min(line.find_first_not_of(" *", at), close), close, number);
        block = close == line.size();
        comment = true;
        at = close + 2;
      } else if (!raw_end.empty()) {
        const size_t close = line.find(raw_end, at);
        if (close == std::string::npos) break;
        at = close + raw_end.size();
        raw_end.clear();
      } else if (line.compare(at, 2, "//") == 0) {
        const size_t words = line.find_first_not_of("/ ", at);
        if (line.find_first_not_of(" \t") != at) prose.end(number);
        if (words != std::string::npos) add_words(prose, line, words, line.size(), number);
        // A line with nothing but a comment continues the comment above it.
        comment = words != std::string::npos;
        break;
      } else if (line.compare(at, 2, "/*") == 0) {
        block = true;
        at += 2;
      } else if (line.compare(at, 2, "R\"") == 0 && starts_token(line, at)) {
        const size_t open = line.find('(', at);
        if (open == std::string::npos) break;
        raw_end = ")" + line.substr(at + 2, open - at - 2) + "\"";
        at = open + 1;
      } else if (line[at] == '"' || (line[at] == '\'' && starts_token(line, at))) {  // not 1'000
        const char quote = line[at];
        for (++at; at < line.size() && line[at] != quote; ++at)
          if (line[at] == '\\') ++at;
        ++at;
      } else {
        ++at;
      }
    }
    if (!comment) prose.end(number);
  }
  return without_code(prose);
}

// `#` at the start of a word, and Python's documentation: triple-quoted strings at the start of a line.
Prose prose_of_script(const std::string& text, bool python) {
  Prose prose;
  bool documentation = false;
  int number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    const size_t first = line.find_first_not_of(" \t");
    if (documentation || (python && first != std::string::npos && line.compare(first, 3, "\"\"\"") == 0)) {
      const size_t begin = documentation ? 0 : first + 3;
      const size_t close = line.find("\"\"\"", begin);
      add_words(prose, line, begin, std::min(close, line.size()), number);
      documentation = close == std::string::npos;
      if (!documentation) prose.end(number);
      continue;
    }
    size_t hash = line.find('#');
    while (hash != std::string::npos && hash != 0 && line[hash - 1] != ' ') hash = line.find('#', hash + 1);
    const bool words = hash != std::string::npos && !(number == 1 && line.starts_with("#!")) &&
                       std::count(line.begin(), line.begin() + static_cast<ptrdiff_t>(hash), '"') % 2 == 0 &&
                       std::count(line.begin(), line.begin() + static_cast<ptrdiff_t>(hash), '\'') % 2 == 0;
    if (words) add_words(prose, line, hash + 1, line.size(), number);
    if (!words || hash != first) prose.end(number);
  }
  return without_code(prose);
}

const std::set<std::string> kCpp = {".h", ".cpp", ".cu", ".cuh", ".def", ".js", ".css", ".in"};
const std::set<std::string> kScripts = {".py", ".sh", ".bash", ".cmake", ".txt"};

Prose prose_of(const fs::path& path) {
  const std::string extension = path.extension().string();
  const std::string text = read(path);
  if (extension == ".md") return prose_of_page(text);
  return kCpp.contains(extension) ? prose_of_cpp(text) : prose_of_script(text, extension == ".py");
}

struct Phrase {
  std::string source = {}, instead = {}, example = {};
  std::string prefix = {};  // every match starts with it; "": unknown
  std::regex pattern = {};
};

// The letters that every match of a regular expression starts with. Searching for them first is faster than std::regex.
std::string literal_prefix(const std::string& source) {
  size_t end = 0;
  while (end < source.size() && (std::isalpha(static_cast<unsigned char>(source[end])) || source[end] == ' ')) ++end;
  if (source.find('|') != std::string::npos && source.find('|') < source.find('(')) return "";
  if (end < source.size() && (source[end] == '?' || source[end] == '*')) --end;
  return source.substr(0, end);
}

std::vector<Phrase> phrases() {
  std::vector<Phrase> found;
  for (const std::string& line : lines_of(read(kProse / "phrases.tsv"))) {
    if (line.empty() || line[0] == '#') continue;
    const size_t one = line.find('\t'), two = line.find('\t', one + 1);
    INFO(line);
    REQUIRE(two < line.size());
    Phrase phrase{line.substr(0, one), line.substr(one + 1, two - one - 1), line.substr(two + 1)};
    for (char& c : phrase.source) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    phrase.prefix = literal_prefix(phrase.source);
    phrase.pattern = std::regex("\\b(?:" + phrase.source + ")\\b", std::regex::optimize);
    found.push_back(std::move(phrase));
  }
  return found;
}

// Whether text[begin, end) is part of a path, a qualified name or a call, or its only argument.
bool is_name(const std::string& text, size_t begin, size_t end) {
  const char before = begin > 0 ? text[begin - 1] : ' ', after = end < text.size() ? text[end] : ' ';
  const char next = end + 1 < text.size() ? text[end + 1] : ' ';
  const bool argument = before == '(' && after == ')';
  const bool continued = (after == '.' || after == ':') && next != ' ' && next != '\n';
  return argument || continued || after == '(' || std::string("/._").find(before) != std::string::npos ||
         after == '/' || after == '_';
}

struct Hit {
  int line = 0;
  std::string phrase = {}, instead = {};
};

std::vector<Hit> search(const Prose& prose, const std::vector<Phrase>& list) {
  std::string lower = prose.text;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::vector<Hit> hits;
  for (const Phrase& phrase : list) {
    if (!phrase.prefix.empty() && lower.find(phrase.prefix) == std::string::npos) continue;
    for (std::sregex_iterator match(lower.begin(), lower.end(), phrase.pattern), end; match != end; ++match) {
      const size_t begin = static_cast<size_t>(match->position());
      if (is_name(lower, begin, begin + match->str().size())) continue;
      hits.push_back({prose.lines[begin], prose.text.substr(begin, match->str().size()), phrase.instead});
    }
  }
  return hits;
}

// The glossary's last column lists replaced words.
void drop_last_column(std::string& text) {
  std::string kept;
  for (const std::string& line : lines_of(text)) {
    const size_t last = line.starts_with("|") ? line.rfind('|', line.size() - 2) : std::string::npos;
    kept += line.substr(0, last) + "\n";
  }
  text = kept;
}

std::vector<fs::path> checked_files() {
  std::vector<fs::path> files;
  std::set<std::string> without;
  for (const std::string& line : lines_of(read(kProse / "checked.txt"))) {
    if (line.empty() || line[0] == '#') continue;
    const fs::path path = kTop / (line[0] == '!' ? line.substr(1) : line);
    INFO(line);
    REQUIRE(fs::exists(path));
    if (line[0] == '!') {
      without.insert(path.generic_string());
    } else if (fs::is_directory(path)) {
      for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
        const std::string extension = entry.path().extension().string();
        if (entry.is_regular_file() && (extension == ".md" || kCpp.contains(extension) || kScripts.contains(extension)))
          files.push_back(entry.path());
      }
    } else {
      files.push_back(path);
    }
  }
  std::erase_if(files, [&](const fs::path& file) {
    for (fs::path at = file; at != kTop && at.has_relative_path(); at = at.parent_path())
      if (without.contains(at.generic_string())) return true;
    return false;
  });
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

}  // namespace

TEST_CASE("prose: every banned phrase is found in its example") {
  const std::vector<Phrase> list = phrases();
  CHECK(list.size() > 20);
  for (const Phrase& phrase : list) {
    INFO(phrase.source << " in: " << phrase.example);
    CHECK(search(prose_of_page(phrase.example), {phrase}).size() == 1);
    CHECK(search(prose_of_page("a page\n```\n" + phrase.example + "\n```\n"), {phrase}).empty());
    CHECK(search(prose_of_page("named `" + phrase.example + "` there"), {phrase}).empty());
    CHECK(search(prose_of_cpp("int x = 0;  // " + phrase.example), {phrase}).size() == 1);
    CHECK(search(prose_of_cpp("const char* x = \"// " + phrase.example + "\";"), {phrase}).empty());
    CHECK(search(prose_of_script("run it  # " + phrase.example, false), {phrase}).size() == 1);
    CHECK(search(prose_of_script("def f():\n  \"\"\"" + phrase.example + "\"\"\"\n", true), {phrase}).size() == 1);
  }
}

TEST_CASE("prose: phrases are found across lines, in the line where they begin, and names are left alone") {
  const auto found = [](const Prose& prose) {
    std::string text;
    for (const Hit& hit : search(prose, phrases())) text += std::to_string(hit.line) + ":" + hit.phrase + ";";
    return text;
  };
  CHECK(found(prose_of_cpp("// The policy without\n// a budget.\nint x;\n")) == "1:policy without a budget;");
  CHECK(found(prose_of_cpp("/* one\n * least\n * budget */ int x;\n")) == "2:least budget;");
  CHECK(found(prose_of_cpp("int x;  // the plan without\nint a;  // a budget\n")) == "");
  CHECK(found(prose_of_cpp("auto t = R\"(\n// whoever\n)\";  // Whoever\n")) == "3:Whoever;");
  CHECK(found(prose_of_page("so\nmany\n\nso\n\nmany\n")) == "1:so many;");
  CHECK(found(prose_of_page("prints `a so\nmany b`, one ` only: so many files that\n\nnext `\n")) == "2:so many;");
  CHECK(found(prose_of_cpp("// Fate::keep, passes/crew.h, heeds(), max_stash and fates.\n")) == "1:fates;");
}

TEST_CASE("prose: pages and comments are in plain technical English") {
  const std::vector<Phrase> list = phrases();
  const std::vector<fs::path> files = checked_files();
  CHECK(files.size() > 10);
  for (const fs::path& path : files) {
    const std::string name = fs::relative(path, kTop).generic_string();
    Prose prose;
    if (name == "docs/glossary.md") {
      std::string text = read(path);
      drop_last_column(text);
      prose = prose_of_page(text);
    } else {
      prose = prose_of(path);
    }
    for (const Hit& hit : search(prose, list))
      FAIL_CHECK(name << ":" << hit.line << ": \"" << hit.phrase << "\"; write: " << hit.instead);
  }
}
