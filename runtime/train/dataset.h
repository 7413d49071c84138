// Sources of samples. A dataset has one column for each input of the program, and converts samples to its element type.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/program.h"
#include "runtime/train/file.h"

namespace plimsoll::train {

enum class Part {
  training,
  test,
  prediction,  // test samples, whose labels are not looked at
};

// The samples of one input: in a file, in memory, or generated.
class Column {
 public:
  virtual ~Column() = default;
  virtual int64_t samples() const = 0;  // 1 if the input is the same for all samples
  // Random augmentations of a sample (crop, flip) are a function of this key and the sample's index.
  virtual void begin_epoch(uint64_t key) { static_cast<void>(key); }
  // True if all numbers were checked when the column was opened; check_integers then skips it.
  virtual bool is_checked() const { return false; }
  // Sample `index`, as the input's element type. Several threads may read at once, but not during begin_epoch.
  // Allocates nothing, except for images and in a thread's first call.
  virtual void read(int64_t index, std::byte* to) = 0;
};

struct Dataset {
  std::string name;
  std::vector<std::unique_ptr<Column>> columns;  // one per input
  int64_t samples = 0;
  // For each sample, the number of labels of the last input that the loss counts; empty: all of them. Set by
  // check_integers.
  std::vector<int32_t> counted_labels = {};
  // For each input that is labels, and each sample: the sum of its labels' weights; empty: each counts for 1.
  std::vector<std::vector<double>> label_weights = {};
  std::vector<std::string> warnings = {};  // printed once
  // For predictions and saved models (model_notes.h). Empty: unknown.
  std::vector<std::string> classes = {};                                // names, by label
  std::vector<std::pair<std::string, std::string>> preparation = {};    // what was done to samples
  std::function<std::string(int64_t)> name_of = {};                     // the file of a sample
};

// How images:DIR prepares images. Mean and deviation are of pixels from 0 to 1, one for all channels or one for each.
struct ImageOptions {
  int64_t resize = 0;  // the shorter side before the crop; 0: not resized, unless the image is smaller than the crop
  bool random_crop = false, random_resized_crop = false, flip = false;  // for training samples
  bool scaled_decode = false;  // a JPEG may be decoded at a fraction of its size
  float color_jitter = 0;  // for training samples: factors from 1 - this to 1 + this
  std::vector<float> mean = {0}, deviation = {1};
  float mean_of(int64_t channel) const { return mean[mean.size() == 1 ? 0 : static_cast<size_t>(channel)]; }
  float deviation_of(int64_t channel) const {
    return deviation[deviation.size() == 1 ? 0 : static_cast<size_t>(channel)];
  }
};

// Opens "npy:…", "tokens:…", "images:DIR", "cifar10:DIR", "mnist:DIR" or "synthetic[:SEED]" and checks it against the
// program's inputs: number of columns, shapes, element types. Throws TrainerError: usage for an unknown source;
// unreadable_input; invalid_model if the shapes differ from the model's.
Dataset open_dataset(const std::string& source, Part part, const Program& program, const ImageOptions& images = {});

// The sources that fit the program's inputs, for error messages: "npy:image.npy,labels.npy, images:DIR, cifar10:DIR or
// synthetic".
std::string sources_for(const Program& program);

// Opens a source for prediction. The labels' file may be missing from "npy:X.npy", or just "X.npy": labels are zeros
// then.
Dataset open_unlabelled(const std::string& source, const Program& program, const ImageOptions& images = {});

// Checks that every index into a table is one of its rows. Reads all indices once. Throws TrainerError (invalid_model)
// that names the first bad one.
void check_indices(Dataset& dataset, const Program& program);

// As check_indices; also checks that every integer label is in [0, classes), or is the ignored label. If labels are
// ignored, sets counted_labels and label_weights. `class_weights`: for each input, the weights of its labels' classes;
// empty: all 1.
using ClassWeights = std::vector<std::vector<float>>;
void check_integers(Dataset& dataset, const Program& program, const ClassWeights& class_weights = {});

// Checks that targets of bce-logits are from 0 to 1. Throws TrainerError (invalid_model).
void check_targets(Dataset& dataset, const Program& program);

// The parts of open_dataset, one for each kind of source.
std::vector<std::unique_ptr<Column>> npy_columns(const std::string& paths, std::span<const ProgramInput> inputs);
// These three set all members except for the name and the number of samples.
void open_cifar10(Dataset& dataset, const std::string& directory, Part part, std::span<const ProgramInput> inputs);
void open_mnist(Dataset& dataset, const std::string& directory, Part part, std::span<const ProgramInput> inputs);
void open_images(Dataset& dataset, const std::string& directory, Part part, const ImageOptions& options,
                 const Program& program);
std::vector<std::unique_ptr<Column>> token_columns(const std::string& paths, const Program& program);
std::vector<std::unique_ptr<Column>> synthetic_columns(uint64_t seed, Part part, const Program& program);

// Bytes of one sample of an input, or of the whole input if it is the same for all samples.
inline int64_t sample_bytes(const ProgramInput& input) {
  return input.per_sample ? input.desc.bytes() / std::max<int64_t>(1, input.desc.dim(0)) : input.desc.bytes();
}

// The number of labels of one sample that a loss reads.
inline int64_t labels_of_sample(const ProgramInput& labels) {
  if (labels.mixed_labels) return 1;
  return labels.end_label > 0 ? labels.end_label - labels.first_label
                              : sample_bytes(labels) / bytes_of(labels.desc.type);
}

// Labels of one sample: 1, or one for each token, pixel or binary target.
inline int64_t labels_per_sample(const Program& program) {
  return program.classes > 0 || program.counts_correct ? labels_of_sample(program.inputs.back()) : 1;
}
// "0.485,0.456,0.406"
std::string list_text(std::span<const float> numbers);
// "f32[3,32,32]": of one sample, or of the whole tensor.
std::string shape_text(const TensorDesc& desc, bool per_sample = true);

}  // namespace plimsoll::train
