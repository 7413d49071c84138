// Self-contained pages: styles, scripts and data in one file that asks nothing of the network. Their sources are built into
// the compiler: those of compiler/report/html/, and those of runtime/train/page/, which trainers share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

struct PageParts {
  std::string title = {};
  std::string body = {};  // HTML
  std::vector<std::string_view> styles = {};   // names of sources, in order
  std::vector<std::string_view> scripts = {};  // likewise; one scope, in order
  std::string data = {};  // as pack() gives it, in the element "data"; empty: none
};
std::string assemble_page(const PageParts& parts);

// A source by its file's name.
std::string_view page_source(std::string_view name);

// Deflated (as zlib has it) and in base64: what the pages' unpack() reads.
std::string pack(std::string_view text);

// "&lt;" and so on, for texts and for values of attributes.
std::string html_escaped(std::string_view text);

}  // namespace plimsoll
