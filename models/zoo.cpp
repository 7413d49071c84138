#include "models/zoo.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "compiler/support/bytes.h"
#include "models/graph_writer.h"
#include "models/model_file.h"
#include "models/networks.h"

namespace plimsoll {
namespace {

// No machine trains larger models; a mistyped number must not fill a disk.
constexpr int64_t kMostBytes = int64_t{1} << 40;

const std::vector<ZooEntry>& entries() {
  static const std::vector<ZooEntry> all = [] {
    std::vector<ZooEntry> entries;
    for (auto* family : {lenet_entries, alexnet_entries, vgg_entries, googlenet_entries, resnet_entries,
                         inception_v3_entries, inception_v4_entries, densenet_entries, mobilenet_entries,
                         segmentation_entries, lstm_entries, gpt_entries, vit_entries})
      for (ZooEntry& entry : family()) entries.push_back(std::move(entry));
    return entries;
  }();
  return all;
}

struct Built {
  onnx::ModelProto model;
  std::vector<InitialWeight> weights;
  InitOptions init;
  ZooFacts facts;
};

Result<Built> build(std::string_view spec) {
  const size_t colon = spec.find(':');
  const std::string name(spec.substr(0, colon));
  const auto entry = std::find_if(entries().begin(), entries().end(),
                                  [&](const ZooEntry& candidate) { return candidate.model.name == name; });
  if (entry == entries().end()) {
    std::string names;
    for (const ZooEntry& each : entries()) names += (names.empty() ? "" : ", ") + each.model.name;
    return Error{ExitCode::usage, "no model is called '" + name + "'; there are " + names};
  }
  PLIMSOLL_ASSIGN(const Arguments arguments,
                  Arguments::parse(name, entry->model.parameters,
                                   colon == std::string_view::npos ? std::string_view() : spec.substr(colon + 1)));
  GraphWriter graph(name, arguments.integer("batch"));
  entry->build(graph, arguments);

  Built built;
  built.weights = graph.initial_weights();
  built.init = {.seed = static_cast<uint64_t>(arguments.integer("seed")), .zeros = arguments.word("init") == "zeros"};
  PLIMSOLL_ASSIGN(built.model, std::move(graph).finish());
  built.facts.nodes = built.model.graph().node_size();
  for (const InitialWeight& weight : built.weights) {
    std::optional<int64_t> elements = 1;
    for (const int64_t dim : weight.dims) elements = elements ? checked_mul(*elements, dim) : elements;
    if (!elements || *elements > kMostBytes / 4 || built.facts.bytes + 4 * *elements > kMostBytes) {
      return Error{ExitCode::usage, std::string(spec) + ": with '" + weight.name + "' its weights exceed " +
                                        format_bytes(kMostBytes) + "; choose smaller sizes"};
    }
    built.facts.bytes += 4 * *elements;
    if (weight.trained) built.facts.parameters += *elements;
  }
  return built;
}

}  // namespace

std::span<const ZooModel> zoo_models() {
  static const std::vector<ZooModel> models = [] {
    std::vector<ZooModel> all;
    for (const ZooEntry& entry : entries()) all.push_back(entry.model);
    return all;
  }();
  return models;
}

Result<ZooFacts> zoo_facts(std::string_view spec) {
  PLIMSOLL_ASSIGN(const Built built, build(spec));
  return built.facts;
}

Result<std::string> write_zoo_model(std::string_view spec, const std::string& path) {
  PLIMSOLL_ASSIGN(const Built built, build(spec));
  PLIMSOLL_ASSIGN(const std::string beside, write_model_file(built.model, built.weights, built.init, path));
  return "wrote " + std::string(spec) + " to " + path + ": " + std::to_string(built.facts.nodes) + " nodes, " +
         format_grouped(built.facts.parameters) + " parameters" +
         (beside.empty() ? std::string()
                         : ", weights in " + (std::filesystem::path(path).parent_path() / beside).string());
}

}  // namespace plimsoll
