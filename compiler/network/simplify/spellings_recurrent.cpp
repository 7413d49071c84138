// LSTM, GRU and RNN, unrolled: ONNX's equations, step by step. The product of inputs and W needs no state, so it is
// computed for several steps at once. Or, if asked, an LSTM or GRU as one operator for all steps of a direction.
//
//   LSTM   i, o, f = σ, c̃ = tanh of x W' + h' R' + Wb + Rb      c = f c' + i c̃                      h = o tanh c
//          peepholes add p c' to the sums of i and f, and p c to that of o        coupled gates: f = 1 - i
//   GRU    z, r = σ likewise     h̃ = tanh(x W' + r (h' R' + Rb) + Wb), or (r h') R' + Rb before  h = h̃ + z (h' - h̃)
//   RNN    h = tanh(x W' + h' R' + Wb + Rb)
//
// Unrolled, a sample keeps its state where it has no step (sequence_lens): after its sequence has ended or, in the
// reverse direction, until it begins. `clip` bounds what the activations of the gates get, but not what that of the
// cell gets, as in ONNX Runtime.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/network/simplify/spellings_recurrent_lengths.h"
#include "compiler/network/simplify/spellings_recurrent_node.h"
#include "compiler/support/counted.h"

namespace plimsoll::spelling {
namespace recurrence {

// The maximum number of input rows in one product: while it is split, the product and all its steps are in memory
// together.
constexpr int64_t kRowsAtOnce = 256;
constexpr int64_t kMostSteps = 16384;

struct State {
  std::string h = {}, c = {};  // empty: zero
};

class Unrolled {
 public:
  explicit Unrolled(Writer& writer)
      : w_(writer),
        lstm_(writer.node().op == "LSTM"),
        gru_(writer.node().op == "GRU"),
        gates_(lstm_ ? 4 : gru_ ? 3 : 1) {}

  Result<Nodes> write() {
    PLIMSOLL_TRY(read_shapes());
    PLIMSOLL_TRY(read_attributes());
    const std::vector<Weights> weights = find_weights(w_, gates_, hidden_, directions_);
    const std::vector<State> first = first_states();
    if (can_be_fused() && w_.fuse_recurrence()) return fused(weights, first);
    const std::vector<std::string> chunks = input_chunks();
    const std::vector<std::string> peepholes = find_peepholes();
    std::vector<std::string> sequences, last_h, last_c;
    for (size_t d = 0; d < directions_; ++d) {
      const bool back = d == 1 || direction_ == "reverse";
      const std::string part = directions_ == 2 ? (back ? "backward/" : "forward/") : "";
      std::vector<std::string> states(static_cast<size_t>(steps_));
      State state = first[d];
      Weights all = complete(weights[d], part);
      if (gru_ && !linear_before_reset()) all.parts_of_r = w_.split(all.r, 0, {2 * hidden_, hidden_});
      if (!peepholes.empty()) all.peepholes = w_.split(peepholes[d], 0, Ints(3, hidden_));
      const std::vector<std::string> inputs = products(all, chunks, part);
      for (int64_t i = 0; i < steps_; ++i) {
        const size_t t = static_cast<size_t>(back ? steps_ - 1 - i : i);
        w_.enter(fmt::format("{}step_{}", part, t));
        const State next = lstm_  ? lstm(all, d, inputs[t], state)
                           : gru_ ? gru(all, d, inputs[t], state)
                                  : plain(all, d, inputs[t], state);
        states[t] = lengths_ && w_.wants(0) ? lengths_->where_step(t, next.h, "") : next.h;
        state = lengths_ ? State{.h = lengths_->where_step(t, next.h, state.h),
                                 .c = lstm_ ? lengths_->where_step(t, next.c, state.c) : ""}
                         : next;
      }
      w_.enter(part.empty() ? "" : part.substr(0, part.size() - 1));
      if (w_.wants(0)) {
        for (std::string& h : states) h = w_.write("Unsqueeze", {h}, "axes", {0, 1});
        sequences.push_back(w_.concat(states, 0));
      }
      last_h.push_back(state.h);
      last_c.push_back(state.c);
    }
    return finished(sequences, last_h, last_c);
  }

 private:
  // --- one operator for all steps ---

