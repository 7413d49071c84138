// `train --html FILE`: the curves of the run as one page that needs no network. The page is replaced at the end of each
// epoch and of the run, so a browser always finds a complete one. `plimsoll runs` draws the same charts from metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/program.h"

namespace plimsoll::train {

struct IterationResult;
struct Evaluation;

// Sources of the page, from runtime/train/page/ (page.cmake).
extern const char kRunPageStyles[];
extern const char kRunPageBody[];
extern const char kRunPageScripts[];

// Keeps a fixed number of points per curve: in a longer run, a point is the mean of adjacent iterations. After
// construction, only start_at() and writing the page allocate memory.
class RunPage {
 public:
  struct Length {
    int64_t per_epoch = 1, epochs = 1, steps = 0;  // steps: iterations of the whole run
  };
  // Throws TrainerError (unwritable_output) if the page cannot be written there.
  RunPage(std::string path, const Program& program, const Length& length);
  // After an error, writes the page with the iterations so far.
  ~RunPage();
  RunPage(const RunPage&) = delete;
  RunPage& operator=(const RunPage&) = delete;

  // Once, before the first iteration. A resumed run keeps the curves of an earlier page at this path, up to
  // `iteration`. Throws TrainerError (unwritable_output).
  void start_at(int64_t iteration, int64_t allocated_bytes);
  void iteration(const IterationResult& result);
  void evaluation(int64_t iteration, const Evaluation& result);
  // Writes the page, at most once per second. If that fails, training continues and the next call tries again.
  void write();
  // Writes the final page. Throws TrainerError (unwritable_output).
  void close();

 private:
  enum Column : size_t { kIteration, kElapsed, kLoss, kAccuracy, kRate, kSpeed, kResident, kColumns };
  struct Point {
    std::array<double, kColumns> sum = {};
    std::array<int64_t, kColumns> numbers = {};  // of the finite ones
    int64_t iterations = 0;
    void add(const Point& other);
    double mean(Column column) const;  // NaN: there was none
  };
  struct Test {
    int64_t iteration = 0;
    double elapsed = 0, loss = 0, accuracy = 0;
  };

  void read_earlier(int64_t before);
  bool finished() const { return next_iteration_ >= length_.steps; }
  std::string text(bool running) const;
  std::string verdict(bool running) const;
  std::string data(bool running) const;
  void replace_file(bool running);

  std::string path_, model_;
  Length length_;
  int64_t planned_bytes_ = 0, allocated_bytes_ = 0;
  int64_t next_iteration_ = 0;
  int64_t per_point_ = 1;  // iterations
  double elapsed_ = 0;     // seconds in iterations
  std::vector<Point> points_;
  std::vector<Test> tests_;
  bool open_ = false;      // the file may lack recorded iterations
  double written_at_ = 0;  // by now_seconds()
};

}  // namespace plimsoll::train
