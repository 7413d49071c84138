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
  float* data() { return reinterpret_cast<float*>(bytes()); }
  std::byte* bytes() { return buffer_.data(); }
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
        cuda::bias_gradient<float>({}, dy.data(), to->data(), accumulate, parts.data(), s);
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

TEST_CASE("the bias kernels give the same of elements in bf16 as of the same elements in f32") {
  for (const cuda::Planes& s : kShapes) {
    INFO(s.samples << " x " << s.channels << " x " << s.plane << (s.channels_last ? ", channels last" : ""));
    const int64_t count = s.samples * s.channels * s.plane;
    Floats wide(count, 0, 0.37F), b(s.channels, 1, 0.7F), db(s.channels), same(s.channels), sum(count, 1),
        alike(count, 1);
    Buffer narrow(2 * count), to(2 * count);
    auto* const given = reinterpret_cast<Bf16*>(narrow.data());
    auto* const added = reinterpret_cast<Bf16*>(to.data());
    for (int64_t i = 0; i < count; ++i) {
      given[i] = wide[i];
      wide[i] = given[i];
      added[i] = 1.0F;
    }
    Floats parts(cuda::bias_gradient_workspace(s) / 4, NAN);
    cuda::bias_gradient<float>({}, wide.data(), db.data(), false, parts.data(), s);
    cuda::bias_gradient<Bf16>({}, given, same.data(), false, parts.data(), s);
    cuda::add_to<float, float>({}, sum.data(), wide.data(), count);
    cuda::add_to<float, Bf16>({}, alike.data(), given, count);
    cuda::add_to<Bf16, Bf16>({}, added, given, count);
    cuda::add_bias({}, wide.data(), b.data(), true, s);
    cuda::add_bias({}, given, b.data(), true, s);
    backend::finish(nullptr);
    CHECK(std::memcmp(db.data(), same.data(), static_cast<size_t>(4 * s.channels)) == 0);
    CHECK(std::memcmp(sum.data(), alike.data(), static_cast<size_t>(4 * count)) == 0);
    int64_t wrong = 0;
    for (int64_t i = 0; i < count; ++i)
      wrong += given[i].bits != narrowed(wide[i]) || added[i].bits != narrowed(sum[i]);
    CHECK(wrong == 0);
    CHECK((narrow.guards_intact() && to.guards_intact() && alike.guards_intact() && same.guards_intact()));
  }
}

TEST_CASE("a gradient is added to, to its last element") {
  for (const int64_t count : {1, 3, 4, 1000, 4099}) {
    Floats to(count, 1), from(count, 0, 0.1F);
    cuda::add_to<float, float>({}, to.data(), from.data(), count);
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
    cuda::seed_with({}, y.bytes(), result, c.bytes(), desc, 2);
    backend::finish(nullptr);
    for (int64_t i = 0; i < 24; ++i) CHECK(y[i] == 2 * c[place(i)]);
  };
  seeded(row, f32({4}), [](int64_t i) { return i % 4; });
  seeded(column, f32({2, 3, 1}), [](int64_t i) { return i / 4; });
  seeded(one, f32({}), [](int64_t) { return int64_t{0}; });
  Buffer rounded(2 * 24);
  cuda::seed_with({}, rounded.data(), {DataType::bf16, {2, 3, 4}}, row.bytes(), f32({4}), 2);
  backend::finish(nullptr);
  for (int64_t i = 0; i < 24; ++i)
    CHECK(reinterpret_cast<const Bf16*>(rounded.data())[i].bits == narrowed(2 * row[i % 4]));
}

}  // namespace plimsoll::test
