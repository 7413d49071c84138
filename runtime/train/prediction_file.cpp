#include "runtime/train/prediction_file.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <utility>

#include "runtime/train/dataset.h"
#include "runtime/train/error.h"
#include "runtime/train/file.h"
#include "runtime/train/npy.h"

namespace plimsoll::train {
namespace {

class NpyPredictions final : public PredictionFile {
 public:
  NpyPredictions(const std::string& path, IntList dims, int64_t samples) : out_(path) {
    dims[0] = samples;
    const std::string header = npy_header(dims);
    write(std::as_bytes(std::span(header)));
  }
  void add(std::span<const float> scores) override { write(std::as_bytes(scores)); }
  void commit() override { out_.commit(); }

 private:
  void write(std::span<const std::byte> bytes) {
    out_.write(at_, bytes.data(), static_cast<int64_t>(bytes.size()));
    at_ += static_cast<int64_t>(bytes.size());
  }
  OutputFile out_;
  int64_t at_ = 0;
};

// A line for each sample.
class TextPredictions : public PredictionFile {
 public:
  TextPredictions(const std::string& path, size_t width, Scores kind, Names names)
      : kind_(kind), names_(std::move(names)), sample_(width) {
    if (path != "-") out_.emplace(path);
    for (size_t i = names_.of_class.size(); i < width; ++i) names_.of_class.push_back(std::to_string(i));
  }

  void add(std::span<const float> scores) override {
    for (size_t first = 0; first < scores.size(); first += sample_.size()) {
      std::copy_n(scores.begin() + static_cast<std::ptrdiff_t>(first), sample_.size(), sample_.begin());
      to_probabilities(kind_, sample_);
      say(line(names_.of_sample ? names_.of_sample(samples_) : std::to_string(samples_), sample_));
      ++samples_;
    }
  }
  void commit() override {
    if (out_) out_->commit();
    else std::fflush(stdout);
  }

 protected:
  virtual std::string line(const std::string& name, std::span<const double> values) const = 0;
  void say(const std::string& text) {
    if (!out_) {
      std::fputs(text.c_str(), stdout);
      return;
    }
    out_->write(at_, reinterpret_cast<const std::byte*>(text.data()), static_cast<int64_t>(text.size()));
    at_ += static_cast<int64_t>(text.size());
  }
  Scores kind() const { return kind_; }
  const std::vector<std::string>& classes() const { return names_.of_class; }

 private:
  std::optional<OutputFile> out_;  // none: stdout
  int64_t at_ = 0, samples_ = 0;
  Scores kind_;
  Names names_;
  std::vector<double> sample_;
};

std::string figure_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

size_t largest_of(std::span<const double> values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

// As RFC 4180 has it.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

class CsvPredictions final : public TextPredictions {
 public:
  CsvPredictions(const std::string& path, size_t width, Scores kind, Names names)
      : TextPredictions(path, width, kind, std::move(names)) {
    std::string head = kind == Scores::classes ? "file,class,probability" : "file";
    for (const std::string& name : classes()) head += "," + csv_field(name);
    say(head + "\n");
  }

 private:
  std::string line(const std::string& name, std::span<const double> values) const override {
    std::string text = csv_field(name);
    if (kind() == Scores::classes) {
      const size_t best = largest_of(values);
      text += "," + csv_field(classes()[best]) + "," + figure_of(values[best]);
    }
    for (const double value : values) text += "," + figure_of(value);
    return text + "\n";
  }
};

// photos/tabby.jpg: cat 93.1 %, dog 5.2 %, bird 1.1 %
class ReadablePredictions final : public TextPredictions {
 public:
  using TextPredictions::TextPredictions;

 private:
  std::string line(const std::string& name, std::span<const double> values) const override {
    constexpr size_t kShown = 3;
    std::vector<size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    if (kind() == Scores::classes) {
      std::ranges::stable_sort(order, [&](size_t a, size_t b) { return values[a] > values[b]; });
      order.resize(std::min(kShown, order.size()));
    }
    std::string text = name + ":";
    for (size_t i = 0; i < order.size(); ++i) {
      char percent[32];
      std::snprintf(percent, sizeof percent, "%.1f %%", 100 * values[order[i]]);
      text += (i > 0 ? ", " : " ") + classes()[order[i]] + " " +
              (kind() == Scores::plain ? figure_of(values[order[i]]) : percent);
    }
    return text + "\n";
  }
};

}  // namespace

Scores scores_of(const Program& program) {
  return program.classes > 0 ? Scores::classes : program.counts_correct ? Scores::answers : Scores::plain;
}

void to_probabilities(Scores kind, std::span<double> scores) {
  if (kind == Scores::answers)
    for (double& score : scores) score = 1 / (1 + std::exp(-score));
  if (kind != Scores::classes) return;
  const double most = scores[largest_of(scores)];
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - most);
  for (double& score : scores) score /= sum;
}

std::unique_ptr<PredictionFile> open_predictions(const std::string& path, const Program& program, int64_t samples,
                                                 Names names) {
  const TensorDesc& desc = program.output.desc;
  const bool csv = path.ends_with(".csv"), text = path.ends_with(".txt") || path == "-";
  if (!csv && !text) return std::make_unique<NpyPredictions>(path, desc.dims, samples);
  const Scores kind = scores_of(program);
  const int64_t width = desc.elements() / std::max<int64_t>(1, desc.dim(0));
  if (kind == Scores::classes ? width != program.classes : desc.rank() > 2)
    throw TrainerError(
        Exit::usage, "--out " + path +
                         ": a line for each sample has room for one score of each class; the output of this model is " +
                         shape_text(desc) + ": use --out FILE.npy");
  if (static_cast<int64_t>(names.of_class.size()) != width) names.of_class.clear();
  if (csv) return std::make_unique<CsvPredictions>(path, static_cast<size_t>(width), kind, std::move(names));
  return std::make_unique<ReadablePredictions>(path, static_cast<size_t>(width), kind, std::move(names));
}

}  // namespace plimsoll::train
