#include "runtime/train/safetensors.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/train/error.h"

namespace plimsoll::train {
namespace {

constexpr int64_t kLongestHeader = 100'000'000;  // the format's own limit

struct TypeName {
  DataType type;
  std::string_view name;
};
constexpr TypeName kTypes[] = {
    {DataType::f32, "F32"}, {DataType::i32, "I32"}, {DataType::i64, "I64"}, {DataType::u8, "U8"}};

std::string_view name_of_type(DataType type) {
  for (const TypeName& row : kTypes)
    if (row.type == type) return row.name;
  return "";
}

// The length of the UTF-8 character at `at`; 0: not valid (RFC 3629).
size_t utf8_length(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const auto tail = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool shortest = first != 0xe0 || byte(1) >= 0xa0, surrogate = first == 0xed && byte(1) >= 0xa0;
    return tail(1) && tail(2) && shortest && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool in_range = (first != 0xf0 || byte(1) >= 0x90) && (first != 0xf4 || byte(1) < 0x90);
    return tail(1) && tail(2) && tail(3) && in_range ? 4 : 0;
  }
  return 0;
}

std::string quoted(const std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string json = "\"";
  for (const char c : utf8_name(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') json += '\\';
    if (byte < 0x20) json += std::string("\\u00") + kDigits[byte >> 4] + kDigits[byte & 15];
    else json += c;
  }
  return json + "\"";
}

void append_utf8(std::string& text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 63));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 63));
    text += static_cast<char>(0x80 | (code & 63));
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    text += static_cast<char>(0x80 | (code >> 12 & 63));
    text += static_cast<char>(0x80 | (code >> 6 & 63));
    text += static_cast<char>(0x80 | (code & 63));
  }
}

// Parses the subset of JSON that such headers use: objects of known depth, strings, lists of integers.
class Reader {
 public:
  Reader(const InputFile& file, std::string_view text) : file_(file), text_(text) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw TrainerError(Exit::unreadable_input, "'" + file_.path() + "' is not a safetensors file: " + what);
  }

  // Calls entry(key) before each value.
  template <class Entry>
  void object(Entry entry) {
    expect('{');
    if (accept('}')) return;
    std::set<std::string> keys;
    do {
      const std::string key = string();
      if (!keys.insert(key).second) fail("it names '" + key + "' twice");
      expect(':');
      entry(key);
    } while (accept(','));
    expect('}');
  }

  std::vector<int64_t> numbers() {
    std::vector<int64_t> list;
    expect('[');
    if (accept(']')) return list;
    do list.push_back(number());
    while (accept(','));
    expect(']');
    return list;
  }

  std::string string() {
    expect('"');
    std::string value;
    while (true) {
      const char c = next();
      if (c == '"') return value;
      if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a name");
      if (c != '\\') {
        value += c;
        continue;
      }
      constexpr std::string_view kSigns = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
      const char escaped = next();
      if (const size_t at = kSigns.find(escaped); at != std::string_view::npos) value += kMeant[at];
      else if (escaped == 'u') unicode(value);
      else fail("an unknown escape in a name");
    }
  }

  void end() {
    skip_blanks();
    if (at_ != text_.size()) fail("its header does not end where it should");
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) && text_[at_] != '\0') ++at_;
  }
  char next() {
    if (at_ >= text_.size()) fail("its header ends too early");
    return text_[at_++];
  }
  bool accept(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("its header has no '") + c + "' at byte " + std::to_string(at_));
  }
  int64_t number() {
    skip_blanks();
    int64_t value = 0;
    int digits = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_, ++digits) {
      if (digits == 18) fail("a number is out of range");
      value = 10 * value + (text_[at_] - '0');
    }
    if (digits == 0) fail("its header has no number at byte " + std::to_string(at_));
    return value;
  }
  uint32_t four_digits() {
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = next();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) fail("an unknown escape in a name");
      code = 16 * code + static_cast<uint32_t>(digit);
    }
    return code;
  }
  void unicode(std::string& value) {
    uint32_t code = four_digits();
    if (code >= 0xd800 && code < 0xdc00) {
      if (next() != '\\' || next() != 'u') fail("half a character in a name");
      const uint32_t low = four_digits();
      if (low < 0xdc00 || low > 0xdfff) fail("half a character in a name");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(value, code);
  }

  const InputFile& file_;
  std::string_view text_;
  size_t at_ = 0;
};

struct Entry {
  StoredTensor tensor;
  int64_t end = 0;
};

