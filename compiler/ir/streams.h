// The event simulator: streams that run their steps in order, and start each step when everything that it waits for
// has ended. The search, the passes and the reports all predict times with it; safety never depends on it.
//
//   compute | a |--| b |       b: ready when the copy has ended
//   h2d     | copy |
#pragma once

#include <algorithm>
#include <array>

#include "compiler/ir/plan.h"

namespace plimsoll {

struct TimeSpan {
  double start = 0, end = 0;  // seconds
};

// One stream.
class Stream {
 public:
  // Appends a step that may start at `ready`. A duration in two parts is added part by part.
  TimeSpan issue(double ready, double seconds, double more_seconds = 0) {
    const double start = std::max(end_, ready);
    return {start, end_ = start + seconds + more_seconds};
  }
  double end() const { return end_; }  // of the last step

 private:
  double end_ = 0;
};

// The seconds of a copy.
struct CopySeconds {
  double latency = 0;   // before the first byte
  double transfer = 0;  // on the link
  double slowdown = 0;  // by which the copy delays the task that overlaps with it
};

// All streams of a device. Copies delay the next task.
class Streams {
 public:
  double end(StreamKind kind) const { return streams_[static_cast<size_t>(kind)].end(); }
  // All streams joined.
  double end() const {
    return std::max({end(StreamKind::compute), end(StreamKind::d2h), end(StreamKind::h2d), end(StreamKind::comm)});
  }

  // A task of `seconds`, plus the delay by copies.
  TimeSpan compute(double ready, double seconds) {
    const double delayed = with_delay(seconds);
    delay_ = 0;
    return at(StreamKind::compute).issue(ready, delayed);
  }
  double with_delay(double seconds) const { return delay_ + seconds; }  // of the next task

  TimeSpan offload(double ready, const CopySeconds& copy) {
    delay_ += copy.slowdown;
    return at(StreamKind::d2h).issue(ready, copy.latency, copy.transfer);
  }
  TimeSpan prefetch(double ready, const CopySeconds& copy) {
    delay_ += copy.slowdown;
    return at(StreamKind::h2d).issue(ready, copy.latency, copy.transfer);
  }
  // A load of the model's input. Before the first task, it overlaps with none.
  TimeSpan load(double ready, const CopySeconds& copy) {
    if (end(StreamKind::compute) > 0) delay_ += copy.slowdown;
    return at(StreamKind::h2d).issue(ready, copy.latency, copy.transfer);
  }

  TimeSpan reduce(double ready, double seconds) { return at(StreamKind::comm).issue(ready, seconds); }

 private:
  Stream& at(StreamKind kind) { return streams_[static_cast<size_t>(kind)]; }

  std::array<Stream, 4> streams_ = {};
  double delay_ = 0;  // of the next task, by the copies since the last one
};

}  // namespace plimsoll
