// plimsoll-replay-host, plimsoll-replay-cuda CASES.json: runs tasks recorded with another backend
// (tests/ops/record_test.cpp), with every available algorithm, and compares the results. One line per kernel; exit code
// 9 if a difference exceeds its tolerance.
//
// A kernel that crashes the device ends the process. With --results FILE all events are recorded there immediately, one
// line of JSON each; when restarted with the same file, the program continues after the case that crashed. --share K/N
// runs every Nth case, for parallel processes; --skip PREFIX skips kernels.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/attrs/bf16.h"
#include "runtime/attrs/f16.h"
#include "runtime/backend.h"
#include "runtime/precision.h"
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
  const auto bits = [&](auto value) {
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
  };
  switch (type) {
    case DataType::f32: return typed(float{});
    case DataType::i32: return typed(int32_t{});
    case DataType::i64: return typed(int64_t{});
    case DataType::u8: case DataType::q8: case DataType::uq8: return typed(uint8_t{});
    case DataType::i16: return typed(int16_t{});
    case DataType::bf16: return widened(bits(uint16_t{}));
    case DataType::f16: return widened_f16(bits(uint16_t{}));
  }
  return 0;
}

// ‖a - b‖ / ‖b‖, with ‖b‖ at least 1e-3; infinite if an element is NaN.
double distance(DataType type, const Bytes& a, const Bytes& b) {
  double apart = 0, size = 0;
  for (size_t i = 0; i < b.size() / static_cast<size_t>(bytes_of(type)); ++i) {
    const double x = element(type, a, i), y = element(type, b, i);
    if (x == y && std::isinf(y)) continue;
    apart += (x - y) * (x - y);
    size += y * y;
  }
  const double relative = std::sqrt(apart) / std::max(std::sqrt(size), 1e-3);
  return std::isfinite(relative) ? relative : INFINITY;
}

struct Figures {
  size_t cases = 0, algorithms = 0;
  double worst = 0, worst_tf32 = 0, worst_bf16 = 0, worst_fp16 = 0;
  std::string where = "", refused = "";
};

// The error of TF32 comes from its format, 2^-11 per factor, and that of bf16 from results that are rounded to 2^-9, to
// another neighbour than the recorded ones, or once more on their way; f16 likewise, to 2^-12. The rest is rounding and
// the order of summation.
constexpr double kTolerance = 1e-5, kToleranceTf32 = 5e-3, kToleranceBf16 = 5e-3, kToleranceFp16 = 1e-3;

enum class Precision { fp32, tf32, bf16, fp16 };

// Of an operand's result. Convolutions and products may round a sum to 16 bits that is then widened or added;
// LinearCrossEntropy rounds its logits.
Precision precision_of(const KernelCall& call, const Algorithm& algorithm, DataType type) {
  const bool sums = call.name.starts_with("Conv") || call.name == "MatMul" || call.name == "LinearCrossEntropy";
  const DataType narrow = is_narrow(type) ? type : sums ? narrow_type(call.operands) : DataType::f32;
  if (is_narrow(narrow)) return narrow == DataType::bf16 ? Precision::bf16 : Precision::fp16;
  return algorithm.tf32 ? Precision::tf32 : Precision::fp32;
}

struct Options {
  std::string cases = {}, results = {};
  std::vector<std::string> skipped = {};
  size_t share = 0, shares = 1;
};

// Records events for the final table and, line by line, in the results file.
class Record {
 public:
  explicit Record(const std::string& path) : path_(path) {
    std::ifstream before(path);
    for (std::string line; !path.empty() && std::getline(before, line);) {
      const json told = json::parse(line, nullptr, false);
      if (told.is_object() && told.contains("case")) known_[told["case"].get<std::string>()] = told.contains("ended");
    }
    if (!path.empty()) out_.open(path, std::ios::app);
    for (const auto& [name, ended] : known_)
      if (!ended) tell({{"case", name}, {"error", "the process ended in it"}, {"ended", true}});
  }
  bool knows(const std::string& name) const { return known_.contains(name); }

