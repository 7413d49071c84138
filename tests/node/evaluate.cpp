// ONNX's node tests in the directory PLIMSOLL_NODE_CASES (write_cases.py): each is imported, and if it is accepted, its
// forward tasks run on the host's kernels and the results are compared with the expected ones. None may cause an
// internal error.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "compiler/import/loaded_model.h"
#include "compiler/import/onnx.h"
#include "compiler/import/tensor_data.h"
#include "compiler/network/evaluated_dropout.h"
#include "compiler/network/frozen_statistics.h"
#include "executor.h"
#include "runtime/attrs/f16.h"

namespace plimsoll::test {
namespace {

namespace fs = std::filesystem;

struct NodeTensor {
  std::vector<int64_t> dims = {};
  Values values = {};
  // Of an element type of 16 bits, in which ONNX's reference rounds every intermediate result. The kernels compute in
  // f32.
  double rounding = 0;
};

std::optional<onnx::TensorProto> read_tensor(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  onnx::TensorProto tensor;
  if (!file || !tensor.ParseFromIstream(&file)) return std::nullopt;
  return tensor;
}

// nullopt: of a type that is not compared.
std::optional<NodeTensor> values_of(const onnx::TensorProto& tensor) {
  NodeTensor result{.dims = {tensor.dims().begin(), tensor.dims().end()}};
  const std::string& raw = tensor.raw_data();
  const auto take = [&](auto like) {
    for (size_t at = 0; at + sizeof like <= raw.size(); at += sizeof like) {
      std::memcpy(&like, raw.data() + at, sizeof like);
      result.values.push_back(static_cast<double>(like));
    }
  };
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT: take(float{}); break;
    case onnx::TensorProto::DOUBLE: take(double{}); break;
    case onnx::TensorProto::FLOAT16:
      take(uint16_t{});
      for (double& value : result.values) value = widened_f16(static_cast<uint16_t>(value));
      result.rounding = 0x1p-10;
      break;
    case onnx::TensorProto::BFLOAT16:
      take(uint16_t{});
      for (double& value : result.values) value = std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
      result.rounding = 0x1p-7;
      break;
    case onnx::TensorProto::INT32:
      take(int32_t{});
      break;
    case onnx::TensorProto::INT64:
      take(int64_t{});
      break;
    case onnx::TensorProto::UINT8:
    case onnx::TensorProto::BOOL:
      take(uint8_t{});
      break;
    default:
      return std::nullopt;
  }
  int64_t count = 1;
  for (const int64_t dim : result.dims) count *= dim;
  if (count != static_cast<int64_t>(result.values.size())) return std::nullopt;
  return result;
}

std::vector<std::optional<NodeTensor>> read_tensors(const std::string& stem, const char* kind) {
  std::vector<std::optional<NodeTensor>> tensors;
  for (int i = 0;; ++i) {
    const auto tensor = read_tensor(fmt::format("{}.{}{}.pb", stem, kind, i));
    if (!tensor) return tensors;
    tensors.push_back(values_of(*tensor));
  }
}

// Accepted, but computed differently from ONNX's reference, which uses the size of the result before rounding. PyTorch,
// from which such models come, uses the rounded size.
const std::set<std::string> kOtherwise = {"test_resize_downsample_scales_linear_align_corners",
                                           "test_resize_downsample_scales_cubic_align_corners"};

enum class Verdict { right, random, wrong, accepted, invalid, unsupported, other, internal };

struct Judged {
  Verdict verdict;
  std::string why = {};
};

Judged refusal_of(const Error& error) {
  switch (error.code) {
    case ExitCode::internal:
      return {Verdict::internal, error.message};
    case ExitCode::invalid_model:
      return {Verdict::invalid, error.message};
    case ExitCode::unsupported:
      return {Verdict::unsupported, error.message};
    default:
      return {Verdict::other, error.message};
  }
}

// The forward tasks of the whole network, with the tensors that hold its values.
struct ForwardOnly {
  Instance instance;
  IdVector<ValueId, TensorId> tensors;
};

ForwardOnly forward_of(Network network, int64_t batch) {
  ForwardOnly made;
  made.instance.network = std::move(network);
  Network& kept = made.instance.network;
  made.instance.graph.batch = batch;
  TaskBuilder builder(kept, made.instance.graph);
  for (const ValueId id : ids_of(kept.values)) {
    const Value& value = kept.values[id];
    const bool given =
        value.kind == ValueKind::parameter || value.kind == ValueKind::statistic || value.kind == ValueKind::input;
    if (!given) continue;
    const TensorKind kind = value.kind == ValueKind::parameter   ? TensorKind::weight
                            : value.kind == ValueKind::statistic ? TensorKind::statistic
                                                                 : TensorKind::input;
    builder.bind(id, builder.add_tensor({.name = value.name, .kind = kind, .type = value.type}));
  }
  for (const NodeId id : ids_of(kept.nodes)) {
    builder.enter_forward(id);
    find_op(kept.nodes[id].op)->forward(builder);
  }
  builder.settle_names();
  made.instance.forward_tasks = made.instance.graph.tasks.size();
  made.tensors = IdVector<ValueId, TensorId>(kept.values.size());
  for (const ValueId id : ids_of(kept.values)) made.tensors[id] = builder.tensor_of(id);
  return made;
}

bool is_near(double a, double b, double rounding) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  return a == b || std::abs(a - b) <= 1e-4 + 2e-3 * std::abs(b) + 4 * rounding * std::max(1.0, std::abs(b));
}

