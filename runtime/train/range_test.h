// Learning-rate range test (Smith 2017): the rate rises by the same factor at each iteration, and the loss shows which
// rates train. The loss is smoothed as in fastai.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::train {

class RangeTest {
 public:
  explicit RangeTest(int64_t iterations) { points_.reserve(static_cast<size_t>(iterations)); }

  void add(double rate, double loss);

  // True once the loss is not finite, or four times its minimum so far.
  bool ended() const { return ended_; }

  // A table of rates and losses, the rates of the minimum and of the steepest descent, and a suggested rate.
  std::string conclusion() const;

 private:
  struct Point {
    double rate, loss;  // smoothed
  };
  std::vector<Point> points_;
  double mean_ = 0, weight_ = 1, least_ = 0;
  bool ended_ = false;
};

}  // namespace plimsoll::train
