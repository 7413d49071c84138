// Sources of samples: NumPy files, the binary files of CIFAR-10 and MNIST, and a generator.
#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/train/dataset.h"
#include "runtime/train/error.h"
#include "runtime/train/npy.h"
#include "runtime/train/random.h"

namespace plimsoll::train {
namespace {

// Converts each element to x * scale + shift, for each channel (the first dimension of a sample). Labels: 1, 0.
struct Scaling {
  std::vector<float> scale = {1}, shift = {0};
};

template <class To, class From>
void convert(const std::byte* from, std::byte* to, int64_t count, const Scaling& scaling) {
  const int64_t channels = static_cast<int64_t>(scaling.scale.size()), each = std::max<int64_t>(1, count / channels);
  for (int64_t i = 0; i < count; ++i) {
    From x;
    std::memcpy(&x, from + i * static_cast<int64_t>(sizeof x), sizeof x);
    To y;
    if constexpr (std::is_floating_point_v<To>) {
      const size_t channel = static_cast<size_t>(std::min(i / each, channels - 1));
      y = static_cast<To>(x) * scaling.scale[channel] + scaling.shift[channel];
    } else {
      y = static_cast<To>(x);
      // A label that does not fit becomes kNoLabel, and check_integers reports it.
      if (static_cast<int64_t>(y) != static_cast<int64_t>(x)) y = static_cast<To>(sizeof y == 1 ? -1 : kNoLabel);
    }
    std::memcpy(to + i * static_cast<int64_t>(sizeof y), &y, sizeof y);
  }
}

template <class From>
void convert_to(DataType to_type, const std::byte* from, std::byte* to, int64_t count, const Scaling& scaling) {
  switch (to_type) {
    case DataType::f32: return convert<float, From>(from, to, count, scaling);
    case DataType::i32: return convert<int32_t, From>(from, to, count, scaling);
    case DataType::i64: return convert<int64_t, From>(from, to, count, scaling);
    case DataType::u8: return convert<uint8_t, From>(from, to, count, scaling);
    case DataType::bf16:
    case DataType::f16:
    case DataType::q8:
    case DataType::uq8: case DataType::i16: break;  // no input and no file has it
  }
}

// Samples at regular offsets of one or several files, with `per_file` samples in each.
class FileColumn final : public Column {
 public:
  FileColumn(std::shared_ptr<const std::vector<InputFile>> files, int64_t per_file, int64_t begin, int64_t stride,
             DataType from, DataType to, int64_t elements, Scaling scaling)
      : files_(std::move(files)), per_file_(per_file), begin_(begin), stride_(stride), from_(from), to_(to),
        elements_(elements), scaling_(std::move(scaling)) {}

  int64_t samples() const override { return per_file_ * static_cast<int64_t>(files_->size()); }

  void read(int64_t index, std::byte* to) override {
    const InputFile& file = (*files_)[static_cast<size_t>(index / per_file_)];
    const int64_t at = begin_ + index % per_file_ * stride_, bytes = elements_ * bytes_of(from_);
    const bool as_is = from_ == to_ && scaling_.scale.size() == 1 && scaling_.scale[0] == 1 && scaling_.shift[0] == 0;
    if (as_is) return file.read(at, to, bytes);
    thread_local std::vector<std::byte> raw;
    raw.resize(std::max(raw.size(), static_cast<size_t>(bytes)));
    file.read(at, raw.data(), bytes);
    switch (from_) {
      case DataType::f32: return convert_to<float>(to_, raw.data(), to, elements_, scaling_);
      case DataType::i32: return convert_to<int32_t>(to_, raw.data(), to, elements_, scaling_);
      case DataType::i64: return convert_to<int64_t>(to_, raw.data(), to, elements_, scaling_);
      case DataType::u8: return convert_to<uint8_t>(to_, raw.data(), to, elements_, scaling_);
      case DataType::bf16:
      case DataType::f16:
      case DataType::q8:
      case DataType::uq8: case DataType::i16: break;
    }
  }

 private:
  std::shared_ptr<const std::vector<InputFile>> files_;
  int64_t per_file_, begin_, stride_;
  DataType from_, to_;
  int64_t elements_;
  Scaling scaling_;
};

// Uniform in [-1, 1) for samples, over the classes for labels, and in [0, 1) for targets of bce-logits.
class SyntheticColumn final : public Column {
 public:
  SyntheticColumn(uint64_t seed, int64_t samples, const ProgramInput& input, int64_t classes, bool is_probability)
      : seed_(seed), samples_(samples), type_(input.desc.type), elements_(sample_bytes(input) / bytes_of(type_)),
        classes_(std::max<int64_t>(1, classes)), is_probability_(is_probability) {}

  int64_t samples() const override { return samples_; }