bool is_near(double a, double b) { return is_near(a, b, 0); }

std::string difference(const NodeTensor& wanted, const TensorType& type, int64_t batch, const Values& values) {
  std::vector<int64_t> dims;
  for (const int64_t dim : type.at(batch).dims) dims.push_back(dim);
  const bool number =
      wanted.dims.empty() && dims == std::vector<int64_t>{1};  // the compiler's losses have one dimension
  if (dims != wanted.dims && !number)
    return fmt::format("its shape is [{}]; expected [{}]", fmt::join(dims, ","), fmt::join(wanted.dims, ","));
  for (size_t i = 0; i < values.size(); ++i)
    if (!is_near(values[i], wanted.values[i], wanted.rounding))
      return fmt::format("element {} is {}; expected {}", i, values[i], wanted.values[i]);
  return "";
}

// The factor of the elements that a dropout keeps. Before opset 12 a file has no mode: ONNX's tests are of the
// evaluation, and Plimsoll trains.
double kept_factor(const Node& node, const Values& x, const NodeTensor& wanted) {
  if (node.opset < 12) {
    const auto ratio = node.attributes.find("ratio");
    return 1 / (1 - (ratio == node.attributes.end() ? 0.5 : std::get<double>(ratio->second)));
  }
  for (size_t i = 0; i < x.size(); ++i)
    if (wanted.values[i] != 0) return wanted.values[i] / x[i];
  return 0;
}

// Of a dropout, the numbers that are drawn decide only which elements are kept. Every element is 0 or that of x times
// the factor, and as many are kept as the factor implies, up to 5 standard deviations.
std::string difference_of_dropout(const Values& x, const Values& kept, double factor) {
  double count = 0, n = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] != 0 && !is_near(kept[i], factor * x[i]))
      return fmt::format("element {} is {}; {} is dropped or multiplied by {}", i, kept[i], x[i], factor);
    count += kept[i] != 0 ? 1 : 0;
    n += x[i] != 0 ? 1 : 0;
  }
  const double share = 1 / factor;
  if (std::abs(count - n * share) > 5 * std::sqrt(n * share * (1 - share)))
    return fmt::format("{} of {} elements are kept; the factor is {}", count, n, factor);
  return "";
}

// Of other random numbers: the values that occur. Of a Bernoulli they are 0 and 1.
std::string difference_of_draws(const Values& values, const NodeTensor& wanted) {
  const std::set<double> possible(wanted.values.begin(), wanted.values.end());
  for (const double value : values)
    if (!possible.contains(value)) return fmt::format("{} is drawn", value);
  return "";
}

