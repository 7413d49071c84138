#include "compiler/report/page.h"

#include <fmt/format.h>
#include <zlib.h>

#include "compiler/report/embedded_pages.h"
#include "compiler/support/status.h"

namespace plimsoll {
namespace {

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t word = 0;
    for (size_t j = 0; j < 3; ++j) word = word << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j) text += j <= count ? kDigits[word >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

}  // namespace

std::string_view page_source(std::string_view name) {
  for (const EmbeddedFile& file : page_files())
    if (file.path.substr(file.path.rfind('/') + 1) == name) return file.contents;
  PLIMSOLL_CHECK(false, fmt::format("no page source is called '{}'", name));
  return "";
}

std::string pack(std::string_view text) {
  uLongf size = compressBound(static_cast<uLong>(text.size()));
  std::string packed(size, '\0');
  const int outcome =
      compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                static_cast<uLong>(text.size()), Z_BEST_COMPRESSION);
  PLIMSOLL_CHECK(outcome == Z_OK, fmt::format("zlib could not compress {} bytes: {}", text.size(), outcome));
  packed.resize(size);
  return base64(packed);
}

std::string html_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string assemble_page(const PageParts& parts) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      // No resource is fetched, whatever the names in a model contain.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\">\n";
  page += fmt::format("<title>{}</title>\n<style>\n", html_escaped(parts.title));
  for (const std::string_view style : parts.styles) page += page_source(style);
  page += "</style>\n</head>\n<body>\n" + parts.body;
  if (!parts.data.empty())
    page += fmt::format("<script type=\"application/octet-stream\" id=\"data\">{}</script>\n", parts.data);
  if (!parts.scripts.empty()) {
    page += "<script>\n\"use strict\";\n";
    for (const std::string_view script : parts.scripts) page += page_source(script);
    page += "</script>\n";
  }
  return page + "</body>\n</html>\n";
}

}  // namespace plimsoll