Entry read_entry(Reader& reader, const std::string& name, int64_t data_begin) {
  Entry entry{.tensor = {.name = name, .desc = {}}};
  bool typed = false, shaped = false, placed = false;
  reader.object([&](const std::string& key) {
    if (key == "dtype") {
      const std::string type = reader.string();
      for (const TypeName& row : kTypes)
        if (row.name == type) entry.tensor.desc.type = row.type, typed = true;
      if (!typed) reader.fail("tensor '" + name + "' has elements " + type + ", which no kernel has");
    } else if (key == "shape") {
      const std::vector<int64_t> dims = reader.numbers();
      if (dims.size() > kMaxRank)
        reader.fail("tensor '" + name + "' has " + std::to_string(dims.size()) + " dimensions");
      for (const int64_t dim : dims) entry.tensor.desc.dims.push_back(dim);
      shaped = true;
    } else if (key == "data_offsets") {
      const std::vector<int64_t> range = reader.numbers();
      if (range.size() != 2 || range[1] < range[0]) reader.fail("tensor '" + name + "' has no range of bytes");
      entry.tensor.offset = data_begin + range[0];
      entry.end = data_begin + range[1];
      placed = true;
    } else {
      reader.fail("tensor '" + name + "' has an unknown field '" + key + "'");
    }
  });
  if (!typed || !shaped || !placed) reader.fail("tensor '" + name + "' lacks dtype, shape or data_offsets");
  return entry;
}

// False if the product of the dimensions overflows.
bool has_bytes(const TensorDesc& desc, int64_t bytes) {
  int64_t product = bytes_of(desc.type);
  for (const int64_t dim : desc.dims)
    if (__builtin_mul_overflow(product, dim, &product)) return false;
  return product == bytes;
}

}  // namespace

std::string utf8_name(const std::string& name) {
  std::string text;
  for (size_t at = 0; at < name.size();) {
    const size_t length = utf8_length(name, at);
    text += length > 0 ? name.substr(at, length) : "\xef\xbf\xbd";
    at += std::max<size_t>(length, 1);
  }
  return text;
}

std::string safetensors_header(Safetensors& file) {
  std::string json = "{";
  if (!file.metadata.empty()) {
    std::string entries;
    for (const auto& [key, value] : file.metadata)
      entries += (entries.empty() ? "" : ",") + quoted(key) + ":" + quoted(value);
    json += "\"__metadata__\":{" + entries + "}";
  }
  int64_t end = 0;
  for (const StoredTensor& tensor : file.tensors) {
    std::string shape;
    for (const int64_t dim : tensor.desc.dims) shape += (shape.empty() ? "" : ",") + std::to_string(dim);
    const int64_t bytes = tensor.desc.elements() * bytes_of(tensor.desc.type);
    json += (json.size() > 1 ? "," : "") + quoted(tensor.name) + ":{\"dtype\":\"" +
            std::string(name_of_type(tensor.desc.type)) + "\",\"shape\":[" + shape + "],\"data_offsets\":[" +
            std::to_string(end) + "," + std::to_string(end + bytes) + "]}";
    end += bytes;
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  const uint64_t length = json.size();
  std::string header(8, '\0');
  std::memcpy(header.data(), &length, 8);
  header += json;
  int64_t at = static_cast<int64_t>(header.size());
  for (StoredTensor& tensor : file.tensors) {
    tensor.offset = at;
    at += tensor.desc.elements() * bytes_of(tensor.desc.type);
  }
  return header;
}

Safetensors read_safetensors(const InputFile& file) {
  uint64_t length = 0;
  if (file.bytes() < 8) Reader(file, "").fail("it has " + std::to_string(file.bytes()) + " bytes");
  file.read(0, reinterpret_cast<std::byte*>(&length), 8);
  if (length > static_cast<uint64_t>(std::min(kLongestHeader, file.bytes() - 8)))
    Reader(file, "").fail("its header is longer than the file");
  std::string text(static_cast<size_t>(length), '\0');
  file.read(8, reinterpret_cast<std::byte*>(text.data()), static_cast<int64_t>(length));

  Safetensors found;
  std::vector<Entry> entries;
  Reader reader(file, text);
  const int64_t data_begin = 8 + static_cast<int64_t>(length);
  reader.object([&](const std::string& name) {
    if (name == "__metadata__") reader.object([&](const std::string& key) { found.metadata[key] = reader.string(); });
    else entries.push_back(read_entry(reader, name, data_begin));
  });
  reader.end();

  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.tensor.offset != b.tensor.offset ? a.tensor.offset < b.tensor.offset : a.end < b.end;
  });
  int64_t at = data_begin;
  for (Entry& entry : entries) {
    if (entry.tensor.offset != at) reader.fail("tensor '" + entry.tensor.name + "' leaves a hole or overlaps another");
    if (!has_bytes(entry.tensor.desc, entry.end - at))
      reader.fail("tensor '" + entry.tensor.name + "' has " + std::to_string(entry.end - at) +
                  " bytes, which its shape does not");
    at = entry.end;
    found.tensors.push_back(std::move(entry.tensor));
  }
  if (at != file.bytes())
    reader.fail("it has " + std::to_string(file.bytes()) + " bytes, but its header describes " + std::to_string(at));
  return found;
}

}  // namespace plimsoll::train
