// GPT-2: Radford et al., Language models are unsupervised multitask learners, 2019. Layers, weights and their layout
// ([in, out]) are those of Hugging Face's GPT2LMHeadModel; the head shares the matrix of the embedding.
#include <cmath>

#include "models/attention.h"
#include "models/networks.h"

namespace plimsoll {
namespace {

using Value = GraphWriter::Value;

void build_gpt(GraphWriter& graph, const Arguments& arguments) {
  const int64_t layers = arguments.integer("layers"), heads = arguments.integer("heads"),
                width = arguments.integer("width");
  const int64_t context = arguments.integer("context"), vocab = arguments.integer("vocab");
  if (width % heads != 0)
    return graph.fail("transformer",
                      std::to_string(heads) + " heads do not divide a width of " + std::to_string(width));
  constexpr double kDeviation = 0.02;
  // for weights whose output is added to the residual stream
  const double ends = kDeviation / std::sqrt(2.0 * static_cast<double>(layers));
  const auto dense = [&](const std::string& module, const Value& x, int64_t out, double deviation) {
    const InitialWeight weight = graph.weight(module + ".weight", {x.dims.back(), out}, deviation);
    return graph.project(module, x, weight, false, graph.weight(module + ".bias", {out}, 0));
  };

  const Value ids = graph.token_input("input_ids", {context});
  const InitialWeight table = graph.weight("transformer.wte.weight", {vocab, width}, kDeviation);
  Value x = graph.embedding("transformer.wte", ids, table);
  x = graph.add_weight("transformer", x, graph.weight("transformer.wpe.weight", {context, width}, kDeviation / 2));
  for (int64_t l = 0; l < layers; ++l) {
    const std::string module = "transformer.h." + std::to_string(l);
    const Value qkv = dense(module + ".attn.c_attn", graph.layer_norm(module + ".ln_1", x), 3 * width, kDeviation);
    const Value mixed = attention(graph, module + ".attn", qkv, heads, true);
    x = graph.add(module, x, dense(module + ".attn.c_proj", mixed, width, ends));
    const Value wide = dense(module + ".mlp.c_fc", graph.layer_norm(module + ".ln_2", x), 4 * width, kDeviation);
    x = graph.add(module, x, dense(module + ".mlp.c_proj", graph.gelu(module + ".mlp.act", wide, true), width, ends));
  }
  x = graph.layer_norm("transformer.ln_f", x);
  const InitialWeight head =
      arguments.flag("tied") ? table : graph.weight("lm_head.weight", {vocab, width}, kDeviation);
  graph.output(graph.project("lm_head", x, head, true, {}), "output");
}

}  // namespace

std::vector<ZooEntry> gpt_entries() {
  return {{{"gpt", "GPT-2 over token ids [N,context], with scores for every next token",
            std::vector{integer_parameter("layers", 12, "blocks of attention and perceptron", 1, 512),
                        integer_parameter("heads", 12, "of attention; they divide the width", 1, 512),
                        integer_parameter("width", 768, "of the stream", 1, 1 << 16),
                        integer_parameter("context", 1024, "tokens of a sample", 1, 1 << 14),
                        integer_parameter("vocab", 50257, "tokens there are; 256 for bytes", 1, 1 << 22),
                        flag_parameter("tied", true, "the head's matrix is the embedding's")} +
                common_parameters()},
           build_gpt}};
}

}  // namespace plimsoll
