// The bytes of a text that --dump wrote, or of a plan.json, as --from, inspect and verify read them. What is read is
// judged, and printed again: the printing is a text that reads as the same. Any Status is a good answer but an internal
// error; an exception or a signal is a finding.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/check/check.h"
#include "compiler/ir/network_text.h"
#include "compiler/ir/plan_json.h"
#include "compiler/ir/plan_text.h"
#include "compiler/ir/task_graph_text.h"
#include "compiler/ir/unfinished_plan.h"
#include "compiler/network/check.h"

namespace plimsoll {
namespace {

[[noreturn]] void give_up(const std::string& what) {
  fmt::print(stderr, "{}\n", what);
  std::abort();
}

void judge_text(const Status& status) {
  if (!status.ok() && status.error().code == ExitCode::internal)
    give_up("an internal error: " + status.error().message);
}

// What was read, where it was; its printing reads as the same.
template <class T, class Read, class Print>
const T* printed_again(const Result<T>& made, const Read& read, const Print& print) {
  if (!made.ok()) return judge_text(made.error()), nullptr;
  const std::string text = print(*made);
  const Result<T> again = read(text);
  if (!again.ok()) give_up("its printing is refused: " + again.error().message + "\n" + text);
  if (print(*again) != text) give_up("its printing reads as another:\n" + text);
  return &*made;
}

void read_text(std::string_view text) {
  const auto as_network = [](std::string_view of) { return network_from_text(of); };
  const auto as_graph = [](std::string_view of) { return graph_from_text(of); };
  const auto as_plan = [](std::string_view of) { return plan_from_text(of); };
  const auto to_words = [](const auto& made) { return to_text(made); };
  if (text.starts_with("network")) {
    const Result<Network> network = as_network(text);
    if (printed_again(network, as_network, to_words)) judge_text(check_network(*network));
  } else if (text.starts_with("graph")) {
    printed_again(as_graph(text), as_graph, to_words);
  } else if (text.starts_with("unfinished")) {
    const auto as_unfinished = [](std::string_view of) { return unfinished_plan_from_text(of); };
    printed_again(as_unfinished(text), as_unfinished, to_words);
  } else if (text.starts_with("plan")) {
    const Result<Plan> plan = as_plan(text);
    if (printed_again(plan, as_plan, to_words)) (void)to_string(check_plan(*plan));
  } else {
    const Result<Plan> plan = plan_from_json(text);
    if (printed_again(plan, plan_from_json, [](const Plan& made) { return to_json(made); }))
      (void)to_string(check_plan(*plan));
  }
}

// Lines of a text, for changes that keep most of it readable.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') lines.emplace_back();
    else lines.back() += c;
  }
  return lines;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Another number where the line has one: near it, at an end of what fits, or negative.
void change_number(std::string& line, std::minstd_rand& random) {
  if (line.empty()) return;
  size_t at = random() % line.size();
  while (at < line.size() && !is_digit(line[at])) ++at;
  if (at == line.size()) return;
  size_t end = at;
  while (end < line.size() && is_digit(line[end])) ++end;
  static constexpr const char* kNumbers[] = {"0", "1", "2", "-1", "7", "256", "2147483648", "9223372036854775807", ""};
  line.replace(at, end - at, kNumbers[random() % std::size(kNumbers)]);
}

// A word of one line in place of a word of another.
void change_word(std::string& line, const std::string& other, std::minstd_rand& random) {
  if (line.empty() || other.empty()) return;
  const auto word_at = [](const std::string& text, size_t from) {
    const size_t begin = text.rfind(' ', from) == std::string::npos ? 0 : text.rfind(' ', from) + 1;
    return std::pair(begin, std::min(text.find(' ', begin), text.size()) - begin);
  };
  const auto [to, old_length] = word_at(line, random() % line.size());
  const auto [from, length] = word_at(other, random() % other.size());
  line.replace(to, old_length, other.substr(from, length));
}

}  // namespace
}  // namespace plimsoll

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plimsoll::read_text({reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  if (size == 0 || random() % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<std::string> lines = plimsoll::lines_of({reinterpret_cast<const char*>(data), size});
  for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
    const size_t at = random() % lines.size(), other = random() % lines.size();
    switch (random() % 5) {
      case 0: lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), std::string(lines[other])); break;
      case 1: std::swap(lines[at], lines[other]); break;
      case 2:
        if (lines.size() > 1) lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 3: plimsoll::change_number(lines[at], random); break;
      default: plimsoll::change_word(lines[at], std::string(lines[other]), random);
    }
  }
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
