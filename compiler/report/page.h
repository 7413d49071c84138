// Self-contained pages: styles, scripts and data in one file that needs no network access. Their sources are built into
// the compiler: compiler/report/html/, and runtime/train/page/, which trainers share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

struct PageParts {
  std::string title = {};
  std::string body = {};  // HTML
  std::vector<std::string_view> styles = {};   // file names of sources, in order
  std::vector<std::string_view> scripts = {};  // likewise; in one scope, in order
  std::string data = {};  // as returned by pack(), in the element "data"; empty: none
};
std::string assemble_page(const PageParts& parts);

// A source by its file name.
std::string_view page_source(std::string_view name);

// Deflated (zlib) and base64-encoded: what the pages' unpack() reads.
std::string pack(std::string_view text);

// Escapes "<" as "&lt;" and so on, for text and attribute values.
std::string html_escaped(std::string_view text);

}  // namespace plimsoll
