// From a network of the zoo to a plan under a paper's rules, and comparison of a published figure with ours.
#pragma once

#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "compiler/check/check.h"
#include "compiler/import/onnx.h"
#include "models/zoo.h"
#include "tests/make_plan.h"
#include "tests/papers/figures.h"

namespace plimsoll::papers {

// The weights are gigabytes of zeros, and only the plan matters. The import therefore looks at them without holding
// them, as `plimsoll plan` does, and the file is in memory if possible: there the kernel reads a hole of a file without
// allocating a page for it.
inline ImportedModel import_zoo(const std::string& spec, int64_t batch) {
  const std::filesystem::path memory = "/dev/shm",
                              directory = std::filesystem::is_directory(memory) && ::access(memory.c_str(), W_OK) == 0
                                              ? memory
                                              : std::filesystem::temp_directory_path();
  const std::filesystem::path path = directory / ("plimsoll-papers-" + std::to_string(::getpid()) + ".onnx");
  const std::string zeros = spec.find(':') == std::string::npos ? ":init=zeros" : ",init=zeros";
  const Result<std::string> written = write_zoo_model(spec + zeros, path);
  INFO((written.ok() ? spec : written.error().message));
  REQUIRE(written.ok());
  Result<ImportedModel> model = import_onnx(path, {.batch = batch, .holds_weights = false});
  std::filesystem::remove(path);
  std::filesystem::remove(path.string() + ".data");
  INFO((model.ok() ? spec : model.error().message));
  REQUIRE(model.ok());
  return std::move(*model);
}

inline Plan plan_graph(const TaskGraph& graph, Costs& costs, const std::string& policy, int64_t budget = 0) {
  Result<Plan> plan = make_plan(graph, costs, {.policy = policy, .batch = graph.batch, .sub_batch = graph.batch,
                                               .budget_bytes = budget, .keep_order = true});
  INFO((plan.ok() ? policy : plan.error().message));
  REQUIRE(plan.ok());
  CHECK(to_string(check_plan(*plan)) == "");
  CHECK(to_string(check_against_graph(*plan, graph)) == "");
  return std::move(*plan);
}

// Prints the residual, and requires our figure to be in the band of all sensible readings of the paper, and to be the
// one in figures.txt.
inline void hold(const std::string& claim, double published, double ours, double least, double most) {
  WARN(fmt::format("{}: published {}, ours {:.3f}, residual {:+.2f} %, band {} to {}", claim, published, ours,
                   100 * (ours - published) / published, least, most));
  CHECK(ours >= least);
  CHECK(ours <= most);
  expect_figure(claim, ours);
}

// The same where the paper has no figure, or one that says "more than": our figure is compared with an independent
// computation.
inline void hold_computed(const std::string& claim, double computed, double ours, double least, double most) {
  WARN(fmt::format("{}: not published; computed independently {}, ours {:.3f}", claim, computed, ours));
  CHECK(ours >= least);
  CHECK(ours <= most);
  expect_figure(claim, ours);
}

}  // namespace plimsoll::papers
