// tokens:FILE[,FILE…]: token ids, for language models. A sample is a window of T + 1 tokens:
//
//   … 17  4  8  8 99  2 | 31  5  4 …       windows start T apart and never span two files
//     └─ input ──────┘
//        └─ labels ───────┘
//
// File formats, recognized by the first bytes:
//   llm.c's shards   256 int32: 20240520, 1, number of tokens, 0, …; then uint16   (20240801, 7: uint32)
//   NumPy            one array of one dimension: uint8, uint16, int32, int64
//   anything else    uint16 without a header, as nanoGPT writes them
// All in little endian. tools/text_to_tokens.py makes such a file of any text.
#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/train/counted.h"
#include "runtime/train/dataset.h"
#include "runtime/train/error.h"
#include "runtime/train/npy.h"

namespace plimsoll::train {
namespace {

class TokenFile {
 public:
  explicit TokenFile(const std::string& path) : file_(path) {
    constexpr int64_t kHeader = 256 * 4;
    std::array<std::byte, 12> start{};
    file_.read(0, start.data(), std::min<int64_t>(file_.bytes(), static_cast<int64_t>(start.size())));
    std::array<int32_t, 3> numbers{};
    std::memcpy(numbers.data(), start.data(), start.size());
    if (std::memcmp(start.data(), "\x93NUMPY", 6) == 0) {
      const NpyHeader npy = read_npy_header(file_, true);
      if (npy.desc.rank() != 1 || npy.desc.type == DataType::f32)
        refuse("is an array of " + std::string(name_of(npy.desc.type)) + " and " + std::to_string(npy.desc.rank()) +
               " dimensions; token ids are integers in one");
      offset_ = npy.data_offset;
      width_ = npy.width;
      tokens_ = npy.desc.dim(0);
      return;
    }
    const bool short_shard = numbers[0] == 20240520 && numbers[1] == 1,
               long_shard = numbers[0] == 20240801 && numbers[1] == 7;
    width_ = long_shard ? 4 : 2;
    if (short_shard || long_shard) {
      offset_ = kHeader;
      tokens_ = numbers[2];
      if (tokens_ < 0 || file_.bytes() != kHeader + tokens_ * width_)
        refuse("has " + counted(file_.bytes(), "byte") + ", but its header promises " + counted(tokens_, "token"));
      return;
    }
    if (file_.bytes() % 2 != 0)
      refuse("has an odd number of bytes, so it does not hold uint16; tools/text_to_tokens.py converts a text");
    tokens_ = file_.bytes() / 2;
  }

  int64_t tokens() const { return tokens_; }
  const std::string& path() const { return file_.path(); }

  // Tokens [first, first + count). `raw`: a buffer of 8 bytes for each.
  void read(int64_t first, int64_t count, std::byte* raw, int64_t* to) const {
    file_.read(offset_ + first * width_, raw, count * width_);
    switch (width_) {
      case 1: return widen<uint8_t>(raw, count, to);
      case 2: return widen<uint16_t>(raw, count, to);
      case 4: return widen<int32_t>(raw, count, to);
      default: return widen<int64_t>(raw, count, to);
    }
  }

 private:
  template <class T>
  static void widen(const std::byte* raw, int64_t count, int64_t* to) {
    for (int64_t i = 0; i < count; ++i) {
      T token;
      std::memcpy(&token, raw + i * static_cast<int64_t>(sizeof token), sizeof token);
      to[i] = static_cast<int64_t>(token);
    }
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw TrainerError(Exit::unreadable_input, "'" + file_.path() + "' " + what);
  }

  InputFile file_;
  int64_t offset_ = 0, width_ = 2, tokens_ = 0;
};

using TokenFiles = std::vector<TokenFile>;

// The tokens of each window, from position `shift` on.
class TokenColumn final : public Column {
 public:
  TokenColumn(std::shared_ptr<const TokenFiles> files, int64_t length, int64_t shift, DataType type)
      : files_(std::move(files)), length_(length), shift_(shift), type_(type) {
    for (const TokenFile& file : *files_)
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + std::max<int64_t>(0, (file.tokens() - 1) / length));
  }

  int64_t samples() const override { return ends_.back(); }
  bool is_checked() const override { return true; }