  void begin(const std::string& kernel, const std::string& name) {
    ++by_kernel_[kernel].cases;
    tell({{"case", name}, {"kernel", kernel}});
  }
  void tries(const std::string& name, const Algorithm& algorithm) { tell({{"case", name}, {"tries", algorithm.name}}); }
  void end(const std::string& name) { tell({{"case", name}, {"ended", true}}); }
  void fails(const std::string& kernel, const std::string& name, const std::string& why) {
    Figures& figures = by_kernel_[kernel];
    figures.worst = INFINITY;
    figures.where = name + ": " + why;
    tell({{"case", name}, {"kernel", kernel}, {"error", why}});
  }
  void not_built(const std::string& kernel, const std::string& name, const std::string& why) {
    by_kernel_[kernel].refused = name + ": " + why;
    tell({{"case", name}, {"kernel", kernel}, {"not_built", why}});
  }
  void counts(const std::string& kernel) { ++by_kernel_[kernel].algorithms; }
  void ran(const std::string& kernel, const std::string& name, const Algorithm& algorithm, Precision precision,
           double far, size_t operand) {
    Figures& figures = by_kernel_[kernel];
    double& worst = precision == Precision::bf16   ? figures.worst_bf16
                    : precision == Precision::fp16 ? figures.worst_fp16
                    : precision == Precision::tf32 ? figures.worst_tf32
                                                   : figures.worst;
    constexpr const char* kNames[] = {"fp32", "tf32", "bf16", "fp16"};
    if (!(far <= worst)) figures.where = name + ", operand " + std::to_string(operand) + ", " + algorithm.name;
    worst = std::max(worst, far);
    tell({{"case", name},
          {"kernel", kernel},
          {"algorithm", algorithm.name},
          {"precision", kNames[static_cast<size_t>(precision)]},
          {"far", std::isfinite(far) ? json(far) : json("not a number")},
          {"operand", operand}});
  }

  // 0, or 9 if a difference exceeds its tolerance.
  int print() const {
    size_t failures = 0;
    std::printf("%-26s %5s %10s %9s %9s %9s %9s\n", "kernel", "cases", "algorithms", "fp32", "tf32", "bf16", "fp16");
    for (const auto& [kernel, f] : by_kernel_) {
      const bool ok = f.worst <= kTolerance && f.worst_tf32 <= kToleranceTf32 && f.worst_bf16 <= kToleranceBf16 &&
                      f.worst_fp16 <= kToleranceFp16;
      failures += ok ? 0 : 1;
      std::printf("%-26s %5zu %10zu %9.1e %9.1e %9.1e %9.1e%s%s\n", kernel.c_str(), f.cases, f.algorithms, f.worst,
                  f.worst_tf32, f.worst_bf16, f.worst_fp16, ok ? "" : "  FAILED at ", ok ? "" : f.where.c_str());
      if (!f.refused.empty()) std::printf("  not built: %s\n", f.refused.c_str());
    }
    std::printf("%zu kernels on %s, %zu of them too far\n", by_kernel_.size(), profile::device_name().c_str(),
                failures);
    return failures == 0 ? 0 : 9;
  }

 private:
  void tell(const json& line) {
    if (!path_.empty()) out_ << line.dump() << std::endl;
  }

  std::string path_;
  std::ofstream out_;
  std::map<std::string, bool> known_;  // cases of the results file: whether they finished
  std::map<std::string, Figures> by_kernel_;
};

