// Takes libFuzzer's place where its sanitized build is not there: replays the corpus, then changes its files, the same
// way in every run with the same seed. fuzz_onnx [-runs=N] [-seed=N] DIR|FILE…; other options are libFuzzer's and left
// out.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed);

namespace {

std::minstd_rand the_random;

using Bytes = std::vector<uint8_t>;

Bytes read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What was tried last is in a file, so that a crash leaves it.
void try_bytes(const Bytes& bytes) {
  std::ofstream("last-input", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

// libFuzzer's own change of bytes, in short.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t) {
  if (size > 0) data[the_random() % size] = static_cast<uint8_t>(the_random());
  return size;
}

int main(int argc, char** argv) {
  uint64_t runs = 0, seed = 1;
  std::vector<std::filesystem::path> files;
  const auto number = [](std::string_view text, uint64_t& to) {
    std::from_chars(text.data(), text.data() + text.size(), to);
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("-runs="))
      number(argument.substr(6), runs);
    else if (argument.starts_with("-seed="))
      number(argument.substr(6), seed);
    else if (argument.starts_with("-"))
      continue;
    else if (std::filesystem::is_directory(argument))
      for (const auto& entry : std::filesystem::directory_iterator(argument)) files.push_back(entry.path());
    else
      files.emplace_back(argument);
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> corpus;
  for (const auto& file : files) {
    corpus.push_back(read_bytes(file));
    if (corpus.back().empty()) {
      fmt::print(stderr, "{}: cannot be read, or is empty\n", file.string());
      return 1;
    }
    try_bytes(corpus.back());
  }
  if (corpus.empty()) {
    fmt::print(stderr, "no corpus\n");
    return 1;
  }
  the_random.seed(static_cast<unsigned>(seed));
  for (uint64_t run = 0; run < runs; ++run) {
    Bytes bytes = corpus[the_random() % corpus.size()];
    const size_t size = bytes.size(), most = 2 * size + 4096;
    bytes.resize(most);
    bytes.resize(LLVMFuzzerCustomMutator(bytes.data(), size, most, static_cast<unsigned>(the_random())));
    try_bytes(bytes);
  }
  fmt::print("{} files of the corpus and {} changes of them\n", corpus.size(), runs);
  return 0;
}