  void read(int64_t index, std::byte* to) override {
    const size_t file = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin());
    const int64_t in_file = index - (file == 0 ? 0 : ends_[file - 1]);
    thread_local std::vector<std::byte> raw;
    thread_local std::vector<int64_t> window;
    raw.resize(std::max(raw.size(), static_cast<size_t>(length_) * 8));
    window.resize(std::max(window.size(), static_cast<size_t>(length_)));
    (*files_)[file].read(in_file * length_ + shift_, length_, raw.data(), window.data());
    for (int64_t i = 0; i < length_; ++i) {
      const int64_t wide = window[static_cast<size_t>(i)];
      const int32_t narrow = static_cast<int32_t>(wide);
      if (type_ == DataType::i64) std::memcpy(to + i * 8, &wide, 8);
      else std::memcpy(to + i * 4, &narrow, 4);
    }
  }

 private:
  std::shared_ptr<const TokenFiles> files_;
  int64_t length_, shift_;
  DataType type_;
  std::vector<int64_t> ends_;  // the number of windows in the files up to this one
};

void check_tokens(const TokenFile& file, int64_t vocabulary) {
  constexpr int64_t kPiece = 1 << 16;
  std::vector<std::byte> raw(static_cast<size_t>(kPiece) * 8);
  std::vector<int64_t> tokens(static_cast<size_t>(kPiece));
  for (int64_t first = 0; first < file.tokens(); first += kPiece) {
    const int64_t count = std::min(kPiece, file.tokens() - first);
    file.read(first, count, raw.data(), tokens.data());
    for (int64_t i = 0; i < count; ++i)
      if (const int64_t token = tokens[static_cast<size_t>(i)]; token < 0 || token >= vocabulary)
        throw TrainerError(Exit::invalid_model, "token " + std::to_string(first + i) + " of '" + file.path() + "' is " +
                                                    std::to_string(token) + ", but the model has tokens 0 to " +
                                                    std::to_string(vocabulary - 1));
  }
}

bool is_sequence(const ProgramInput& input) {
  return input.desc.rank() == 2 && (input.desc.type == DataType::i32 || input.desc.type == DataType::i64);
}

// The smaller of the embedding's rows and the head's classes limits the token ids.
int64_t vocabulary_of(const Program& program) {
  const int64_t rows = program.inputs[0].bound, classes = program.classes;
  return rows == 0 ? classes : classes == 0 ? rows : std::min(rows, classes);
}

}  // namespace

std::vector<std::unique_ptr<Column>> token_columns(const std::string& paths, const Program& program) {
  const std::span<const ProgramInput> inputs = program.inputs;
  if (inputs.size() != 2 || !is_sequence(inputs[0]) || !is_sequence(inputs[1]) ||
      inputs[0].desc.dim(1) != inputs[1].desc.dim(1)) {
    std::string found;
    for (const ProgramInput& input : inputs)
      found += (found.empty() ? "" : ", ") + std::string(input.name) + " " + shape_text(input.desc);
    throw TrainerError(Exit::invalid_model,
                       "tokens: feeds one sequence of ids and as many labels; the model's inputs are " + found);
  }
  const int64_t length = inputs[0].desc.dim(1), vocabulary = vocabulary_of(program);
  auto files = std::make_shared<TokenFiles>();
  int64_t windows = 0, tokens = 0;
  for (size_t begin = 0; begin <= paths.size();) {
    const size_t end = std::min(paths.find(',', begin), paths.size());
    const TokenFile& file = files->emplace_back(paths.substr(begin, end - begin));
    if (vocabulary > 0) check_tokens(file, vocabulary);
    tokens += file.tokens();
    windows += std::max<int64_t>(0, (file.tokens() - 1) / length);
    begin = end + 1;
  }
  if (windows == 0)
    throw TrainerError(Exit::invalid_model, "'" + paths + "' has " + counted(tokens, "token") + "; a sample takes " +
                                                std::to_string(length + 1) + " of one file");
  std::vector<std::unique_ptr<Column>> columns;
  columns.push_back(std::make_unique<TokenColumn>(files, length, 0, inputs[0].desc.type));
  columns.push_back(std::make_unique<TokenColumn>(files, length, 1, inputs[1].desc.type));
  return columns;
}

}  // namespace plimsoll::train
