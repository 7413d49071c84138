#include "runtime/train/dataset.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "runtime/train/counted.h"
#include "runtime/train/error.h"

namespace plimsoll::train {

std::string list_text(std::span<const float> numbers) {
  std::string text;
  for (const float number : numbers) {
    char one[32];
    std::snprintf(one, sizeof one, "%s%.9g", text.empty() ? "" : ",", static_cast<double>(number));
    text += one;
  }
  return text;
}

std::string shape_text(const TensorDesc& desc, bool per_sample) {
  std::string text = std::string(name_of(desc.type)) + "[";
  const size_t first = per_sample ? 1 : 0;
  for (size_t axis = first; axis < desc.rank(); ++axis)
    text += (axis > first ? "," : "") + std::to_string(desc.dim(axis));
  return text + "]";
}

namespace {

// The first per-sample column determines the number of samples; the others must agree.
void count_samples(Dataset& dataset, const Program& program) {
  const auto counts = [](const ProgramInput& input) { return input.per_sample; };
  const auto first =
      static_cast<size_t>(std::find_if(program.inputs.begin(), program.inputs.end(), counts) - program.inputs.begin());
  dataset.samples = first < dataset.columns.size() ? dataset.columns[first]->samples() : 1;
  for (size_t i = first; i < dataset.columns.size(); ++i)
    if (counts(program.inputs[i]) && dataset.columns[i]->samples() != dataset.samples)
      throw TrainerError(Exit::invalid_model, "'" + dataset.name + "' has " + counted(dataset.samples, "sample") +
                                                  " of " + program.inputs[first].name + " but " +
                                                  std::to_string(dataset.columns[i]->samples()) + " of " +
                                                  program.inputs[i].name);
}

}  // namespace

Dataset open_dataset(const std::string& source, Part part, const Program& program, const ImageOptions& images) {
  const size_t colon = source.find(':');
  const std::string kind = source.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : source.substr(colon + 1);
  Dataset dataset{.name = source, .columns = {}};
  if (kind == "npy") {
    dataset.columns = npy_columns(rest, program.inputs);
  } else if (kind == "tokens") {
    dataset.columns = token_columns(rest, program);
  } else if (kind == "images") {
    open_images(dataset, rest, part, images, program);
  } else if (kind == "cifar10") {
    open_cifar10(dataset, rest, part, program.inputs);
  } else if (kind == "mnist") {
    open_mnist(dataset, rest, part, program.inputs);
  } else if (kind == "synthetic") {
    uint64_t seed = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), seed);
    if (!rest.empty() && (error != std::errc() || end != rest.data() + rest.size()))
      throw TrainerError(Exit::usage, "synthetic takes a number as its seed, not '" + rest + "'");
    dataset.columns = synthetic_columns(seed, part, program);
  } else {
    throw TrainerError(
        Exit::usage, "unknown data '" + source +
                         "': use npy:X.npy,Y.npy, tokens:FILE, images:DIR, cifar10:DIR, mnist:DIR or synthetic[:SEED]");
  }
  count_samples(dataset, program);
  return dataset;
}

std::string sources_for(const Program& program) {
  const std::span<const ProgramInput> inputs = program.inputs;
  std::string files = "npy:";
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string name = inputs.size() == 2 ? (i == 0 ? "X" : "Y") : inputs[i].name;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '_' && c != '.' && c != '-'; },
        '_');
    files += (i > 0 ? "," : "") + name + ".npy";
  }
  std::string list = files;
  if (inputs.size() == 2 && inputs[0].desc.rank() == 4 && inputs[0].desc.type == DataType::f32 &&
      inputs[1].desc.rank() == 1 && inputs[1].desc.type != DataType::f32) {
    const int64_t channels = inputs[0].desc.dim(1), height = inputs[0].desc.dim(2), width = inputs[0].desc.dim(3);
    if (channels == 1 || channels == 3) list += ", images:DIR";
    if (channels == 3 && height == 32 && width == 32) list += ", cifar10:DIR";
    if (channels == 1 && height == 28 && width == 28) list += ", mnist:DIR";
  }
  if (inputs.size() == 2 && inputs[0].desc.rank() == 2 && inputs[1].desc.rank() == 2 &&
      inputs[0].desc.type == inputs[1].desc.type && inputs[0].desc.type != DataType::f32)
    list += ", tokens:FILE";
  return list + " or synthetic";
}

