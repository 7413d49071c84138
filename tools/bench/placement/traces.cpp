#include "tools/bench/placement/traces.h"

#include <algorithm>
#include <random>
#include <vector>

namespace plimsoll::placement {
namespace {

constexpr int kSegment = 8;  // layers that are recomputed together

class Tracer {
 public:
  Tracer(Trace trace, int layers, uint64_t seed) : trace_(trace), layers_(layers), random_(seed) {
    for (int i = 0; i < layers; ++i) sizes_.push_back(bytes(1000));
    leaves_.assign(sizes_.size(), false);
    if (trace == Trace::offload || trace == Trace::mixed)
      for (size_t i = 0; i < leaves_.size(); ++i) leaves_[i] = random_() % 2 == 0;
    since_.assign(sizes_.size(), -1);
  }

  Problem run() {
    for (int i = 0; i < layers_; ++i) {
      forward(i);
      if (i > 0) used_forward(i - 1);
    }
    used_forward(layers_ - 1);
    int64_t gradient_since = step_++;  // the loss computes the last gradient
    for (int i = layers_ - 1; i >= 0; --i) {
      make_again(i);
      fetch_back(i);
      const int64_t weights = step_++, update = step_++, data = step_++;
      const int64_t weight_bytes = bytes(300);
      add("dw", i, weights, update + 1, weight_bytes);
      if (random_() % 2 == 0) add("ws.dw", i, weights, weights + 1, bytes(400));
      if (i > 0 && random_() % 2 == 0) add("ws.dx", i, data, data + 1, bytes(400));
      add("dy", i, gradient_since, data + 1, sizes_[static_cast<size_t>(i)]);
      gradient_since = data;
      release(i, data);
    }
    return std::move(problem_);
  }

 private:
  int64_t bytes(int64_t most) { return 256 * (1 + static_cast<int64_t>(random_() % static_cast<uint64_t>(most))); }
  void add(const char* what, int layer, int64_t lower, int64_t upper, int64_t size) {
    problem_.buffers.push_back({what + std::to_string(layer) + "@" + std::to_string(lower), lower, upper, size});
  }
  bool kept(int i) const {
    return (trace_ != Trace::recompute && trace_ != Trace::mixed) || i % kSegment == 0 || i == layers_ - 1;
  }
  void forward(int i) {
    if (random_() % 3 == 0) add("ws.y", i, step_, step_ + 1, bytes(400));
    since_[static_cast<size_t>(i)] = step_++;
  }
  void release(int i, int64_t last) {
    int64_t& since = since_[static_cast<size_t>(i)];
    if (since < 0) return;
    add("y", i, since, last + 1, sizes_[static_cast<size_t>(i)]);
    since = -1;
  }
  // After its last forward use, y_i is kept, offloaded by a copy that takes some steps, or dropped.
  void used_forward(int i) {
    if (!kept(i)) release(i, step_ - 1);
    else if (leaves_[static_cast<size_t>(i)]) release(i, step_ - 1 + static_cast<int64_t>(random_() % 6));
  }
  void make_again(int i) {
    if (kept(i) || since_[static_cast<size_t>(i)] >= 0) return;
    const int first = i / kSegment * kSegment;
    fetch_back(first);
    for (int k = first + 1; k <= i; ++k) forward(k);
  }
  void fetch_back(int i) {
    int64_t& since = since_[static_cast<size_t>(i)];
    if (since < 0) since = step_ - 1 - static_cast<int64_t>(random_() % 6);
  }

  const Trace trace_;
  const int layers_;
  std::mt19937_64 random_;
  std::vector<int64_t> sizes_;
  std::vector<bool> leaves_;
  std::vector<int64_t> since_;  // per y: the first step of its open residency, or -1
  int64_t step_ = 0;
  Problem problem_;
};

}  // namespace

std::string_view to_string(Trace trace) {
  switch (trace) {
    case Trace::plain: return "plain";
    case Trace::recompute: return "recompute";
    case Trace::offload: return "offload";
    case Trace::mixed: return "mixed";
  }
  return "";
}

std::vector<Traced> trace_tensors(int layers, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto bytes = [&](int64_t most) {
    return 256 * (1 + static_cast<int64_t>(random() % static_cast<uint64_t>(most)));
  };
  std::vector<Traced> tensors;
  for (int i = 0; i < layers; ++i) {
    const int64_t size = bytes(1000), forward = i, backward = layers + 1 + 3 * (layers - 1 - i);
    std::vector<int64_t> touches = {forward, backward};  // weights, update, data
    if (i + 1 < layers) touches = {forward, forward + 1, backward - 3, backward};
    tensors.push_back({"y" + std::to_string(i), size, touches});
    tensors.push_back(
        {"dy" + std::to_string(i), size, {i + 1 < layers ? backward - 1 : layers, backward, backward + 2}});
    tensors.push_back({"dw" + std::to_string(i), bytes(300), {backward, backward + 1}});
    for (const int64_t step : {forward, backward, backward + 2})
      if (random() % 2 == 0) tensors.push_back({"ws" + std::to_string(step), bytes(400), {step}});
  }
  return tensors;
}

Problem make_trace(Trace trace, int layers, uint64_t seed) { return Tracer(trace, layers, seed).run(); }

}  // namespace plimsoll::placement
