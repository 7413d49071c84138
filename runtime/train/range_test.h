// Learning-rate range test (Smith 2017): the rate rises by the same factor from one iteration to the next, and the
// loss says which rates train. The loss is smoothed as fastai does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::train {

class RangeTest {
 public:
  explicit RangeTest(int64_t iterations) { points_.reserve(static_cast<size_t>(iterations)); }

  void add(double rate, double loss);

  // The loss is no finite number, or four times the least so far: higher rates tell nothing more.
  bool ended() const { return ended_; }

  // A table of rates and losses, where the loss is least and where it falls fastest, and a rate to begin with.
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