  void read(int64_t index, std::byte* to) override {
    for (int64_t i = 0; i < elements_; ++i) {
      const double unit = random_unit(seed_, static_cast<uint64_t>(index * elements_ + i));
      const int64_t label = static_cast<int64_t>(unit * static_cast<double>(classes_));
      switch (type_) {
        case DataType::f32: put(to, i, static_cast<float>(is_probability_ ? unit : 2 * unit - 1)); break;
        case DataType::i32: put(to, i, static_cast<int32_t>(label)); break;
        case DataType::i64: put(to, i, label); break;
        case DataType::u8: put(to, i, static_cast<uint8_t>(label)); break;
        case DataType::bf16:
        case DataType::f16:
        case DataType::q8:
        case DataType::uq8: case DataType::i16: break;
      }
    }
  }

 private:
  template <class T>
  static void put(std::byte* to, int64_t i, T value) {
    std::memcpy(to + i * static_cast<int64_t>(sizeof value), &value, sizeof value);
  }
  uint64_t seed_;
  int64_t samples_;
  DataType type_;
  int64_t elements_, classes_;
  bool is_probability_;
};

int64_t elements_of(const ProgramInput& input) { return sample_bytes(input) / bytes_of(input.desc.type); }

void need_two_inputs(std::span<const ProgramInput> inputs, const char* kind, int64_t elements, const char* what) {
  if (inputs.size() == 2 && inputs[0].desc.type == DataType::f32 && elements_of(inputs[0]) == elements &&
      elements_of(inputs[1]) == 1 && inputs[1].desc.type != DataType::f32)
    return;
  std::string found;
  for (const ProgramInput& input : inputs)
    found += (found.empty() ? "" : ", ") + std::string(input.name) + " " + shape_text(input.desc);
  const bool images = inputs.size() == 2 && inputs[0].desc.type == DataType::f32 && inputs[0].desc.rank() == 4 &&
                      elements_of(inputs[1]) == 1;
  throw TrainerError(
      Exit::invalid_model,
      std::string(kind) + " has " + what + " and one label; the model's inputs are " + found +
          (images ? "; export the model for images of that size, or give it images of its own: images:DIR scales them"
                  : ""));
}

std::shared_ptr<const std::vector<InputFile>> one_file(InputFile file) {
  auto files = std::make_shared<std::vector<InputFile>>();
  files->push_back(std::move(file));
  return files;
}

}  // namespace

std::vector<std::unique_ptr<Column>> npy_columns(const std::string& paths, std::span<const ProgramInput> inputs) {
  std::vector<std::string> names{""};
  for (const char c : paths) {
    if (c == ',') names.emplace_back();
    else names.back() += c;
  }
  if (names.size() != inputs.size())
    throw TrainerError(Exit::usage, "npy: takes one file for each of the model's " + std::to_string(inputs.size()) +
                                        " inputs, " + std::to_string(names.size()) + " are given");
  std::vector<std::unique_ptr<Column>> columns;
  for (size_t i = 0; i < inputs.size(); ++i) {
    InputFile file(names[i]);
    const NpyHeader npy = read_npy_header(file);
    const TensorDesc& want = inputs[i].desc;
    IntList found = npy.desc.dims, wanted = want.dims;
    const bool per_sample = inputs[i].per_sample;
    if (found.count > 0 && per_sample) found[0] = wanted[0] = 0;
    // Integer inputs are labels or indices, so real numbers are refused.
    const bool real_for_integer = npy.desc.type == DataType::f32 && want.type != DataType::f32;
    if ((found.count == 0 && per_sample) || found != wanted || real_for_integer)
      throw TrainerError(Exit::invalid_model, "'" + names[i] + (per_sample ? "' has samples of " : "' is ") +
                                                  shape_text(npy.desc, per_sample) + ", but input '" + inputs[i].name +
                                                  "' takes " + shape_text(want, per_sample) +
                                                  (per_sample ? "" : ", the same for all samples"));
    const int64_t elements = elements_of(inputs[i]);
    // Bytes are images: 0…255 is scaled to 0…1. Booleans are 0 and 1.
    Scaling scaling;
    if (npy.desc.type == DataType::u8 && !npy.boolean && want.type == DataType::f32) scaling.scale = {1.0f / 255};
    columns.push_back(std::make_unique<FileColumn>(one_file(std::move(file)), per_sample ? npy.desc.dim(0) : 1,
                                                   npy.data_offset, elements * bytes_of(npy.desc.type), npy.desc.type,
                                                   want.type, elements, std::move(scaling)));
  }
  return columns;
}

// https://www.cs.toronto.edu/~kriz/cifar.html: files of 10,000 records, a byte of label and 3,072 of pixels, one
// channel after the other. Normalized by the mean and the deviation of the training set.
void open_cifar10(Dataset& dataset, const std::string& directory, Part part, std::span<const ProgramInput> inputs) {
  constexpr int64_t kPixels = 3072, kRecord = kPixels + 1;
  constexpr std::array<float, 3> kMean = {0.4914f, 0.4822f, 0.4465f}, kDeviation = {0.2470f, 0.2435f, 0.2616f};
  need_two_inputs(inputs, "CIFAR-10", kPixels, "3x32x32 pixels");
  auto files = std::make_shared<std::vector<InputFile>>();
  if (part != Part::training) {
    files->emplace_back(directory + "/test_batch.bin");
  } else {
    for (int i = 1; i <= 5; ++i) files->emplace_back(directory + "/data_batch_" + std::to_string(i) + ".bin");
  }
  const int64_t per_file = files->front().bytes() / kRecord;
  for (const InputFile& file : *files)
    if (per_file == 0 || file.bytes() != per_file * kRecord)
      throw TrainerError(Exit::unreadable_input,
                         "'" + file.path() + "' is not of CIFAR-10's binary version: " + std::to_string(file.bytes()) +
                             " bytes, a record has 3073, and all files have as many");
  Scaling scaling{.scale = {}, .shift = {}};
  for (size_t c = 0; c < 3; ++c) {
    scaling.scale.push_back(1 / (255 * kDeviation[c]));
    scaling.shift.push_back(-kMean[c] / kDeviation[c]);
  }
  std::vector<std::unique_ptr<Column>>& columns = dataset.columns;
  columns.push_back(
      std::make_unique<FileColumn>(files, per_file, 1, kRecord, DataType::u8, DataType::f32, kPixels, scaling));
  columns.push_back(
      std::make_unique<FileColumn>(files, per_file, 0, kRecord, DataType::u8, inputs[1].desc.type, 1, Scaling{}));
  dataset.classes = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  dataset.preparation = {
      {"source", "cifar10"}, {"crop", "32x32"}, {"mean", list_text(kMean)}, {"std", list_text(kDeviation)}};
}

namespace {

// idx: two zero bytes, element type (8: unsigned byte), number of dimensions, each dimension in big endian, elements.
// A sample is a byte (rank 1) or an image of 28x28 (rank 3). Returns the number of samples and their offset.
std::pair<int64_t, int64_t> read_idx_header(const InputFile& file, int64_t rank) {
  std::array<unsigned char, 16> start{};
  const int64_t begin = 4 + 4 * rank;
  if (file.bytes() >= begin) file.read(0, reinterpret_cast<std::byte*>(start.data()), begin);
  const auto big_endian = [&](size_t at) {
    return static_cast<int64_t>(start[at]) << 24 | start[at + 1] << 16 | start[at + 2] << 8 | start[at + 3];
  };
  if (start[2] != 8 || start[3] != rank)
    throw TrainerError(Exit::unreadable_input, "'" + file.path() + "' is not an idx file of " + std::to_string(rank) +
                                                   " dimensions and bytes (unpack it, if it is compressed)");
  bool fits = true;
  for (int64_t axis = 1; axis < rank; ++axis) fits = fits && big_endian(static_cast<size_t>(4 + 4 * axis)) == 28;
  const int64_t samples = big_endian(4);
  if (!fits || file.bytes() != begin + samples * (rank == 3 ? 784 : 1))
    throw TrainerError(Exit::unreadable_input, "'" + file.path() + "' is damaged: its header does not fit its length");
  return {samples, begin};
}

}  // namespace

// Scales pixels to 0…1 and normalizes by the mean and deviation of the training set.
void open_mnist(Dataset& dataset, const std::string& directory, Part part, std::span<const ProgramInput> inputs) {
  constexpr int64_t kPixels = 784;
  constexpr float kMean = 0.1307f, kDeviation = 0.3081f;
  need_two_inputs(inputs, "MNIST", kPixels, "28x28 pixels");
  const std::string stem = directory + (part != Part::training ? "/t10k" : "/train");
  InputFile images(stem + "-images-idx3-ubyte"), labels(stem + "-labels-idx1-ubyte");
  const auto [samples, pixels_at] = read_idx_header(images, 3);
  const auto [label_count, labels_at] = read_idx_header(labels, 1);
  const Scaling scaling{.scale = {1 / (255 * kDeviation)}, .shift = {-kMean / kDeviation}};
  std::vector<std::unique_ptr<Column>>& columns = dataset.columns;
  columns.push_back(std::make_unique<FileColumn>(one_file(std::move(images)), samples, pixels_at, kPixels, DataType::u8,
                                                 DataType::f32, kPixels, scaling));
  columns.push_back(std::make_unique<FileColumn>(one_file(std::move(labels)), label_count, labels_at, 1, DataType::u8,
                                                 inputs[1].desc.type, 1, Scaling{}));
  for (char digit = '0'; digit <= '9'; ++digit) dataset.classes.emplace_back(1, digit);
  dataset.preparation = {
      {"source", "mnist"}, {"crop", "28x28"}, {"mean", list_text({{kMean}})}, {"std", list_text({{kDeviation}})}};
}

// Eight batches. The test part has another seed.
std::vector<std::unique_ptr<Column>> synthetic_columns(uint64_t seed, Part part, const Program& program) {
  std::vector<std::unique_ptr<Column>> columns;
  for (size_t i = 0; i < program.inputs.size(); ++i)
    columns.push_back(std::make_unique<SyntheticColumn>(
        random_bits(seed, 2 * i + (part != Part::training ? 1 : 0)), 8 * program.batch, program.inputs[i],
        program.inputs[i].bound > 0 ? program.inputs[i].bound : program.classes,
        program.counts_correct && i + 1 == program.inputs.size()));
  return columns;
}

}  // namespace plimsoll::train
