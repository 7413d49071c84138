// The kernels of runtime/cuda, emulated, against the host's: every sample of every operator, forward and backward.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "results.h"

namespace plimsoll::test {
namespace {

// The results of test_ops, which is linked with the host's kernels, on all samples; computed once per process.
const std::map<std::string, Values>& host_results() {
  static const std::map<std::string, Values> results = [] {
    const std::string file =
        (std::filesystem::temp_directory_path() / ("plimsoll-results-" + std::to_string(::getpid()))).string();
    std::filesystem::remove(file);
    const std::string command = "PLIMSOLL_RESULTS=" + file + " '" + PLIMSOLL_TEST_OPS +
                                "' 'results are written to PLIMSOLL_RESULTS' > " + file + ".log";
    const int status = std::system(command.c_str());
    std::map<std::string, Values> read = read_results(file);
    std::filesystem::remove(file);
    std::filesystem::remove(file + ".log");
    if (status != 0) read.clear();
    return read;
  }();
  return results;
}

}  // namespace

TEST_CASE("emulated kernels compute what the host's do") {
  REQUIRE(host_results().size() > 500);
  for_each_sample([](const Op& op, const Sample& sample) {
    const std::string name = std::string(op.name) + "/" + sample.name;
    for (const auto& [tensor, values] : results_of(op, sample)) {
      INFO(tensor);
      const auto host = host_results().find(name + " " + tensor);
      REQUIRE(host != host_results().end());
      CHECK(distance(values, host->second, 1e-3) < 1e-5);
    }
  });
}

}  // namespace plimsoll::test