  // The operators have the default activations, and compute all steps of all samples. Where samples begin later than
  // others, in the reverse direction with sequence_lens, only a state of zero can be kept until then.
  bool can_be_fused() const {
    const bool all = (lstm_ || gru_) && !has_peepholes() && !coupled_ && !clip_;
    const bool begins_later = lengths_ && direction_ != "forward";
    const bool begins_at_zero = is_zero(5) && (!lstm_ || is_zero(6));
    return all && (begins_at_zero || !begins_later) && std::ranges::all_of(activations_, &Activation::is_default);
  }

  bool is_zero(size_t state) const { return w_.input(state).empty() || w_.is_all(state, 0); }

  Nodes fused(const std::vector<Weights>& weights, const std::vector<State>& first) {
    w_.enter("inputs");
    const std::string x = samples_first_ ? w_.write("Transpose", {w_.input(0)}, "perm", {1, 0, 2}) : w_.input(0),
                      rows = w_.write("Reshape", {x}, "shape", {-1, w_.x()[2].value});
    std::vector<std::string> sequences, last_h, last_c;
    for (size_t d = 0; d < directions_; ++d) {
      const bool back = d == 1 || direction_ == "reverse";
      const std::string part = directions_ == 2 ? (back ? "backward/" : "forward/") : "";
      const Weights all = complete(weights[d], part);
      w_.enter(part + "steps");
      const std::string product = affine(rows, all.w, all.from_input);
      std::string apart = w_.write("Reshape", {product}, "shape", {steps_, -1, gates_ * hidden_});
      if (lengths_) apart = keeping_states(apart, all, back);
      if (lstm_) w_.write("LstmSequence", {apart, all.r, first[d].h, first[d].c});
      else if (linear_before_reset()) w_.write("GruSequence", {apart, all.r, first[d].h, all.from_state});
      else w_.write("ResetFirstGruSequence", {apart, all.r, first[d].h});
      Ints gates;
      for (const size_t gate : all.gate) gates.push_back(static_cast<int64_t>(gate));
      w_.set("gates", gates);
      w_.set_integer("reverse", back ? 1 : 0);
      std::vector<std::string> made = w_.outputs(lstm_ ? 3 : 2);
      if (lengths_ && !back && w_.wants(1)) made[1] = lengths_->at_last_step(made[0], first[d].h);
      if (lengths_ && w_.wants(0)) made[0] = lengths_->where_steps(made[0], 0);
      if (w_.wants(0)) sequences.push_back(w_.write("Unsqueeze", {made[0]}, "axes", {1}));
      last_h.push_back(made[1]);
      if (lstm_) last_c.push_back(made[2]);
    }
    return finished(sequences, last_h, last_c);
  }

  // The inputs of the gates, [steps, N, gates · hidden], with others where a sample has no step:
  // - Backward, such that the state stays zero. An LSTM: i = o = 0, so c and h are 0. A GRU: z = 1, so h = h'.
  // - Forward, only the last cell of an LSTM must outlast the sequence: i = 0 and f = 1, so c = c'. No step of a sample
  //   reads a state from after its end, and Y and the last state are selected from all states.
  // The gradients of all gates are zero there, because the gates are 0 or 1, or nothing reads the state.
  std::string keeping_states(const std::string& inputs, const Weights& weights, bool back) {
    constexpr float kClosed = -1e4F, kOpen = 1e4F;  // whatever the state adds; within the range of f16
    if (back) return lengths_->where_steps(inputs, lstm_ ? kClosed : kOpen);
    if (!lstm_ || !w_.reads(2)) return inputs;
    std::vector<std::string> gates = w_.split(inputs, 2, Ints(4, hidden_));
    std::string &in = gates[weights.gate[0]], &forget = gates[weights.gate[2]];
    in = lengths_->where_steps(in, kClosed);
    forget = lengths_->where_steps(forget, kOpen);
    return w_.concat(gates, 2);
  }

  // The outputs of the node, from those of each direction: states of all steps, the last state, the last cell.
  Nodes finished(const std::vector<std::string>& sequences, const std::vector<std::string>& last_h,
                 const std::vector<std::string>& last_c) {
    w_.enter("");
    if (w_.wants(0)) {
      const std::string y = w_.concat(sequences, 1);  // [steps, directions, samples, hidden]
      if (samples_first_) w_.write("Transpose", {y}, "perm", {2, 0, 1, 3});
      else w_.write("Identity", {y});
      w_.give(0);
    }
    give_last(1, last_h);
    if (lstm_) give_last(2, last_c);
    return w_.finish_given();
  }

