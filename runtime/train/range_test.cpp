#include "runtime/train/range_test.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace plimsoll::train {

void RangeTest::add(double rate, double loss) {
  constexpr double kKept = 0.98;
  if (!std::isfinite(loss)) {
    ended_ = true;
    return;
  }
  mean_ = kKept * mean_ + (1 - kKept) * loss;
  weight_ *= kKept;
  const double smoothed = mean_ / (1 - weight_);
  least_ = points_.empty() ? smoothed : std::min(least_, smoothed);
  points_.push_back({rate, smoothed});
  ended_ = smoothed > 4 * std::abs(least_) && points_.size() > 1;
}

std::string RangeTest::conclusion() const {
  if (points_.size() < 3) return "learning-rate range test: the first loss is not finite; begin with a lower rate";
  char line[160];
  std::string text = "learning-rate range test\n        rate   smoothed loss\n";
  const size_t every = std::max<size_t>(1, (points_.size() + 19) / 20);
  for (size_t i = 0; i < points_.size(); i += every) {
    std::snprintf(line, sizeof line, "%12.3g %15.6g\n", points_[i].rate, points_[i].loss);
    text += line;
  }
  size_t least = 0, steepest = 1;
  double slope = 0;
  for (size_t i = 1; i < points_.size(); ++i) {
    if (points_[i].loss < points_[least].loss) least = i;
    const double here = (points_[i].loss - points_[i - 1].loss) / std::log(points_[i].rate / points_[i - 1].rate);
    if (i == 1 || here < slope) slope = here, steepest = i;
  }
  if (least == 0) return text + "the loss never fell: try lower rates";
  std::snprintf(line, sizeof line, "the loss falls fastest at %.2g and is lowest at %.2g; begin with --lr %.1g",
                points_[steepest].rate, points_[least].rate,
                std::min(points_[steepest].rate, points_[least].rate / 10));
  return text + line;
}

}  // namespace plimsoll::train