void replay(const json& one, const KernelCall& call, const Algorithm& algorithm, Kernel& kernel,
            const RunContext& context, Record& record) {
  const std::string name = one.at("name").get<std::string>();
  const backend::Arena arena(
      std::max<int64_t>(256, profile::bytes_to_measure(call.operands, algorithm.workspace_bytes)));
  profile::poison_workspace(context.stream, arena.data(), algorithm.workspace_bytes);
  std::vector<std::byte*> addresses;
  int64_t at = (algorithm.workspace_bytes + 255) / 256 * 256;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const OperandDesc& operand = call.operands[i];
    addresses.push_back(operand.access == Access::absent ? nullptr : arena.data() + at);
    if (operand.access == Access::absent) continue;
    at += (operand.tensor.bytes() + 255) / 256 * 256;
    const json& given = one.at("operands")[i];
    const Bytes before = given.contains("before") ? bytes_of_text(given["before"])
                                                  : Bytes(size_t(operand.tensor.bytes()), std::byte{0xFF});
    if (!before.empty())
      backend::copy_in(context.stream, addresses.back(), before.data(), static_cast<int64_t>(before.size()));
  }
  kernel.run(context, addresses.data(), arena.data());
  backend::finish(context.stream);
  record.counts(call.name);
  std::map<Precision, std::pair<double, size_t>> farthest;  // and of which operand
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const json& given = one.at("operands")[i];
    if (!given.contains("after")) continue;
    const Bytes expected = bytes_of_text(given["after"]);
    Bytes result(expected.size());
    if (!result.empty())
      backend::copy_out(context.stream, result.data(), addresses[i], static_cast<int64_t>(result.size()));
    const double far = distance(call.operands[i].tensor.type, result, expected);
    auto& most =
        farthest.try_emplace(precision_of(call, algorithm, call.operands[i].tensor.type), 0.0, i).first->second;
    if (far > most.first) most = {far, i};
  }
  for (const auto& [precision, most] : farthest)
    record.ran(call.name, name, algorithm, precision, most.first, most.second);
}

void replay(const json& one, const RunContext& context, Record& record) {
  const KernelCall call = profile::read_call(one);
  const std::string name = one.at("name").get<std::string>();
  for (const Algorithm& algorithm : algorithms_of(call)) {
    record.tries(name, algorithm);
    std::unique_ptr<Kernel> kernel;
    try {
      kernel = make_kernel(call, algorithm.name);
    } catch (const KernelError& error) {
      record.not_built(call.name, name, error.what());  // listed but cannot be built: reported, not a failure
      continue;
    }
    replay(one, call, algorithm, *kernel, context, record);
  }
}

int run(const Options& options) {
  std::ifstream in(options.cases);
  if (!in) return std::fprintf(stderr, "error: cannot read '%s'\n", options.cases.c_str()), 3;
  const json file = json::parse(in);
  Record record(options.results);
  profile::start(file.value("threads", int64_t{2}));
  const RunContext context{.stream = profile::stream(), .seed = file.at("seed").get<uint64_t>(),
                           .learning_rate = file.at("learning_rate").get<double>()};
  size_t number = 0;
  for (const json& one : file.at("cases")) {
    const std::string kernel = one.at("kernel").get<std::string>(), name = one.at("name").get<std::string>();
    const auto starts = [&](const std::string& prefix) { return kernel.starts_with(prefix); };
    const bool mine = number++ % options.shares == options.share;
    if (!mine || record.knows(name) || std::any_of(options.skipped.begin(), options.skipped.end(), starts)) continue;
    record.begin(kernel, name);
    try {
      replay(one, context, record);
    } catch (const KernelError& error) {
      record.fails(kernel, name, error.what());
    } catch (const backend::DeviceError& error) {
      // Nothing can run in this process any more.
      record.fails(kernel, name, error.what());
      record.end(name);
      record.print();
      throw;
    }
    record.end(name);
  }
  return record.print();
}

Options options_of(int argc, char** argv) {
  Options options;
  const auto value = [&](int& i) {
    if (i + 1 == argc) throw std::invalid_argument(argv[i]);
    return std::string(argv[++i]);
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--results") options.results = value(i);
    else if (argument == "--skip") options.skipped.push_back(value(i));
    else if (argument == "--share") {
      const std::string share = value(i);
      if (std::sscanf(share.c_str(), "%zu/%zu", &options.share, &options.shares) != 2 ||
          options.share >= options.shares)
        throw std::invalid_argument("--share");
    } else if (options.cases.empty() && !argument.starts_with("-")) options.cases = argument;
    else throw std::invalid_argument(std::string(argument));
  }
  if (options.cases.empty()) throw std::invalid_argument("no CASES.json");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  backend::settle_environment(argv);
  try {
    return run(options_of(argc, argv));
  } catch (const std::invalid_argument& error) {
    return std::fprintf(stderr,
                        "usage: %s CASES.json [--results FILE] [--share K/N] [--skip PREFIX]…; not understood: %s\n",
                        argv[0], error.what()),
           2;
  } catch (const json::exception& error) {
    return std::fprintf(stderr, "error: '%s' holds no cases: %s\n", argv[1], error.what()), 3;
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "error: %s\n", error.what()), 8;
  }
}
