// Files written by trainers with --metrics, read and drawn.
#include <catch2/catch.hpp>
#include <cmath>

#include "compiler/report/metrics.h"
#include "compiler/report/run_page.h"

using namespace plimsoll;

namespace {

const char* const kLines =
    "{\"iteration\":0,\"epoch\":0,\"loss\":2.5,\"correct\":5,\"accuracy\":0.25,\"samples\":20,\"lr\":0.05,\"seconds\":"
    "0.5,\"stall_seconds\":0.1,"
    "\"arena_planned_bytes\":1000,\"arena_allocated_bytes\":1024,\"resident_peak_bytes\":4096}\n"
    "{\"iteration\":1,\"epoch\":0,\"loss\":null,\"samples\":20,\"lr\":0.05,\"seconds\":0.5,\"arena_planned_bytes\":"
    "1000,\"arena_allocated_bytes\":1024,\"resident_peak_bytes\":8192}\n"
    "{\"iteration\":1,\"epoch\":0,\"eval_loss\":1.5,\"eval_accuracy\":0.75,\"eval_samples\":8}\n";

}  // namespace

TEST_CASE("metrics are read as JSON lines and as comma-separated values, and both say the same") {
  const auto json = read_metrics(kLines, "a");
  const auto csv = read_metrics(
      "iteration,epoch,loss,correct,accuracy,samples,lr,seconds,samples_per_second,stall_seconds,moved_bytes,arena_"
      "planned_bytes,arena_allocated_bytes,"
      "resident_peak_bytes,eval_loss,eval_accuracy,eval_samples\r\n"
      "0,0,2.5,5,0.25,20,0.05,0.5,40,0.1,0,1000,1024,4096,,,\r\n1,0,nan,,,20,0.05,0.5,40,0,0,1000,1024,8192,,,\n1,0,,,,"
      ",,,,,,,,,1.5,0.75,8\n",
      "a");
  for (const auto* run : {&json, &csv}) {
    REQUIRE(run->ok());
    REQUIRE((*run)->lines.size() == 2);
    CHECK((*run)->lines[0].loss == 2.5);
    CHECK((*run)->lines[0].accuracy == 0.25);
    CHECK((*run)->lines[0].samples == 20);
    CHECK(std::isnan((*run)->lines[1].loss));
    CHECK(std::isnan((*run)->lines[1].accuracy));
    CHECK((*run)->resident_bytes == std::vector<int64_t>{4096, 8192});
    CHECK((*run)->arena_allocated_bytes == 1024);
    REQUIRE((*run)->evaluations.size() == 1);
    CHECK((*run)->evaluations[0].accuracy == 0.75);
  }
}

TEST_CASE("a last line that is cut short is left out, and what contains no metrics is refused with its line") {
  const auto cut = read_metrics(std::string(kLines) + "{\"iteration\":2,\"lo", "a");
  REQUIRE(cut.ok());
  CHECK(cut->lines.size() == 2);
  const auto wrong = read_metrics(std::string(kLines) + "hello\n", "a");
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().message == "a: line 4 contains no metrics");
  CHECK(wrong.error().code == ExitCode::unreadable_input);
  for (const char* empty : {"", "\n", "{\"iteration\":1,\"eval_loss\":1}\n", "iteration,loss\n"})
    CHECK_FALSE(read_metrics(empty, "a").ok());
}

TEST_CASE("runs have the shortest names that tell their files apart") {
  CHECK(run_names({"runs/digits/metrics.jsonl"}) == std::vector<std::string>{"digits"});
  CHECK(run_names({"a/metrics.jsonl", "./b/metrics.jsonl", "c.csv"}) == std::vector<std::string>{"a", "b", "c"});
  CHECK(run_names({"x/1/m.jsonl", "y/1/m.jsonl"}) == std::vector<std::string>{"x/1/m", "y/1/m"});
  CHECK(run_names({"m.jsonl", "m.jsonl"}) == std::vector<std::string>{"m.jsonl", "m.jsonl"});
}

TEST_CASE("the page of a run names it, asks nothing of the network, and stays small however long the run") {
  auto run = read_metrics(kLines, "<b>&");
  REQUIRE(run.ok());
  const std::string page = run_page({*run});
  CHECK(page.find("<b>&") == std::string::npos);
  CHECK(page.find("&lt;b&gt;&amp;: best test accuracy 75.00%") != std::string::npos);
  for (const char* asks : {"http://", "https://", "src=", "href="}) CHECK(page.find(asks) == std::string::npos);
  for (int64_t i = 2; i < 200'000; ++i) {
    run->lines.push_back({.iteration = i,
                          .samples = 16,
                          .loss = 1.0 / static_cast<double>(i),
                          .accuracy = NAN,
                          .learning_rate = 0.1,
                          .seconds = 1e-3 * static_cast<double>(1 + i % 7)});
    run->resident_bytes.push_back(1 << 20);
  }
  CHECK(run_page({*run}).size() < 400'000);
  const std::string table = report_runs({*run}, false);
  CHECK(table.find("200,000") != std::string::npos);
  CHECK(table.find("75.00%") != std::string::npos);
}