Judged judge(const fs::path& path) {
  const std::string stem = path.string().substr(0, path.string().size() - std::string(".onnx").size());
  const auto inputs = read_tensors(stem, "in"), outputs = read_tensors(stem, "out");
  const int64_t batch =
      !inputs.empty() && inputs[0] && !inputs[0]->dims.empty() ? std::max<int64_t>(1, inputs[0]->dims[0]) : 1;
  Result<ImportedModel> model = import_onnx(path.string(), {.batch = batch});
  if (!model.ok()) return refusal_of(model.error());
  Network& network = model->network;
  // ONNX semantics: modes are those of the file.
  std::vector<std::string> notes;
  network.modes_are_stated = true;
  leave_out_evaluated_dropouts(network, notes);
  if (const Status frozen = freeze_statistics(network, {}, notes); !frozen.ok()) return refusal_of(frozen.error());
  if (outputs.empty() || outputs.size() != network.outputs.size())
    return {Verdict::accepted, "no values to compare with"};
  // Random cases draw other numbers than NumPy.
  const auto drawing = std::find_if(network.nodes.begin(), network.nodes.end(), [](const Node& node) {
    return node.op == "Dropout" || node.op == "Bernoulli" || node.op.starts_with("Random");
  });

  std::map<std::string, const NodeTensor*> fed;
  onnx::ModelProto file;
  std::ifstream stream(path, std::ios::binary);
  file.ParseFromIstream(&stream);
  for (int i = 0; i < file.graph().input_size() && i < static_cast<int>(inputs.size()); ++i) {
    if (!inputs[i]) return {Verdict::accepted, "an input has a type that is not compared"};
    fed[file.graph().input(i).name()] = &*inputs[i];
  }
  const ForwardOnly forward = forward_of(network, batch);
  std::map<TensorId, Values> given;
  std::map<std::string, NodeTensor> initializers;
  for (const onnx::TensorProto& tensor : model->file->model.graph().initializer())
    if (const auto values = values_of(tensor)) initializers[tensor.name()] = *values;
  for (const ValueId id : ids_of(network.values)) {
    const Value& value = network.values[id];
    const bool weight = value.kind == ValueKind::parameter || value.kind == ValueKind::statistic;
    if (value.kind == ValueKind::input && fed.contains(value.name))
      given[forward.tensors[id]] = fed[value.name]->values;
    if (weight && initializers.contains(value.initializer))
      given[forward.tensors[id]] = initializers[value.initializer].values;
  }
  for (const auto& [tensor, values] : given)
    if (static_cast<int64_t>(values.size()) != forward.instance.graph.tensors[tensor].type.at(batch).elements())
      return {Verdict::wrong,
              "the network wants another shape of '" + forward.instance.graph.tensors[tensor].name + "'"};
  Executor executor(forward.instance, batch);
  // The mean is over the labels that count, which a trainer counts (runtime/train/machine.cpp).
  for (const Node& node : network.nodes) {
    const auto ignored = node.attributes.find("ignore_index");
    if (ignored == node.attributes.end() || !node.op.ends_with("Loss") ||
        !given.contains(forward.tensors[node.inputs[1]]))
      continue;
    const Values& labels = given[forward.tensors[node.inputs[1]]];
    const auto left_out =
        std::count(labels.begin(), labels.end(), static_cast<double>(std::get<int64_t>(ignored->second)));
    executor.context.loss_scale =
        static_cast<double>(labels.size()) / static_cast<double>(std::ssize(labels) - left_out);
  }
  const Buffers buffers = executor.run(given, true);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId id = network.outputs[i];
    if (!outputs[i] || !forward.tensors[id].valid())
      return {Verdict::accepted, "an output has a type that is not compared"};
    const Values values = executor.values(buffers, forward.tensors[id], network.values[id].type);
    if (drawing != network.nodes.end()) {
      NodeTensor of_shape = *outputs[i];
      of_shape.values = values;
      std::string why = difference(of_shape, network.values[id].type, batch, values);
      if (why.empty())
        why = drawing->op == "Dropout" ? difference_of_dropout(inputs[0]->values, values,
                                                               kept_factor(*drawing, inputs[0]->values, *outputs[i]))
                                       : difference_of_draws(values, *outputs[i]);
      if (!why.empty()) return {Verdict::wrong, fmt::format("output {}: {}", i, why)};
      continue;
    }
    if (std::string why = difference(*outputs[i], network.values[id].type, batch, values); !why.empty())
      return {Verdict::wrong, fmt::format("output {}: {}", i, why)};
  }
  return {drawing == network.nodes.end() ? Verdict::right : Verdict::random};
}

}  // namespace

TEST_CASE("ONNX's node tests are computed right, or refused") {
  const char* const directory = std::getenv("PLIMSOLL_NODE_CASES");
  REQUIRE(directory != nullptr);
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(directory))
    if (entry.path().extension() == ".onnx") cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  std::map<Verdict, int64_t> counts[2];
  std::set<std::string> accepted_either_way, random, all;
  for (const fs::path& path : cases) {
    const std::string name = path.stem().string();
    const size_t at = name.find('@');
    Judged judged{Verdict::internal};
    try {
      judged = judge(path);
    } catch (const std::exception& error) {
      judged.why = error.what();
    }
    ++counts[at != std::string::npos][judged.verdict];
    all.insert(name.substr(0, at));
    if (judged.verdict == Verdict::right || judged.verdict == Verdict::random || judged.verdict == Verdict::accepted)
      accepted_either_way.insert(name.substr(0, at));
    if (judged.verdict == Verdict::random) random.insert(name.substr(0, at));
    INFO(name << ": " << judged.why);
    CHECK(judged.verdict != Verdict::internal);
    CHECK(judged.verdict != Verdict::accepted);
    if (!kOtherwise.contains(name.substr(0, at))) CHECK(judged.verdict != Verdict::wrong);
  }
  const char* const titles[] = {"as they are", "all inputs but the first as initializers"};
  std::string table =
      "| ONNX's node tests | tests | computed right | of random numbers | otherwise | invalid | not supported |\n"
      "|---|---|---|---|---|---|---|\n";
  for (int form = 0; form < 2; ++form) {
    auto& of = counts[form];
    int64_t sum = 0;
    for (const auto& [verdict, count] : of) sum += count;
    table += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", titles[form], sum, of[Verdict::right],
                         of[Verdict::random], of[Verdict::wrong], of[Verdict::invalid],
                         of[Verdict::unsupported] + of[Verdict::other]);
  }
  fmt::print("{}{} of {} tests are accepted in one form or the other\nrandom: {}\n", table, accepted_either_way.size(),
             all.size(), fmt::join(random, ", "));
}

}  // namespace plimsoll::test