  // --- what is given ---

  Status read_shapes() {
    direction_ = w_.text("direction", "forward");
    if (direction_ != "forward" && direction_ != "reverse" && direction_ != "bidirectional")
      return w_.invalid(fmt::format("its direction is '{}'", direction_));
    directions_ = direction_ == "bidirectional" ? 2 : 1;
    samples_first_ = w_.integer("layout", 0) != 0;
    const Dims& x = w_.x();
    if (x.size() != 3) return w_.invalid(fmt::format("its input is {}, expected [steps, N, features]", to_string(x)));
    const Dim steps = x[samples_first_ ? 1 : 0];
    samples_ = x[samples_first_ ? 0 : 1];
    if (steps.batch)
      return w_.unsupported(
          fmt::format("the first dimension of its input {} is steps, not the batch: export the model with batch_first, "
                      "or with dynamic axes that name the batch as the second dimension",
                      to_string(x)));
    steps_ = steps.value;
    if (steps_ > kMostSteps)
      return w_.unsupported(fmt::format("has {}, which are unrolled; at most {} are supported: use shorter sequences",
                                        counted(steps_, "step"), kMostSteps));
    const Dims* r = w_.dims(2);
    if (!r || r->size() != 3 || (*r)[2].batch) return w_.invalid("its R does not have three dimensions");
    hidden_ = (*r)[2].value;
    const Dim gates{gates_ * hidden_}, directions{static_cast<int64_t>(directions_)}, hidden{hidden_};
    if (const int64_t said = w_.integer("hidden_size", hidden_); said != hidden_)
      return w_.invalid(fmt::format("its hidden_size is {}, but R is {}", said, to_string(*r)));
    PLIMSOLL_TRY(check(1, "W", {directions, gates, x[2]}));
    PLIMSOLL_TRY(check(2, "R", {directions, gates, hidden}));
    PLIMSOLL_TRY(check(3, "B", {directions, {2 * gates.value}}));
    const Dims state = samples_first_ ? Dims{samples_, directions, hidden} : Dims{directions, samples_, hidden};
    if (!is_zero_for_example(5, state)) PLIMSOLL_TRY(check(5, "initial_h", state));
    if (lstm_ && !is_zero_for_example(6, state)) PLIMSOLL_TRY(check(6, "initial_c", state));
    return {};
  }

  // A zero state, sized for the exporter's example.
  bool is_zero_for_example(size_t i, Dims wanted) const {
    const Dims* dims = w_.dims(i);
    if (!dims || !w_.exported_batch() || !w_.is_all(i, 0)) return false;
    for (Dim& dim : wanted)
      if (dim.batch) dim = {dim.value * *w_.exported_batch()};
    return *dims == wanted;
  }

  Status check(size_t i, const char* name, const Dims& wanted) const {
    if (w_.input(i).empty()) return {};
    const Dims* dims = w_.dims(i);
    if (!dims || *dims != wanted)
      return w_.invalid(
          fmt::format("its {} is {}; expected {}", name, dims ? to_string(*dims) : "unknown", to_string(wanted)));
    return {};
  }

  Status read_attributes() {
    if (const auto* clip = find_attribute(w_.node(), "clip")) {
      clip_ = clip->real();
      if (!(*clip_ > 0)) return w_.invalid(fmt::format("its clip is {}, expected more than 0", *clip_));
    }
    coupled_ = lstm_ && w_.integer("input_forget", 0) != 0;
    if (has_peepholes()) PLIMSOLL_TRY(check(7, "P", {{static_cast<int64_t>(directions_)}, {3 * hidden_}}));
    if (Lengths lengths(w_, steps_); lengths.differ()) {
      if (w_.known(4))
        return w_.unsupported(
            fmt::format("its sequence_lens (input 4) are constants, which fit one batch only: make them an input, or "
                        "pad the sequences to {} and omit sequence_lens",
                        counted(steps_, "step")));
      PLIMSOLL_TRY(check(4, "sequence_lens", {samples_}));
      lengths_.emplace(std::move(lengths));
    }
    PLIMSOLL_ASSIGN(activations_, read_activations(w_, directions_));
    return {};
  }

