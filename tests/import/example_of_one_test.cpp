// Random programs of Reshape and Transpose that were exported for one sample. What the compiler reads is run with three
// samples: it is refused, or each sample is treated as the program treats the only one.
#include <catch2/catch.hpp>
#include <algorithm>
#include <numeric>
#include <random>

#include "compiler/network/simplify/reshape_target.h"

using namespace plimsoll;

namespace {

constexpr int64_t kSamples = 3;
constexpr int kSample = 0;  // among the factors of a dimension: the only sample

int64_t size_of(const std::vector<int>& factors) {
  int64_t size = 1;
  for (const int factor : factors) size *= factor == kSample ? 1 : factor;
  return size;
}

// A tensor of numbered elements, of one sample or of three.
struct Elements {
  std::vector<int64_t> dims = {};
  std::vector<int64_t> numbers = {};

  void transpose(const std::vector<size_t>& order) {
    std::vector<int64_t> strides(dims.size(), 1), turned;
    for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
    for (const size_t axis : order) turned.push_back(dims[axis]);
    std::vector<int64_t> moved, at(dims.size(), 0);
    for (size_t i = 0; i < numbers.size(); ++i) {
      int64_t from = 0;
      for (size_t j = 0; j < order.size(); ++j) from += at[j] * strides[order[j]];
      moved.push_back(numbers[static_cast<size_t>(from)]);
      for (size_t j = order.size(); j-- > 0 && ++at[j] == turned[j];) at[j] = 0;
    }
    dims = turned;
    numbers = moved;
  }
};

class Program {
 public:
  explicit Program(uint32_t seed) : random_(seed) {}

  // Nothing wrong: "". A refusal: "refused".
  std::string run() {
    const int steps = pick({2, 3, 4, 6}), width = pick({4, 6, 8, 12});
    factors_ = {{kSample}, {steps}, {width}};
    read_ = {kBatch, {steps}, {width}};
    one_ = numbered(1);
    three_ = numbered(kSamples);
    for (int i = below(7) + 4; i > 0; --i) {
      const int what = below(3);
      const bool done = what == 0 ? turn() : what == 1 ? merge() : split();
      if (!done) return "refused";
    }
    if (!end()) return "refused";
    for (size_t n = 0; n < kSamples; ++n)
      for (size_t i = 0; i < one_.numbers.size(); ++i)
        if (three_.numbers[n * one_.numbers.size() + i] != static_cast<int64_t>(n) * 1000 + one_.numbers[i])
          return "wrong";
    return "";
  }

 private:
  int below(int end) { return static_cast<int>(random_() % static_cast<uint32_t>(end)); }
  int pick(const std::vector<int>& from) { return from[static_cast<size_t>(below(static_cast<int>(from.size())))]; }

  Elements numbered(int64_t samples) const {
    Elements made{.dims = {samples, factors_[1][0], factors_[2][0]}};
    for (int64_t n = 0; n < samples; ++n)
      for (int64_t i = 0; i < made.dims[1] * made.dims[2]; ++i) made.numbers.push_back(n * 1000 + i);
    return made;
  }

  void transpose(const std::vector<size_t>& order) {
    one_.transpose(order);
    three_.transpose(order);
    const auto factors = factors_;
    const Dims read = read_;
    for (size_t i = 0; i < order.size(); ++i) factors_[i] = factors[order[i]], read_[i] = read[order[i]];
  }

  bool turn() {
    std::vector<size_t> order(factors_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_() % i]);
    transpose(order);
    return true;
  }

  // A Reshape to the sizes of the factors, as an exporter writes it for one sample.
  bool reshape() {
    std::vector<Dim> target;
    for (const auto& factors : factors_) target.push_back({size_of(factors)});
    return reshape(target);
  }

  bool reshape(const std::vector<Dim>& target) {
    const ReshapeTarget found = reshape_target(read_, target, true, 1, rows_);
    if (!found.error.empty()) return false;
    int64_t all = 1, others = 1;
    for (const Dim dim : read_) all *= dim.value;
    for (const int64_t entry : found.entries) others *= entry == -1 ? 1 : entry;
    read_ = {};
    one_.dims = three_.dims = {};
    for (size_t i = 0; i < target.size(); ++i) {
      const bool batch = found.entries[i] == -1;
      read_.push_back(batch ? Dim{all / others, true} : Dim{found.entries[i]});
      one_.dims.push_back(target[i].value);
      three_.dims.push_back(read_.back().at(kSamples));
    }
    return true;
  }

  bool merge() {
    if (factors_.size() < 3) return true;
    const size_t at = static_cast<size_t>(below(static_cast<int>(factors_.size()) - 1));
    factors_[at].insert(factors_[at].end(), factors_[at + 1].begin(), factors_[at + 1].end());
    factors_.erase(factors_.begin() + static_cast<int64_t>(at) + 1);
    return reshape();
  }

  bool split() {
    if (factors_.size() > 4) return true;
    const size_t at = static_cast<size_t>(below(static_cast<int>(factors_.size())));
    std::vector<int> front = factors_[at], behind;
    if (front.size() > 1) {
      const int64_t cut = below(static_cast<int>(front.size()) - 1) + 1;
      behind.assign(front.begin() + cut, front.end());
      front.resize(static_cast<size_t>(cut));
    } else if (front[0] != kSample && front[0] % 2 == 0 && front[0] > 2) {
      behind = {front[0] / 2};
      front = {2};
    } else {
      return true;
    }
    factors_[at] = front;
    factors_.insert(factors_.begin() + static_cast<int64_t>(at) + 1, behind);
    return reshape();
  }

  // Gives the sample a dimension of its own in front, and merges all others.
  bool end() {
    const auto has_sample = [](const auto& factors) {
      return std::find(factors.begin(), factors.end(), kSample) != factors.end();
    };
    size_t at = static_cast<size_t>(std::find_if(factors_.begin(), factors_.end(), has_sample) - factors_.begin());
    const std::vector<int> whole = factors_[at];
    if (whole.size() > 1) {
      const auto sample = std::find(whole.begin(), whole.end(), kSample);
      std::vector<std::vector<int>> parts = {{whole.begin(), sample}, {kSample}, {sample + 1, whole.end()}};
      std::erase_if(parts, [](const auto& part) { return part.empty(); });
      factors_.erase(factors_.begin() + static_cast<int64_t>(at));
      factors_.insert(factors_.begin() + static_cast<int64_t>(at), parts.begin(), parts.end());
      at += sample != whole.begin();
      if (!reshape()) return false;
    }
    std::vector<size_t> order(factors_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::rotate(order.begin(), order.begin() + static_cast<int64_t>(at), order.begin() + static_cast<int64_t>(at) + 1);
    transpose(order);
    return reshape({{1}, {static_cast<int64_t>(one_.numbers.size())}}) && read_[0] == kBatch;
  }

  std::mt19937 random_;
  std::vector<std::vector<int>> factors_ = {};  // of each dimension
  Dims read_ = {};                              // as the compiler reads the program
  Elements one_ = {}, three_ = {};
  MergedRows rows_ = {};
};

}  // namespace

TEST_CASE("programs of Reshape and Transpose exported for one sample treat three samples alike, or are refused") {
  int accepted = 0;
  std::string wrong;
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    const std::string said = Program(seed).run();
    accepted += said.empty();
    if (said == "wrong") wrong += std::to_string(seed) + " ";
  }
  CHECK(wrong == "");
  CHECK(accepted > 3000);
}
