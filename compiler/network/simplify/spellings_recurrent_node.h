// What an LSTM, GRU or RNN node gives: the weights of each direction and the activations.
//
// Exporters assemble W, R and B from a module's own parameters, gate by gate. If each is one parameter with another
// order of gates, the parameter itself is used, and its gates are taken in its order. Then the steps accumulate the
// gradient of a weight in place, and there is no second copy of the weight (docs/decisions/recurrent.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/network/simplify/spelling_writer.h"

namespace plimsoll::spelling::recurrence {

// The weights of one direction.
struct Weights {
  std::string w = {}, r = {};
  std::string from_input = {}, from_state = {};  // biases
  std::vector<size_t> gate = {};  // the position of each of ONNX's gates among the gates of w, r and the biases
  // for an unrolled GRU that resets before the product: r of its gates, r of its candidate
  std::vector<std::string> parts_of_r = {};
  std::vector<std::string> peepholes = {};  // of i, o, f; empty: none
};

struct Activation {
  std::string op = {};
  std::optional<float> alpha = {}, beta = {};
  bool is_default = true;
};

// `gates`: 4, 3 or 1; `hidden`: the size of the state. Writes nodes if W, R or B must be taken apart.
std::vector<Weights> find_weights(Writer& writer, int64_t gates, int64_t hidden, size_t directions);

// The parts of x along the axis, one for each direction, without that axis.
std::vector<std::string> by_direction(Writer& writer, const std::string& x, int64_t axis, size_t directions);

// Those of all directions, one direction after the other, as ONNX lists them. Errors: unsupported, invalid_model.
Result<std::vector<Activation>> read_activations(const Writer& writer, size_t directions);

}  // namespace plimsoll::spelling::recurrence