namespace {

// Zeros, in place of labels that were not given.
class ZeroColumn final : public Column {
 public:
  ZeroColumn(int64_t samples, int64_t bytes) : samples_(samples), bytes_(bytes) {}
  int64_t samples() const override { return samples_; }
  void read(int64_t, std::byte* to) override { std::memset(to, 0, static_cast<size_t>(bytes_)); }

 private:
  int64_t samples_, bytes_;
};

}  // namespace

Dataset open_unlabelled(const std::string& source, const Program& program, const ImageOptions& images) {
  const bool bare = source.ends_with(".npy") && !source.starts_with("npy:");
  const bool npy = bare || source.starts_with("npy:");
  const std::string files = bare ? source : npy ? source.substr(4) : "";
  const auto given = static_cast<size_t>(std::count(files.begin(), files.end(), ',')) + 1;
  if (!npy || given + 1 != program.inputs.size())
    return open_dataset(bare ? "npy:" + source : source, Part::prediction, program, images);
  Dataset dataset{.name = source, .columns = npy_columns(files, program.inputs.first(given))};
  count_samples(dataset, program);
  dataset.columns.push_back(std::make_unique<ZeroColumn>(dataset.samples, sample_bytes(program.inputs.back())));
  return dataset;
}

namespace {

int64_t integer_at(const std::byte* values, DataType type, int64_t at) {
  int64_t wide = 0;
  int32_t narrow = 0;
  switch (type) {
    case DataType::i64: std::memcpy(&wide, values + at * 8, 8); return wide;
    case DataType::i32: std::memcpy(&narrow, values + at * 4, 4); return narrow;
    default: return static_cast<int64_t>(values[at]);
  }
}

// The range of a column's integers, with the words of its error message.
struct Range {
  int64_t bound = 0;     // integers are in [0, bound); 0: any
  int64_t ignored = kNoLabel;  // also accepted
  std::string one = {}, all = {};  // "label", "classes": "label 10, but the model has classes 0 to 9"
  bool holds(int64_t number) const {
    return (number >= 0 && number < bound) || (number == ignored && number != kNoLabel);
  }
};

// What one pass over all labels finds.
struct LabelCounts {
  std::vector<int32_t> counted = {};  // labels of each sample; empty: all of them
  std::vector<double> weights = {};   // the sum of their classes' weights
};

bool counts_labels(const ProgramInput& input, bool last, const Program& program) {
  return input.end_label > 0 || (last && program.classes > 0);
}

// Checks every number; counts the labels of each sample that are not ignored. `weights`: of the classes.
LabelCounts check_column(const Dataset& dataset, size_t i, const ProgramInput& input, const Range& range,
                         std::span<const float> weights = {}) {
  Column& column = *dataset.columns[i];
  const bool may_be_left_out = range.ignored >= 0 && range.ignored < range.bound;
  if (range.bound <= 0 || input.desc.type == DataType::f32 ||
      (column.is_checked() && !may_be_left_out && weights.empty()))
    return {};
  const int64_t bytes = sample_bytes(input), count = bytes / bytes_of(input.desc.type);
  const int64_t first = input.end_label > 0 ? input.first_label : 0,
                end = input.end_label > 0 ? input.end_label : count;
  const int64_t samples = input.per_sample ? dataset.samples : 1;
  std::vector<std::byte> sample(static_cast<size_t>(bytes));
  LabelCounts counts;
  if (!weights.empty()) counts.weights.assign(static_cast<size_t>(samples), 0);
  for (int64_t at = 0; at < samples; ++at) {
    column.read(at, sample.data());
    for (int64_t k = 0; k < count; ++k) {
      const int64_t number = integer_at(sample.data(), input.desc.type, k);
      if (!range.holds(number))
        throw TrainerError(
            Exit::invalid_model,
            "sample " + std::to_string(at) + " of '" + dataset.name + "' has " + range.one + " " +
                std::to_string(number) +
                (number == kNoLabel && input.desc.type == DataType::i32 ? ", or one that 32 bits do not hold" : "") +
                ", but the model has " + range.all + " 0 to " + std::to_string(range.bound - 1) +
                (range.ignored == kNoLabel ? "" : ", and ignores " + std::to_string(range.ignored)));
      if (k < first || k >= end) continue;
      if (number != range.ignored) {
        if (!weights.empty())
          counts.weights[static_cast<size_t>(at)] += static_cast<double>(weights[static_cast<size_t>(number)]);
        continue;
      }
      if (counts.counted.empty())
        counts.counted.assign(static_cast<size_t>(samples), static_cast<int32_t>(end - first));
      --counts.counted[static_cast<size_t>(at)];
    }
  }
  if (weights.empty()) counts.weights.assign(counts.counted.begin(), counts.counted.end());
  return counts;
}

}  // namespace