  bool has_peepholes() const { return lstm_ && !w_.input(7).empty() && !w_.is_all(7, 0); }

  // --- weights ---

  // Of each direction; empty: none.
  std::vector<std::string> find_peepholes() {
    w_.enter("weights");
    return has_peepholes() ? by_direction(w_, w_.input(7), 0, directions_) : std::vector<std::string>();
  }

  // Merges both biases if both are added to the same value.
  Weights complete(Weights weights, const std::string& part) {
    w_.enter(part + "weights");
    if (weights.from_input.empty() || (gru_ && linear_before_reset())) return weights;
    weights.from_input = w_.write("Add", {weights.from_input, weights.from_state});
    weights.from_state.clear();
    return weights;
  }

  bool linear_before_reset() const { return w_.integer("linear_before_reset", 0) != 0; }

  // --- inputs and states ---

  std::vector<State> first_states() {
    w_.enter("initial");
    const auto parts = [&](size_t i) {
      if (is_zero(i)) return std::vector<std::string>(directions_);
      return by_direction(w_, w_.input(i), samples_first_ ? 1 : 0, directions_);
    };
    const std::vector<std::string> h = parts(5), c = lstm_ ? parts(6) : std::vector<std::string>(directions_);
    std::vector<State> states;
    for (size_t d = 0; d < directions_; ++d) states.push_back({.h = h[d], .c = c[d]});
    return states;
  }

  // As many steps as give kRowsAtOnce rows, the same number each time except for the last.
  std::vector<std::string> input_chunks() {
    const int64_t rows = samples_.value * (samples_.batch ? w_.batch() : 1),
                  most = std::clamp<int64_t>(kRowsAtOnce / std::max<int64_t>(rows, 1), 1, steps_);
    const int64_t count = (steps_ + most - 1) / most, each = (steps_ + count - 1) / count;
    for (int64_t left = steps_; left > 0; left -= each) chunks_.push_back(std::min(left, each));
    w_.enter("inputs");
    const std::string x = samples_first_ ? w_.write("Transpose", {w_.input(0)}, "perm", {1, 0, 2}) : w_.input(0);
    std::vector<std::string> chunks = w_.split(x, 0, chunks_);
    for (std::string& chunk : chunks) chunk = w_.write("Reshape", {chunk}, "shape", {-1, w_.x()[2].value});
    return chunks;
  }

  // For every step: x W' + Wb, [samples, gates].
  std::vector<std::string> products(const Weights& weights, const std::vector<std::string>& chunks,
                                    const std::string& part) {
    std::vector<std::string> steps;
    for (size_t i = 0; i < chunks.size(); ++i) {
      const int64_t first = static_cast<int64_t>(steps.size()), length = chunks_[i];
      w_.enter(length == 1 ? fmt::format("{}step_{}", part, first)
                           : fmt::format("{}steps_{}_to_{}", part, first, first + length - 1));
      const std::string product = affine(chunks[i], weights.w, weights.from_input);
      if (length == 1) {
        steps.push_back(product);
        continue;
      }
      const std::string apart = w_.write("Reshape", {product}, "shape", {length, -1, gates_ * hidden_});
      for (const std::string& step : w_.split(apart, 0, Ints(static_cast<size_t>(length), 1)))
        steps.push_back(w_.write("Squeeze", {step}, "axes", {0}));
    }
    return steps;
  }

  std::string affine(const std::string& x, const std::string& weight, const std::string& addend) {
    const std::string y = addend.empty() ? w_.write("Gemm", {x, weight}) : w_.write("Gemm", {x, weight, addend});
    w_.set_integer("transB", 1);
    return y;
  }

  void give_last(size_t output, const std::vector<std::string>& states) {
    if (!w_.wants(output)) return;
    std::vector<std::string> parts;
    const int64_t axis = samples_first_ ? 1 : 0;
    for (const std::string& state : states) parts.push_back(w_.write("Unsqueeze", {state}, "axes", {axis}));
    w_.concat(parts, axis);
    w_.give(output);
  }

  // --- one step ---

  // Of a gate, or of what replaces one.
  std::string activate_gate(size_t direction, size_t which, std::string sum) {
    if (clip_) sum = w_.write("Clip", {sum, w_.number(-*clip_), w_.number(*clip_)});
    return activate(direction, which, sum);
  }

