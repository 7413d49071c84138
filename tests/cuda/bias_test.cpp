// The bias kernels for convolutions, and the addend of a matrix product: the emulation lacks the libraries that call
// them.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <vector>

#include "executor.h"
#include "runtime/backend.h"
#include "runtime/cuda/ops/bias.h"
#include "runtime/cuda/ops/broadcast.h"

namespace plimsoll::test {
namespace {

// Floats aligned as in an arena.
class Floats {
 public:
  explicit Floats(int64_t count, float first = 0, float step = 0) : count_(count), buffer_(4 * count) {
    for (int64_t i = 0; i < count; ++i) (*this)[i] = step == 0 ? first : std::sin(first + step * static_cast<float>(i));
  }
  float& operator[](int64_t i) { return data()[i]; }
  float* data() { return reinterpret_cast<float*>(buffer_.data()); }
  int64_t size() const { return count_; }
  bool guards_intact() const { return buffer_.guards_intact(); }

 private:
  int64_t count_;
  Buffer buffer_;
};

const std::vector<cuda::Planes> kShapes = {{3, 5, 49},         {4, 7, 64},          {2, 1500, 4},     {1, 1, 5000},
                                           {8, 3, 4096},       {1, 2, 1},           {3, 5, 49, true}, {2, 40, 64, true},
                                           {2, 1500, 4, true}, {1, 33, 5000, true}, {1, 2, 1, true}};

int64_t channel_of(int64_t i, const cuda::Planes& s) { return (s.channels_last ? i : i / s.plane) % s.channels; }

}  // namespace

TEST_CASE("a bias is added to every plane, with a relu or without") {
  for (const cuda::Planes& s : kShapes)
    for (const bool with_bias : {false, true})
      for (const bool relu : {false, true}) {
        INFO(s.samples << " x " << s.channels << " x " << s.plane << (s.channels_last ? ", channels last" : "")
                       << (with_bias ? ", bias" : "") << (relu ? ", relu" : ""));
        const int64_t count = s.samples * s.channels * s.plane;
        Floats y(count, 0, 0.37F), before(count, 0, 0.37F), b(s.channels, 1, 0.7F);
        cuda::add_bias({}, y.data(), with_bias ? b.data() : nullptr, relu, s);
        backend::finish(nullptr);
        int64_t wrong = 0;
        for (int64_t i = 0; i < count; ++i) {
          const float sum = before[i] + (with_bias ? b[channel_of(i, s)] : 0.0F);
          wrong += y[i] == (relu && !(sum > 0) ? 0.0F : sum) ? 0 : 1;
        }
        CHECK(wrong == 0);
        CHECK(y.guards_intact());
      }
}

TEST_CASE("a bias gradient is the sum over samples and planes, the same bits at every run") {
  for (const cuda::Planes& s : kShapes)
    for (const bool accumulate : {false, true}) {
      INFO(s.samples << " x " << s.channels << " x " << s.plane << (s.channels_last ? ", channels last" : "")
                     << (accumulate ? ", added" : ""));
      Floats dy(s.samples * s.channels * s.plane, 0, 0.37F), db(s.channels, 2), again(s.channels, 2);
      Floats parts(cuda::bias_gradient_workspace(s) / 4, NAN);
      for (Floats* const to : {&db, &again}) {
        cuda::bias_gradient({}, dy.data(), to->data(), accumulate, parts.data(), s);
        backend::finish(nullptr);
      }
      CHECK(std::memcmp(db.data(), again.data(), static_cast<size_t>(4 * s.channels)) == 0);
      for (int64_t c = 0; c < s.channels; ++c) {
        double expected = accumulate ? 2 : 0;
        for (int64_t i = 0; i < dy.size(); ++i)
          if (channel_of(i, s) == c) expected += dy[i];
        CHECK(std::abs(db[c] - expected) <= 1e-4 * (1 + std::abs(expected)));
      }
      CHECK(parts.guards_intact());
    }
}

TEST_CASE("a gradient is added to, to its last element") {
  for (const int64_t count : {1, 3, 4, 1000, 4099}) {
    Floats to(count, 1), from(count, 0, 0.1F);
    cuda::add_to({}, to.data(), from.data(), count);
    backend::finish(nullptr);
    int64_t wrong = 0;
    for (int64_t i = 0; i < count; ++i) wrong += to[i] == 1 + from[i] ? 0 : 1;
    CHECK(wrong == 0);
    CHECK(to.guards_intact());
  }
}

TEST_CASE("an addend is broadcast from the right") {
  Floats y(24), row(4, 0, 1), column(6, 0, 1), one(1, 3);
  const TensorDesc result = f32({2, 3, 4});
  const auto seeded = [&](Floats& c, const TensorDesc& desc, auto place) {
    cuda::seed_with({}, y.data(), result, c.data(), desc, 2);
    backend::finish(nullptr);
    for (int64_t i = 0; i < 24; ++i) CHECK(y[i] == 2 * c[place(i)]);
  };
  seeded(row, f32({4}), [](int64_t i) { return i % 4; });
  seeded(column, f32({2, 3, 1}), [](int64_t i) { return i / 4; });
  seeded(one, f32({}), [](int64_t) { return int64_t{0}; });
}

}  // namespace plimsoll::test
