// Pad nodes that are absorbed, and those that must not be.
#include <catch2/catch.hpp>

#include "tests/import/model_builder.h"

using namespace plimsoll;

namespace {

// x[N,3,8,8] → Pad(pads) → AveragePool 3x3 with these attributes.
Result<ImportedModel> padded_pool(const std::vector<int64_t>& pads, const std::vector<int64_t>& own = {},
                                  bool include = false) {
  ModelBuilder build;
  build.input("x", {"N", "3", "8", "8"}).constant("pads", pads);
  build.node("Pad", {"x", "pads"}, {"p"}, "pad");
  onnx::NodeProto& pool = build.node("AveragePool", {"p"}, {"y"}, "pool");
  ModelBuilder::ints(pool, "kernel_shape", {3, 3});
  if (!own.empty()) ModelBuilder::ints(pool, "pads", own);
  if (include) ModelBuilder::integer(pool, "count_include_pad", 1);
  build.output("y");
  return build.import();
}

std::vector<int64_t> pads_of(const Result<ImportedModel>& imported) {
  return std::get<std::vector<int64_t>>(find_node(imported->network, "pool")->attributes.at("pads"));
}

}  // namespace

TEST_CASE("a Pad in front of an average pool becomes its padding") {
  const auto imported = padded_pool({0, 0, 1, 1, 0, 0, 1, 2});
  REQUIRE(outcome(imported) == "ok");
  CHECK_FALSE(find_node(imported->network, "pad"));
  CHECK(pads_of(imported) == std::vector<int64_t>{1, 1, 1, 2});
  CHECK(std::get<int64_t>(find_node(imported->network, "pool")->attributes.at("count_include_pad")) == 1);
  CHECK(find_value(imported->network, "y")->type.dims == Dims{kBatch, {3}, {8}, {9}});

  const auto both = padded_pool({0, 0, 1, 1, 0, 0, 1, 1}, {1, 1, 1, 1}, true);
  REQUIRE(outcome(both) == "ok");
  CHECK(pads_of(both) == std::vector<int64_t>{2, 2, 2, 2});
}

TEST_CASE("a Pad of nothing is nothing") {
  const auto imported = padded_pool({0, 0, 0, 0, 0, 0, 0, 0});
  REQUIRE(outcome(imported) == "ok");
  CHECK(imported->network.nodes.size() == 1);
}

TEST_CASE("a Pad that changes the meaning stays") {
  // The pool would exclude zeros of its own padding from its averages.
  CHECK(find_node(padded_pool({0, 0, 1, 1, 0, 0, 1, 1}, {1, 1, 1, 1})->network, "pad"));
  // A window would contain only zeros.
  CHECK(find_node(padded_pool({0, 0, 3, 3, 0, 0, 3, 3})->network, "pad"));
}

TEST_CASE("a Pad in front of a convolution becomes its padding, unless somebody else reads it") {
  for (const bool shared : {false, true}) {
    ModelBuilder build;
    build.input("x", {"N", "3", "8", "8"}).constant("pads", {0, 0, 0, 0, 0, 0, 1, 1}).weight("w", {3, 3, 3, 3});
    build.node("Pad", {"x", "pads"}, {"p"}, "pad");
    build.conv("p", "w", "", "y", "pool");
    build.output("y");
    if (shared) {
      build.node("Relu", {"p"}, {"z"});
      build.output("z");
    }
    const auto imported = build.import();
    REQUIRE(outcome(imported) == "ok");
    CHECK((find_node(imported->network, "pad") != nullptr) == shared);
    CHECK(pads_of(imported) == (shared ? std::vector<int64_t>{1, 1, 1, 1} : std::vector<int64_t>{1, 1, 2, 2}));
    CHECK(find_value(imported->network, "y")->type.dims == Dims{kBatch, {3}, {9}, {9}});
  }
}
