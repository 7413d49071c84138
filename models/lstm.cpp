// An unrolled recurrent network: every step has its own nodes, and all steps share the weights. Hochreiter and
// Schmidhuber, Long short-term memory, 1997, with forget gates.
//
//   gates = W_ih x + b + W_hh h'        i, f, o = σ, g = tanh of a quarter each
//   c = f c' + i g                      h = o tanh c
//
// Weights have the names and layout of torch.nn.LSTM, except for its redundant second bias. The initial state is zero,
// so the first step has no W_hh and no f. The last step's h is classified.
#include <cmath>

#include "models/networks.h"

namespace plimsoll {
namespace {

using Value = GraphWriter::Value;

struct Layer {
  InitialWeight from_input, from_state, bias;
  Value h, c;
};

void build_lstm(GraphWriter& graph, const Arguments& arguments) {
  const int64_t steps = arguments.integer("steps"), features = arguments.integer("features");
  const int64_t hidden = arguments.integer("hidden");
  std::vector<Layer> layers;
  for (int64_t l = 0; l < arguments.integer("layers"); ++l) {
    const std::string index = "_l" + std::to_string(l);
    const int64_t inputs = l == 0 ? features : hidden;
    const auto deviation = [](int64_t fan_in) { return std::sqrt(1.0 / static_cast<double>(fan_in)); };
    layers.push_back({.from_input = graph.weight("lstm.weight_ih" + index, {4 * hidden, inputs}, deviation(inputs)),
                      .from_state = graph.weight("lstm.weight_hh" + index, {4 * hidden, hidden}, deviation(hidden)),
                      .bias = graph.weight("lstm.bias_ih" + index, {4 * hidden}, 0),
                      .h = {},
                      .c = {}});
  }

  const Value sequence = graph.input("input", {steps, features});
  const std::vector<Value> inputs = graph.split("lstm", sequence, steps);
  for (int64_t t = 0; t < steps; ++t) {
    Value x = graph.squeeze("lstm", inputs[static_cast<size_t>(t)]);
    for (size_t l = 0; l < layers.size(); ++l) {
      // The same module in every step, applied again: nodes are distinguished by numbers appended to their names.
      const std::string module = "lstm.layer" + std::to_string(l);
      Layer& layer = layers[l];
      Value gates = graph.linear(module + ".ih", x, layer.from_input, layer.bias);
      if (t > 0) gates = graph.add(module, gates, graph.linear(module + ".hh", layer.h, layer.from_state, {}));
      const std::vector<Value> quarter = graph.split(module, gates, 4);
      Value c = graph.mul(module, graph.sigmoid(module, quarter[0]), graph.tanh(module, quarter[2]));
      if (t > 0) c = graph.add(module, graph.mul(module, graph.sigmoid(module, quarter[1]), layer.c), c);
      layer.c = c;
      layer.h = graph.mul(module, graph.sigmoid(module, quarter[3]), graph.tanh(module, c));
      x = layer.h;
    }
  }
  graph.output(graph.linear("fc", layers.back().h, arguments.integer("classes"), 1), "output");
}

}  // namespace

std::vector<ZooEntry> lstm_entries() {
  return {{{"lstm", "LSTM over sequences [N,steps,features], unrolled, with a classifier on its last step",
            std::vector{integer_parameter("steps", 32, "length of the sequences", 1, 1 << 14),
                        integer_parameter("features", 32, "of a step", 1, 1 << 16),
                        integer_parameter("hidden", 128, "size of the state", 1, 1 << 16),
                        integer_parameter("layers", 1, "one above the other", 1, 256),
                        integer_parameter("classes", 10, "number of classes", 1, 1 << 20)} +
                common_parameters()},
           build_lstm}};
}

}  // namespace plimsoll
