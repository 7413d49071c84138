// Initial weights drawn from a seed: their distribution, and that NumPy draws the same.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/train/initial.h"

using namespace plimsoll;

namespace {

std::vector<float> drawn(const std::string& name, const TensorDesc& desc, uint64_t seed) {
  std::vector<float> values(static_cast<size_t>(desc.elements()));
  train::draw_he(name, desc, seed, 0, values);
  return values;
}

// The output of a command; empty if it fails.
std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (!pipe) return "";
  char piece[4096];
  for (size_t got; (got = std::fread(piece, 1, sizeof piece, pipe)) > 0;) text.append(piece, got);
  return pclose(pipe) == 0 ? text : "";
}

std::string hexadecimal(const std::vector<float>& values) {
  std::string text;
  for (const float value : values) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    for (int byte = 0; byte < 4; ++byte, bits >>= 8) {
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", bits & 0xFFu);
      text += digits;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("drawn weights have He's variance, and are a function of seed and name") {
  const TensorDesc filter = f32({64, 32, 3, 3});
  const std::vector<float> weights = drawn("conv1.weight", filter, 7);
  double sum = 0, squares = 0, most = 0;
  for (const float w : weights) {
    sum += w;
    squares += double{w} * w;
    most = std::max(most, std::abs(double{w}));
  }
  const double count = static_cast<double>(weights.size()), deviation = std::sqrt(2.0 / (32 * 9));
  CHECK(std::abs(sum / count) < 4 * deviation / std::sqrt(count));
  CHECK(std::sqrt(squares / count) == Approx(deviation).epsilon(0.03));
  CHECK(most < 4.9 * deviation);
  CHECK(most > 3 * deviation);
  CHECK(drawn("conv1.weight", filter, 7) == weights);
  CHECK(drawn("conv1.weight", filter, 8) != weights);
  CHECK(drawn("conv2.weight", filter, 7) != weights);
}

TEST_CASE("NumPy draws the same bits") {
  const std::string python = "/usr/bin/python3";
  if (output_of(python + " -c 'import numpy; print(1)' 2>/dev/null").empty()) {
    WARN("skipped: no numpy for " << python);
    return;
  }
  struct Case {
    std::string name, dims;
    TensorDesc desc;
    uint64_t seed;
  };
  for (const Case& one : {Case{"fc.weight", "10 37", f32({10, 37}), 1},
                          Case{"features.0.0.weight", "4 3 3 3", f32({4, 3, 3, 3}), 18446744073709551615u},
                          Case{"w", "3 1", f32({3, 1}), 0}}) {
    INFO(one.name);
    const std::string theirs = output_of(python + " " PLIMSOLL_TOOLS_DIR "/initial_weights.py " +
                                         std::to_string(one.seed) + " " + one.name + " " + one.dims);
    CHECK(theirs == hexadecimal(drawn(one.name, one.desc, one.seed)) + "\n");
  }
}
