#include "runtime/train/dataset.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <vector>

#include "runtime/train/counted.h"
#include "runtime/train/error.h"

namespace plimsoll::train {

std::string shape_text(const TensorDesc& desc, bool per_sample) {
  std::string text = std::string(name_of(desc.type)) + "[";
  const size_t first = per_sample ? 1 : 0;
  for (size_t axis = first; axis < desc.rank(); ++axis) text += (axis > first ? "," : "") + std::to_string(desc.dim(axis));
  return text + "]";
}

namespace {

// The first column that has one value for each sample says how many there are; the others have as many.
void count_samples(Dataset& dataset, const Program& program) {
  const auto counts = [](const ProgramInput& input) { return input.per_sample; };
  const auto first = static_cast<size_t>(std::find_if(program.inputs.begin(), program.inputs.end(), counts) - program.inputs.begin());
  dataset.samples = first < dataset.columns.size() ? dataset.columns[first]->samples() : 1;
  for (size_t i = first; i < dataset.columns.size(); ++i)
    if (counts(program.inputs[i]) && dataset.columns[i]->samples() != dataset.samples)
      throw TrainerError(Exit::invalid_model, "'" + dataset.name + "' has " + counted(dataset.samples, "sample") + " of " +
                                                  program.inputs[first].name + " but " +
                                                  std::to_string(dataset.columns[i]->samples()) + " of " + program.inputs[i].name);
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
    dataset.columns = image_columns(rest, part, images, program, dataset.warnings);
  } else if (kind == "cifar10") {
    dataset.columns = cifar10_columns(rest, part, program.inputs);
  } else if (kind == "mnist") {
    dataset.columns = mnist_columns(rest, part, program.inputs);
  } else if (kind == "synthetic") {
    uint64_t seed = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), seed);
    if (!rest.empty() && (error != std::errc() || end != rest.data() + rest.size()))
      throw TrainerError(Exit::usage, "synthetic takes a number as its seed, not '" + rest + "'");
    dataset.columns = synthetic_columns(seed, part, program);
  } else {
    throw TrainerError(Exit::usage, "unknown data '" + source +
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
    std::replace_if(name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '_' && c != '.' && c != '-'; }, '_');
    files += (i > 0 ? "," : "") + name + ".npy";
  }
  std::string list = files;
  if (inputs.size() == 2 && inputs[0].desc.rank() == 4 && inputs[0].desc.type == DataType::f32 && inputs[1].desc.rank() == 1 &&
      inputs[1].desc.type != DataType::f32) {
    const int64_t channels = inputs[0].desc.dim(1), height = inputs[0].desc.dim(2), width = inputs[0].desc.dim(3);
    if (channels == 1 || channels == 3) list += ", images:DIR";
    if (channels == 3 && height == 32 && width == 32) list += ", cifar10:DIR";
    if (channels == 1 && height == 28 && width == 28) list += ", mnist:DIR";
  }
  if (inputs.size() == 2 && inputs[0].desc.rank() == 2 && inputs[1].desc.rank() == 2 && inputs[0].desc.type == inputs[1].desc.type &&
      inputs[0].desc.type != DataType::f32)
    list += ", tokens:FILE";
  return list + " or synthetic";
}

namespace {

// As many zeros as there are samples of something else.
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
  if (!npy || given + 1 != program.inputs.size()) return open_dataset(bare ? "npy:" + source : source, Part::test, program, images);
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

// What a column's numbers have to be, in words for who gave another.
struct Range {
  int64_t bound = 0;     // they are in [0, bound); 0: any
  int64_t ignored = -1;  // this one is let through, too, but for -1, which stands for what did not fit
  std::string one = {}, all = {};  // "label", "classes": "label 10 when the model has classes 0 to 9"
  bool holds(int64_t number) const { return (number >= 0 && number < bound) || (number == ignored && number != -1); }
};

// Returns how many numbers of each sample are not the one that is let through; nothing where all are.
std::vector<int32_t> check_column(const Dataset& dataset, size_t i, const ProgramInput& input, const Range& range) {
  Column& column = *dataset.columns[i];
  const bool may_be_left_out = range.ignored >= 0 && range.ignored < range.bound;
  if (range.bound <= 0 || input.desc.type == DataType::f32 || (column.is_checked() && !may_be_left_out)) return {};
  const int64_t bytes = sample_bytes(input), count = bytes / bytes_of(input.desc.type);
  std::vector<std::byte> sample(static_cast<size_t>(bytes));
  std::vector<int32_t> kept;
  for (int64_t at = 0; at < (input.per_sample ? dataset.samples : 1); ++at) {
    column.read(at, sample.data());
    for (int64_t k = 0; k < count; ++k) {
      const int64_t number = integer_at(sample.data(), input.desc.type, k);
      if (!range.holds(number))
        throw TrainerError(Exit::invalid_model,
                           "sample " + std::to_string(at) + " of '" + dataset.name + "' has " + range.one + " " + std::to_string(number) +
                               (number == -1 && input.desc.type == DataType::i32 ? ", or one that 32 bits do not hold," : "") +
                               " when the model has " + range.all + " 0 to " + std::to_string(range.bound - 1) +
                               (range.ignored == -1 ? "" : ", and leaves out " + std::to_string(range.ignored)));
      if (number != range.ignored) continue;
      if (kept.empty()) kept.assign(static_cast<size_t>(dataset.samples), static_cast<int32_t>(count));
      --kept[static_cast<size_t>(at)];
    }
  }
  return kept;
}

}  // namespace

void check_indices(Dataset& dataset, const Program& program) {
  for (size_t i = 0; i < dataset.columns.size(); ++i) {
    const ProgramInput& input = program.inputs[i];
    check_column(dataset, i, input, {.bound = input.bound, .one = std::string("in '") + input.name + "' the index", .all = "rows"});
  }
}

void check_integers(Dataset& dataset, const Program& program) {
  check_indices(dataset, program);
  const ProgramInput& labels = program.inputs.back();
  dataset.counted_labels =
      check_column(dataset, dataset.columns.size() - 1, labels,
                   {.bound = program.classes, .ignored = labels.ignored, .one = "label", .all = "classes"});
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
        throw TrainerError(Exit::invalid_model, "sample " + std::to_string(at) + " of '" + dataset.name + "' has target " + std::to_string(target) +
                                                    " when the loss takes 0 to 1");
      largest = std::max(largest, target);
    }
  }
  if (largest == kByte)
    throw TrainerError(Exit::invalid_model, "no target of '" + dataset.name + "' is above 1/255: uint8 becomes 0…1, 255 being 1; save zeros and ones as float32");
}

}  // namespace plimsoll::train
