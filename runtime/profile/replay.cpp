// plimsoll-replay-host, plimsoll-replay-cuda CASES.json: runs tasks that another backend has recorded (tests/ops/record_test.cpp), with every
// algorithm that there is, and compares. One line per kernel; exit code 9 where something is too far.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include "runtime/profile/device.h"
#include "runtime/profile/measure.h"
#include "runtime/profile/profiler.h"

namespace {

using namespace plimsoll;
using nlohmann::json;

using Bytes = std::vector<std::byte>;

Bytes bytes_of_text(const std::string& hexadecimal) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  Bytes bytes;
  for (size_t i = 0; i + 1 < hexadecimal.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(digit(hexadecimal[i]) * 16 + digit(hexadecimal[i + 1])));
  return bytes;
}

double element(DataType type, const Bytes& bytes, size_t i) {
  const auto typed = [&](auto value) {
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return static_cast<double>(value);
  };
  switch (type) {
    case DataType::f32: return typed(float{});
    case DataType::i32: return typed(int32_t{});
    case DataType::i64: return typed(int64_t{});
    case DataType::u8: return typed(uint8_t{});
  }
  return 0;
}

// ‖a - b‖ / ‖b‖, norms below 1e-3 counting as that; infinite where something is not a number.
double distance(DataType type, const Bytes& a, const Bytes& b) {
  double apart = 0, size = 0;
  for (size_t i = 0; i < b.size() / static_cast<size_t>(bytes_of(type)); ++i) {
    const double x = element(type, a, i), y = element(type, b, i);
    apart += (x - y) * (x - y);
    size += y * y;
  }
  const double relative = std::sqrt(apart) / std::max(std::sqrt(size), 1e-3);
  return std::isfinite(relative) ? relative : INFINITY;
}

struct Figures {
  size_t cases = 0, algorithms = 0;
  double worst = 0, worst_tf32 = 0;
  std::string where = "", refused = "";
};

// What TF32 loses is of its format, 2^-11 of each factor; the rest is rounding and another order of sums.
constexpr double kTolerance = 1e-5, kToleranceTf32 = 5e-3;

void replay(const json& one, const RunContext& context, Figures& figures) {
  const KernelCall call = profile::read_call(one);
  const std::string name = one.at("name").get<std::string>();
  ++figures.cases;
  for (const Algorithm& algorithm : algorithms_of(call)) {
    std::unique_ptr<Kernel> kernel;
    try {
      kernel = make_kernel(call, algorithm.name);
    } catch (const KernelError& error) {
      figures.refused = name + ": " + error.what();  // listed and then not built: told, and no failure
      continue;
    }
    const backend::Arena arena(std::max<int64_t>(256, profile::bytes_to_measure(call.operands, algorithm.workspace_bytes)));
    std::vector<std::byte*> addresses;
    int64_t at = (algorithm.workspace_bytes + 255) / 256 * 256;
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const OperandDesc& operand = call.operands[i];
      addresses.push_back(operand.access == Access::absent ? nullptr : arena.data() + at);
      if (operand.access == Access::absent) continue;
      at += (operand.tensor.bytes() + 255) / 256 * 256;
      const json& given = one.at("operands")[i];
      const Bytes before = given.contains("before") ? bytes_of_text(given["before"]) : Bytes(size_t(operand.tensor.bytes()), std::byte{0xFF});
      if (!before.empty()) backend::copy_in(context.stream, addresses.back(), before.data(), static_cast<int64_t>(before.size()));
    }
    kernel->run(context, addresses.data(), arena.data());
    backend::finish(context.stream);
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const json& given = one.at("operands")[i];
      if (!given.contains("after")) continue;
      const Bytes expected = bytes_of_text(given["after"]);
      Bytes result(expected.size());
      if (!result.empty()) backend::copy_out(context.stream, result.data(), addresses[i], static_cast<int64_t>(result.size()));
      const double far = distance(call.operands[i].tensor.type, result, expected);
      double& worst = algorithm.tf32 ? figures.worst_tf32 : figures.worst;
      if (!(far <= worst)) figures.where = name + ", operand " + std::to_string(i) + ", " + algorithm.name;
      worst = std::max(worst, far);
    }
    ++figures.algorithms;
  }
}

int run(const std::string& path) {
  std::ifstream in(path);
  if (!in) return std::fprintf(stderr, "error: cannot read '%s'\n", path.c_str()), 3;
  const json file = json::parse(in);
  profile::start(file.value("threads", int64_t{2}));
  const RunContext context{.stream = profile::stream(), .seed = file.at("seed").get<uint64_t>(),
                           .learning_rate = file.at("learning_rate").get<double>()};
  std::map<std::string, Figures> by_kernel;
  size_t failures = 0;
  for (const json& one : file.at("cases")) {
    Figures& figures = by_kernel[one.at("kernel").get<std::string>()];
    try {
      replay(one, context, figures);
    } catch (const KernelError& error) {
      figures.worst = INFINITY;
      figures.where = one.at("name").get<std::string>() + ": " + error.what();
    }
  }
  std::printf("%-26s %5s %10s %9s %9s\n", "kernel", "cases", "algorithms", "fp32", "tf32");
  for (const auto& [kernel, f] : by_kernel) {
    const bool ok = f.worst <= kTolerance && f.worst_tf32 <= kToleranceTf32;
    failures += ok ? 0 : 1;
    std::printf("%-26s %5zu %10zu %9.1e %9.1e%s%s\n", kernel.c_str(), f.cases, f.algorithms, f.worst, f.worst_tf32,
                ok ? "" : "  FAILED at ", ok ? "" : f.where.c_str());
    if (!f.refused.empty()) std::printf("  not built: %s\n", f.refused.c_str());
  }
  std::printf("%zu kernels on %s, %zu of them too far\n", by_kernel.size(), profile::device_name().c_str(), failures);
  return failures == 0 ? 0 : 9;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s CASES.json\n", argv[0]), 2;
  try {
    return run(argv[1]);
  } catch (const json::exception& error) {
    return std::fprintf(stderr, "error: '%s' holds no cases: %s\n", argv[1], error.what()), 3;
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "error: %s\n", error.what()), 8;
  }
}
