// Parameter groups: the numbers of each weight, and what is rejected.
#include "runtime/train/groups.h"

#include "code_of.h"
#include "runtime/train/nearest.h"

using namespace plimsoll;
using namespace plimsoll::train;

namespace {

const ProgramParameter kParameters[] = {
    {"conv.weight", {.dims = {4, 3, 3, 3}}, 0, 0, ParameterRole::trained},
    {"conv.bias", {.dims = {4}}, 0, 0, ParameterRole::trained},
    {"norm.scale", {.dims = {4}}, 0, 0, ParameterRole::trained},
    {"head.weight", {.dims = {2, 4}}, 0, 0, ParameterRole::trained},
    {"stem.weight", {.dims = {2, 4}}, 0, 0, ParameterRole::frozen},
};

Program adam() {
  return {.model = "net", .generator = "test", .update_kernel = "AdamUpdate", .parameters = kParameters};
}

}  // namespace

TEST_CASE("nothing given is nothing changed") {
  const UpdateGroups groups(adam(), {}, 0.1);
  CHECK(groups.of_step("conv.weight.update") == nullptr);
  CHECK(groups.description().empty());
}

TEST_CASE("of groups that match, the later one holds, key by key") {
  GroupOptions options{.no_decay_on_norms_and_biases = true};
  set_number(options.all, "--weight-decay", "0.5");
  options.groups = {parse_group("*.weight:lr=0.01,beta1=0.8"), parse_group("head*:lr=0.2,weight-decay=0.25")};
  const UpdateGroups groups(adam(), options, 0.1);
  const UpdateNumbers* const conv = groups.of_step("conv.weight.update");
  const UpdateNumbers* const head = groups.of_step("head.weight.update.slice1");
  const UpdateNumbers* const bias = groups.of_step("conv.bias.update");
  REQUIRE((conv && head && bias));
  CHECK(*conv == UpdateNumbers{.rate_scale = 0.01 / 0.1, .beta1 = 0.8, .weight_decay = 0.5});
  CHECK(*head == UpdateNumbers{.rate_scale = 2, .beta1 = 0.8, .weight_decay = 0.25});
  CHECK(*bias == UpdateNumbers{.weight_decay = 0});
  CHECK(groups.of_step("norm.scale.update") == bias);  // one address for equal numbers: one launch on a GPU
  CHECK(groups.of_step("gradients.clip") == nullptr);
  CHECK(groups.of_step("stem.weight.update") == nullptr);
  CHECK(groups.lines().size() == 3);
}

TEST_CASE("gradients can be clipped where a task reads them all: to clip them, or to undo the scale of fp16") {
  const GroupOptions options{.max_norm = 2};
  for (const char* const step : {"gradients.clip", "gradients.unscale"}) {
    Program program = adam();
    program.step_names = {&step, 1};
    const UpdateGroups groups(program, options, 0.1);
    const UpdateNumbers* const numbers = groups.of_step(step);
    REQUIRE(numbers);
    CHECK(numbers->max_norm == 2);
  }
  CHECK(code_of([&] { UpdateGroups(adam(), options, 0.1); }) == Exit::usage);
}

TEST_CASE("a glob may have colons of its own") {
  const Group group = parse_group("onnx::MatMul_*:weight-decay=0");
  CHECK(group.glob == "onnx::MatMul_*");
  CHECK(group.numbers.weight_decay == 0);
}

TEST_CASE("what a group cannot have is refused") {
  const auto refused = [](const char* text) { return code_of([&] { parse_group(text); }) == Exit::usage; };
  for (const char* text : {"", "head", "head:", ":lr=1", "head:lr", "head:lr=", "head:lr=-1", "head:lr=nan",
                           "head:beta1=1", "head:lr=1,", "head:speed=1", "head:weight_decay=1"})
    CHECK(refused(text));
  const auto applied = [](const char* text) {
    return code_of([&] { UpdateGroups(adam(), {.groups = {parse_group(text)}}, 0.1); });
  };
  CHECK(applied("head.*:lr=1") == Exit::ok);
  CHECK(applied("head.*:momentum=1") == Exit::usage);
  CHECK(applied("stem.*:lr=1") == Exit::usage);  // frozen
  CHECK(applied("haed.*:lr=1") == Exit::usage);
  CHECK(code_of([&] { UpdateGroups(adam(), {.groups = {parse_group("head.*:lr=1")}}, 0); }) == Exit::usage);
}

TEST_CASE("near names come first") {
  CHECK(edit_distance("weight", "wieght") == 2);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(nearest("--epoch", {"--seed", "--epochs", "--eval-data"}, 2, 3) == std::vector<std::string_view>{"--epochs"});
}
