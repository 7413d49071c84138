#include "compiler/network/simplify/spellings_recurrent_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "compiler/support/counted.h"

namespace plimsoll::spelling::recurrence {
namespace {

// If rows [first, first + count) of an input are the rows of one whole value, in blocks of one gate each: its name,
// and the position of each gate.
std::optional<std::pair<std::string, std::vector<size_t>>> one_value(const std::vector<Rows>& rows, int64_t first,
                                                                     int64_t gates, int64_t hidden) {
  std::string name;
  std::vector<size_t> gate;
  for (int64_t k = 0; k < gates; ++k) {
    int64_t at = first + k * hidden;
    const Rows* found = nullptr;
    for (const Rows& part : rows) {
      if (at < part.count) {
        found = &part;
        break;
      }
      at -= part.count;
    }
    if (!found || at + hidden > found->count || found->whole != gates * hidden || (k > 0 && found->name != name))
      return std::nullopt;
    const int64_t there = found->first + at;
    if (there % hidden != 0) return std::nullopt;
    name = found->name;
    gate.push_back(static_cast<size_t>(there / hidden));
  }
  std::vector<size_t> sorted = gate;
  std::sort(sorted.begin(), sorted.end());
  for (size_t k = 0; k < sorted.size(); ++k)
    if (sorted[k] != k) return std::nullopt;
  return std::pair{name, gate};
}

// In ONNX's order.
std::vector<Weights> taken_apart(Writer& writer, int64_t gates, int64_t hidden, size_t directions) {
  writer.enter("weights");
  const int64_t all = gates * hidden;
  const auto parts = [&](size_t i) { return by_direction(writer, writer.input(i), 0, directions); };
  const std::vector<std::string> w = parts(1), r = parts(2);
  const std::vector<std::string> b = writer.input(3).empty() ? std::vector<std::string>() : parts(3);
  std::vector<Weights> found;
  for (size_t d = 0; d < directions; ++d) {
    found.push_back({.w = w[d], .r = r[d], .gate = std::vector<size_t>(static_cast<size_t>(gates))});
    std::iota(found[d].gate.begin(), found[d].gate.end(), size_t{0});
    if (b.empty()) continue;
    const std::vector<std::string> halves = writer.split(b[d], 0, {all, all});
    found[d].from_input = halves[0], found[d].from_state = halves[1];
  }
  return found;
}

}  // namespace

std::vector<std::string> by_direction(Writer& writer, const std::string& x, int64_t axis, size_t directions) {
  std::vector<std::string> parts = writer.split(x, axis, Ints(directions, 1));
  for (std::string& part : parts) part = writer.write("Squeeze", {part}, "axes", {axis});
  return parts;
}

std::vector<Weights> find_weights(Writer& writer, int64_t gates, int64_t hidden, size_t directions) {
  std::vector<Weights> found;
  const std::vector<Rows> w = writer.rows(1), r = writer.rows(2), b = writer.rows(3);
  const bool biased = !writer.input(3).empty();
  const int64_t all = gates * hidden;
  const auto value = [&](const std::vector<Rows>& rows, int64_t first) {
    return one_value(rows, first, gates, hidden);
  };
  for (size_t d = 0; d < directions; ++d) {
    const int64_t at = static_cast<int64_t>(d) * all;
    const auto of_w = value(w, at), of_r = value(r, at);
    const auto from_input = biased ? value(b, 2 * at) : of_w,
               from_state = biased ? value(b, 2 * at + all) : of_w;
    const bool same = of_w && of_r && from_input && from_state && of_r->second == of_w->second &&
                      from_input->second == of_w->second && from_state->second == of_w->second &&
                      (gates != 3 || of_w->second[2] == 2);
    if (!same) return taken_apart(writer, gates, hidden, directions);
    found.push_back({.w = of_w->first, .r = of_r->first, .gate = of_w->second});
    if (biased) found.back().from_input = from_input->first, found.back().from_state = from_state->first;
  }
  return found;
}

Result<std::vector<Activation>> read_activations(const Writer& writer, size_t directions) {
  static constexpr std::array<std::string_view, 7> kHad = {"Elu",     "HardSigmoid", "LeakyRelu", "Relu",
                                                           "Sigmoid", "Softplus",    "Tanh"};
  const auto* given = find_attribute(writer.node(), "activations");
  const bool lstm = writer.node().op == "LSTM", gru = writer.node().op == "GRU";
  const size_t each = lstm ? 3 : gru ? 2 : 1;
  std::vector<Activation> activations;
  for (size_t i = 0; i < each * directions; ++i)
    activations.push_back({.op = i % each == 0 && each > 1 ? "Sigmoid" : "Tanh"});
  const auto *alpha = find_attribute(writer.node(), "activation_alpha"),
             *beta = find_attribute(writer.node(), "activation_beta");
  if (!given || given->texts().empty()) return activations;
  const auto many = [](const auto& list, const char* what) {
    return counted(static_cast<int64_t>(list.size()), what);
  };
  if (given->texts().size() != activations.size())
    return writer.invalid(fmt::format("has {} for {}", many(given->texts(), "activation"), many(activations, "place")));
  for (size_t i = 0; i < activations.size(); ++i) {
    Activation& activation = activations[i];
    activation.is_default = activation.op == given->texts()[i];
    activation.op = given->texts()[i];
    if (std::find(kHad.begin(), kHad.end(), activation.op) == kHad.end())
      return writer.unsupported(
          fmt::format("its activation {} is not one of Elu, HardSigmoid, LeakyRelu, Relu, Sigmoid, Softplus, Tanh",
                      activation.op));
    const bool shaped = activation.op == "Elu" || activation.op == "HardSigmoid" || activation.op == "LeakyRelu";
    for (const auto& [numbers, to] : {std::pair{alpha, &activation.alpha}, {beta, &activation.beta}}) {
      if (!shaped || !numbers || numbers->reals().empty() ||
          (to == &activation.beta && activation.op != "HardSigmoid"))
        continue;
      if (numbers->reals().size() != activations.size())
        return writer.unsupported(fmt::format("{} has {} for {}: the assignment is ambiguous", numbers->name,
                                              many(numbers->reals(), "number"), many(activations, "activation")));
      *to = numbers->reals()[i];
    }
  }
  return activations;
}

}  // namespace plimsoll::spelling::recurrence
