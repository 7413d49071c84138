#include "codegen/identifiers.h"

#include <fmt/format.h>

#include <vector>

namespace plimsoll {
namespace {

constexpr size_t kLongestIdentifier = 48;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Keywords of C++20, lower-case macros of the C library, and the runtime's names used in steps, lives and parameters.
constexpr std::string_view kReserved[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char8_t", "char16_t", "char32_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short", "signed",
    "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw",
    "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
    "wchar_t", "while", "xor", "xor_eq",
    "assert", "errno", "stdin", "stdout", "stderr", "linux", "unix", "alloca", "offsetof", "setjmp", "va_start",
    "va_arg", "va_end", "va_copy", "major", "minor", "makedev",
    "plimsoll", "trainer", "std", "dist", "none", "absent", "read", "write", "update", "f32", "f16", "bf16", "i16",
    "i32", "i64", "u8", "q8", "uq8", "boolean", "Round", "Layout", "KernelSet", "KernelIndex", "Place", "HostPlace",
    "Program", "ProgramInput", "ProgramParameter", "ProgramOutput", "ProgramLife", "ParameterRole", "int64_t",
    "int32_t", "size_t", "uint8_t", "arena_bytes", "budget_bytes", "host_pool_bytes", "kernel_count", "lives",
    "life_count", "step_names", "step_count", "inputs", "parameters", "build", "forward", "backward", "program",
    "the_program", "r", "k", "n"};

// A name without a lower-case letter may be a macro; forward_3 may be a function of the program.
bool may_be_something_else(std::string_view name) {
  if (name.size() > 2 && name.find_first_of("abcdefghijklmnopqrstuvwxyz") == name.npos) return true;
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  return digits < name.size() && (name.substr(0, digits) == "forward_" || name.substr(0, digits) == "backward_" ||
                                  name.substr(0, digits) == "kernels_");
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void append(std::string& name, std::string_view part) {
  if (!name.empty() && name.back() != '_') name += '_';
  for (const char c : part) {
    if (is_letter(c) || is_digit(c)) name += c;
    else if (!name.empty() && name.back() != '_') name += '_';
  }
}

}  // namespace

std::string identifier_of(std::string_view model_name) {
  const std::vector<std::string_view> parts = parts_of(model_name);
  std::string name;
  for (size_t i = 0; i < parts.size(); ++i) {
    std::string_view part = parts[i];
    // PyTorch's exporter repeats a module's path in each part: layer1/layer1.0/conv1.
    const bool repeated = i + 1 < parts.size() && parts[i + 1].size() > part.size() &&
                          parts[i + 1].starts_with(part) && parts[i + 1][part.size()] == '.';
    if (repeated) continue;
    if (constexpr std::string_view kFirst = "_output_0"; part.ends_with(kFirst) && part.size() > kFirst.size())
      part.remove_suffix(kFirst.size());
    append(name, part);
  }
  if (name.size() > kLongestIdentifier) {  // the suffix distinguishes the tensors of a layer
    const size_t cut = name.size() - kLongestIdentifier, word = name.find('_', cut);
    name = name.substr(word != name.npos && word + kLongestIdentifier / 2 < name.size() ? word + 1 : cut);
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  while (!name.empty() && name.front() == '_') name.erase(0, 1);
  return !name.empty() && is_digit(name.front()) ? "t" + name : name;
}

Identifiers::Identifiers() {
  for (const std::string_view name : kReserved) taken_.emplace(name);
}

std::string Identifiers::claim(const std::string& wanted, int32_t number) {
  std::string name = wanted;
  if (name.empty() || may_be_something_else(name) || taken_.contains(name))
    name = name.empty() ? fmt::format("t{}", number) : fmt::format("{}_t{}", name, number);
  while (!taken_.insert(name).second) name += "x";
  return name;
}

}  // namespace plimsoll
