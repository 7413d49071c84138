// What a trainer is fed with: samples in a fixed order, each converted to what the program's inputs ask for.
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

// One input's samples. Where they are (a file, memory, a generator) is the column's own affair.
class Column {
 public:
  virtual ~Column() = default;
  virtual int64_t samples() const = 0;  // 1 where the input is the same for all
  // What is drawn for a sample of the epoch (a place to cut, a side) is a function of this key and of the sample.
  virtual void begin_epoch(uint64_t key) { static_cast<void>(key); }
  // Whoever opened it has looked at every number already: check_integers need not.
  virtual bool is_checked() const { return false; }
  // Sample `index`, as the input's element type. Several threads may read at once, but not during begin_epoch. Allocates
  // nothing, except for images and in a thread's first call.
  virtual void read(int64_t index, std::byte* to) = 0;
};

struct Dataset {
  std::string name;
  std::vector<std::unique_ptr<Column>> columns;  // one per input
  int64_t samples = 0;
  // Of each sample, how many labels of the last input the loss counts; empty: all of them. Known once check_integers has looked.
  std::vector<int32_t> counted_labels = {};
  // Of each input that is labels, and of each sample, what they count for together; empty: 1 for each of them.
  std::vector<std::vector<double>> label_weights = {};
  std::vector<std::string> warnings = {};  // for the user to hear once
  // For predictions and saved models (model_notes.h). Empty: nobody knows.
  std::vector<std::string> classes = {};                                // names, by label
  std::vector<std::pair<std::string, std::string>> preparation = {};    // what was done to samples
  std::function<std::string(int64_t)> name_of = {};                     // the file of a sample
};

// Of images:DIR. Means and deviations are of pixels from 0 to 1, one for all channels or one for each.
struct ImageOptions {
  int64_t resize = 0;  // the shorter side, before a piece of the model's size is cut out; 0: as it is, or as large as needed
  bool random_crop = false, random_resized_crop = false, flip = false;  // of training samples
  float color_jitter = 0;  // of training samples: factors from 1 - this to 1 + this
  std::vector<float> mean = {0}, deviation = {1};
  float mean_of(int64_t channel) const { return mean[mean.size() == 1 ? 0 : static_cast<size_t>(channel)]; }
  float deviation_of(int64_t channel) const { return deviation[deviation.size() == 1 ? 0 : static_cast<size_t>(channel)]; }
};

// Opens "npy:…", "tokens:…", "images:DIR", "cifar10:DIR", "mnist:DIR" or "synthetic[:SEED]" and checks it against the program's
// inputs: number of columns, shapes, element types. Throws TrainerError: usage for a source that is not one, unreadable_input, or
// invalid_model when the data are of another shape than the model asks for.
Dataset open_dataset(const std::string& source, Part part, const Program& program, const ImageOptions& images = {});

// The sources that fit the program's inputs, for an error: "npy:image.npy,labels.npy, images:DIR, cifar10:DIR or synthetic".
std::string sources_for(const Program& program);

// The same without labels: of "npy:X.npy", or just "X.npy", the last input's file may be left out, and its samples are zeros.
Dataset open_unlabelled(const std::string& source, const Program& program, const ImageOptions& images = {});

// Every number that picks a row of a table is one of its rows. Reads all of them once. Throws TrainerError (invalid_model)
// with the first that is not.
void check_indices(Dataset& dataset, const Program& program);

// The same, and every label is in [0, classes), or is the one that the loss leaves out; real numbers are not looked at. Where
// labels are left out, it is noted how many each sample has left, and what they count for. `class_weights`: of each input, where
// its labels count for different weights; empty: none has such.
using ClassWeights = std::vector<std::vector<float>>;
void check_integers(Dataset& dataset, const Program& program, const ClassWeights& class_weights = {});

// Targets that are yes or no are from 0 to 1.
void check_targets(Dataset& dataset, const Program& program);

// The pieces of open_dataset, one per kind of source.
std::vector<std::unique_ptr<Column>> npy_columns(const std::string& paths, std::span<const ProgramInput> inputs);
// These three fill in all but the name and the number of samples.
void open_cifar10(Dataset& dataset, const std::string& directory, Part part, std::span<const ProgramInput> inputs);
void open_mnist(Dataset& dataset, const std::string& directory, Part part, std::span<const ProgramInput> inputs);
void open_images(Dataset& dataset, const std::string& directory, Part part, const ImageOptions& options, const Program& program);
std::vector<std::unique_ptr<Column>> token_columns(const std::string& paths, const Program& program);
std::vector<std::unique_ptr<Column>> synthetic_columns(uint64_t seed, Part part, const Program& program);

// Bytes of one sample of an input; of an input that is the same for all, its bytes.
inline int64_t sample_bytes(const ProgramInput& input) {
  return input.per_sample ? input.desc.bytes() / std::max<int64_t>(1, input.desc.dim(0)) : input.desc.bytes();
}

// Labels of one sample that a loss looks at.
inline int64_t labels_of_sample(const ProgramInput& labels) {
  return labels.end_label > 0 ? labels.end_label - labels.first_label : sample_bytes(labels) / bytes_of(labels.desc.type);
}

// Labels of one sample: 1, or as many as there are tokens, pixels, or answers of yes and no.
inline int64_t labels_per_sample(const Program& program) {
  return program.classes > 0 || program.counts_correct ? labels_of_sample(program.inputs.back()) : 1;
}
// "0.485,0.456,0.406"
std::string list_text(std::span<const float> numbers);
std::string shape_text(const TensorDesc& desc, bool per_sample = true);  // "f32[3,32,32]" of one sample, or of the whole

}  // namespace plimsoll::train
