#include "compiler/network/simplify/sequences.h"

#include <fmt/format.h>

#include "compiler/network/simplify/fold.h"
#include "compiler/network/simplify/graph_order.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// A split into more parts than any real model has indicates a damaged file.
constexpr int64_t kMostItems = 10'000;

void add_integers(ModelNode& node, const char* name, const std::vector<int64_t>& items) {
  node.attributes.push_back({.name = name, .value = items});
}

int64_t integer_of(const ModelNode& node, const char* name, int64_t missing) {
  const ModelAttribute* found = find_attribute(node, name);
  return found ? found->integer() : missing;
}

}  // namespace

Result<SpelledSequence> spell_out(const ModelNode& split, const Dims& x, const KnownValue* lengths) {
  const auto unsupported = [&](const std::string& what) {
    return Error{ExitCode::unsupported, fmt::format("{}: {}", describe(split), what)};
  };
  const auto invalid = [&](const std::string& what) {
    return Error{ExitCode::invalid_model, fmt::format("{}: {}", describe(split), what)};
  };
  const int64_t rank = static_cast<int64_t>(x.size());
  int64_t axis = integer_of(split, "axis", 0);
  if (axis < -rank || axis >= rank)
    return invalid(fmt::format("axis {} is out of range for {}", axis, counted(rank, "dimension")));
  if (axis < 0) axis += rank;
  const Dim whole = x[static_cast<size_t>(axis)];
  if (whole.batch) return unsupported("splits the batch of " + to_string(x));
  const bool given = split.inputs.size() > 1 && !split.inputs[1].empty();
  if (given && (!lengths || lengths->real() || !lengths->elements() || lengths->depends_on_batch()))
    return unsupported("the lengths (input 1) are not known at compile time");

  std::vector<int64_t> parts;
  if (given && !lengths->dims.empty()) {
    for (size_t i = 0; i < static_cast<size_t>(*lengths->elements()); ++i) parts.push_back(lengths->integer(i).value);
  } else {  // equal parts, except for the last
    const int64_t each = given ? lengths->integer(0).value : 1;
    if (each < 1 || whole.value / each > kMostItems)
      return invalid(fmt::format("{} cannot be split into parts of {}", whole.value, each));
    for (int64_t at = 0; at < whole.value; at += each) parts.push_back(std::min(each, whole.value - at));
  }
  if (parts.empty() || static_cast<int64_t>(parts.size()) > kMostItems)
    return invalid(fmt::format("is split into {} parts", parts.size()));

  SpelledSequence spelled;
  ModelNode whole_split{.op = "Split",
                        .name = split.name,
                        .inputs = {split.inputs[0]},
                        .attributes = {{.name = "axis", .value = axis}},
                        .metadata = split.metadata};
  add_integers(whole_split, "split", parts);
  const bool squeezed = !given && integer_of(split, "keepdims", 1) == 0;
  for (size_t i = 0; i < parts.size(); ++i) whole_split.outputs.push_back(fmt::format("{}:{}", split.outputs[0], i));
  spelled.items.assign(whole_split.outputs.begin(), whole_split.outputs.end());
  spelled.nodes.push_back(std::move(whole_split));
  for (std::string& item : spelled.items) {
    if (!squeezed) continue;
    ModelNode squeeze{.op = "Squeeze", .name = item + "/Squeeze", .inputs = {item}};
    squeeze.outputs.push_back(item += "/squeezed");
    add_integers(squeeze, "axes", {axis});
    spelled.nodes.push_back(std::move(squeeze));
  }
  return spelled;
}

}  // namespace plimsoll
