// Self-contained pages: styles, scripts and data in one file that needs no network access. The sources of styles and
// scripts are in compiler/report/html/ and built into the compiler.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

struct PageParts {
  std::string title = {};
  std::string body = {};  // HTML
  std::vector<std::string_view> styles = {};   // file names in compiler/report/html/, in order
  std::vector<std::string_view> scripts = {};  // likewise; in one scope, in order
  std::string data = {};  // as returned by pack(), in the element "data"; empty: none
};
std::string assemble_page(const PageParts& parts);

// A source file of compiler/report/html/.
std::string_view page_source(std::string_view name);

// Deflated (zlib) and base64-encoded: what the pages' unpack() reads.
std::string pack(std::string_view text);

// Escapes "<" as "&lt;" and so on, for text and attribute values.
std::string html_escaped(std::string_view text);

}  // namespace plimsoll