void check_indices(Dataset& dataset, const Program& program) {
  for (size_t i = 0; i < dataset.columns.size(); ++i) {
    const ProgramInput& input = program.inputs[i];
    check_column(dataset, i, input,
                 {.bound = input.bound,
                  .ignored = input.ignored,
                  .one = std::string("in '") + input.name + "' the index",
                  .all = "rows"});
  }
}

void check_integers(Dataset& dataset, const Program& program, const ClassWeights& class_weights) {
  dataset.label_weights.assign(dataset.columns.size(), {});
  for (size_t i = 0; i < dataset.columns.size(); ++i) {
    const ProgramInput& input = program.inputs[i];
    const bool last = i + 1 == dataset.columns.size();
    if (!counts_labels(input, last, program)) {
      check_column(dataset, i, input,
                   {.bound = input.bound,
                    .ignored = input.ignored,
                    .one = std::string("in '") + input.name + "' the index",
                    .all = "rows"});
      continue;
    }
    if (last && input.bound > 0 && input.bound != program.classes)  // they also index a table
      check_column(dataset, i, input,
                   {.bound = input.bound,
                    .ignored = input.ignored,
                    .one = std::string("in '") + input.name + "' the index",
                    .all = "rows"});
    LabelCounts counts =
        check_column(dataset, i, input,
                     {.bound = last && program.classes > 0 ? program.classes : input.bound,
                      .ignored = input.ignored,
                      .one = last ? "label" : std::string("in '") + input.name + "' the label",
                      .all = "classes"},
                     i < class_weights.size() ? std::span<const float>(class_weights[i]) : std::span<const float>());
    dataset.label_weights[i] = std::move(counts.weights);
    if (last) dataset.counted_labels = std::move(counts.counted);
  }
}

void check_targets(Dataset& dataset, const Program& program) {
  const ProgramInput& input = program.inputs.back();
  if (!program.counts_correct || input.desc.type != DataType::f32) return;
  constexpr float kByte = 1.0F / 255;
  std::vector<float> sample(static_cast<size_t>(sample_bytes(input) / 4));
  float largest = 0;
  for (int64_t at = 0; at < dataset.samples; ++at) {
    dataset.columns.back()->read(at, reinterpret_cast<std::byte*>(sample.data()));
    for (const float target : sample) {
      if (target < 0 || target > 1)
        throw TrainerError(Exit::invalid_model, "sample " + std::to_string(at) + " of '" + dataset.name +
                                                    "' has target " + std::to_string(target) +
                                                    ", but the loss takes 0 to 1");
      largest = std::max(largest, target);
    }
  }
  if (largest == kByte)
    throw TrainerError(Exit::invalid_model,
                       "no target of '" + dataset.name +
                           "' is above 1/255: uint8 becomes 0…1, 255 being 1; save zeros and ones as float32");
}

}  // namespace plimsoll::train