  std::string activate(size_t direction, size_t which, const std::string& x) {
    const Activation& activation = activations_[direction * activations_.size() / directions_ + which];
    const std::string y = w_.write(activation.op.c_str(), {x});
    if (activation.alpha) w_.set_real("alpha", *activation.alpha);
    if (activation.beta) w_.set_real("beta", *activation.beta);
    return y;
  }

  State lstm(const Weights& weights, size_t d, const std::string& input, const State& before) {
    const std::string sums = before.h.empty() ? input : affine(before.h, weights.r, input);
    const std::vector<std::string> gates = w_.split(sums, 1, Ints(4, hidden_));
    const auto gate = [&](size_t k, size_t which, const std::string& cell) {
      std::string sum = gates[weights.gate[k]];
      if (!weights.peepholes.empty() && !cell.empty())
        sum = w_.write("Add", {sum, w_.write("Mul", {cell, weights.peepholes[k]})});
      return activate_gate(d, which, sum);
    };
    const std::string i = gate(0, 0, before.c);
    std::string o = weights.peepholes.empty() ? gate(1, 0, "") : "";
    std::string c = w_.write("Mul", {i, gate(3, 1, "")});
    if (!before.c.empty()) {
      const std::string f = coupled_ ? w_.write("Sub", {w_.number(1), i}) : gate(2, 0, before.c);
      const std::string kept = w_.write("Mul", {f, before.c});
      c = w_.write("Add", {kept, c});
    }
    if (o.empty()) o = gate(1, 0, c);
    const std::string h = w_.write("Mul", {o, activate(d, 2, c)});
    return {.h = h, .c = c};
  }

  State gru(const Weights& weights, size_t d, const std::string& input, const State& before) {
    const std::vector<std::string> in = w_.split(input, 1, {2 * hidden_, hidden_});
    std::string gates = in[0], candidate = in[1], z;
    if (linear_before_reset()) {
      std::vector<std::string> from_state;  // of gates and candidate: only a bias if the state is zero
      if (!before.h.empty())
        from_state = w_.split(affine(before.h, weights.r, weights.from_state), 1, {2 * hidden_, hidden_});
      else if (!weights.from_state.empty()) from_state = w_.split(weights.from_state, 0, {2 * hidden_, hidden_});
      if (!from_state.empty()) gates = w_.write("Add", {gates, from_state[0]});
      const std::vector<std::string> open = w_.split(activate_gate(d, 0, gates), 1, {hidden_, hidden_});
      z = open[weights.gate[0]];
      if (!from_state.empty())
        candidate = w_.write("Add", {candidate, w_.write("Mul", {open[weights.gate[1]], from_state[1]})});
    } else {
      if (!before.h.empty()) gates = affine(before.h, weights.parts_of_r[0], gates);
      const std::vector<std::string> open = w_.split(activate_gate(d, 0, gates), 1, {hidden_, hidden_});
      z = open[weights.gate[0]];
      if (!before.h.empty())
        candidate = affine(w_.write("Mul", {open[weights.gate[1]], before.h}), weights.parts_of_r[1], candidate);
    }
    const std::string fresh = activate_gate(d, 1, candidate);
    if (before.h.empty()) return {.h = w_.write("Sub", {fresh, w_.write("Mul", {z, fresh})})};
    const std::string back = w_.write("Sub", {before.h, fresh});
    return {.h = w_.write("Add", {fresh, w_.write("Mul", {z, back})})};
  }

  State plain(const Weights& weights, size_t d, const std::string& input, const State& before) {
    return {.h = activate_gate(d, 0, before.h.empty() ? input : affine(before.h, weights.r, input))};
  }

  Writer& w_;
  const bool lstm_, gru_;
  const int64_t gates_;
  size_t directions_ = 1;
  std::string direction_ = {};
  bool samples_first_ = false;
  int64_t steps_ = 0, hidden_ = 0;
  Dim samples_ = {};
  std::optional<float> clip_ = {};
  bool coupled_ = false;               // an LSTM's input and forget gates
  std::optional<Lengths> lengths_ = {};  // nullopt: all sequences have all steps
  std::vector<int64_t> chunks_ = {};  // their lengths in steps
  std::vector<Activation> activations_ = {};
};

}  // namespace recurrence

Result<Nodes> recurrent(Writer& w) { return recurrence::Unrolled(w).write(); }

}  // namespace plimsoll::spelling
