#include "compiler/network/simplify/spellings_recurrent_lengths.h"

#include <algorithm>

namespace plimsoll::spelling::recurrence {
namespace {

constexpr size_t kLengths = 4;  // the input

}  // namespace

bool Lengths::differ() const {
  const KnownValue* const known = w_.known(kLengths);
  return !w_.input(kLengths).empty() &&
         !(known && !known->real() &&
           std::ranges::all_of(known->ints, [&](Dim length) { return length == Dim{steps_}; }));
}

const std::string& Lengths::has_step(size_t t) {
  std::string& mask = of_step_[t];
  if (mask.empty()) {
    const Dim step{static_cast<int64_t>(t)};
    const std::string number = w_.constant({.element = w_.element(kLengths), .dims = {}, .ints = {step}});
    mask = w_.write("Unsqueeze", {w_.write("Greater", {w_.input(kLengths), number})}, "axes", {1});
  }
  return mask;
}

std::string Lengths::where_step(size_t t, const std::string& value, const std::string& other) {
  const std::string& mask = has_step(t);
  return w_.write("Where", {mask, value, other.empty() ? w_.number(0) : other});
}

// Row k of OneHot is set for the samples of k steps, so rows 1, 2, … tell which step is the last one. Instead of a
// comparison with the numbers of all steps: these would be a tensor in the model's file, of this form only. As in
// where_step(), a length above the number of steps means all of them, and a negative one none; OneHot would take
// neither so.
const std::string& Lengths::ends() {
  if (ends_.empty()) {
    const std::string real = w_.write("Cast", {w_.input(kLengths)});
    w_.set_integer("to", static_cast<int64_t>(ElementType::f32));
    const std::string within = w_.write("Clip", {real, w_.number(0), w_.number(static_cast<float>(steps_))});
    const std::string length = w_.write("Cast", {within});
    w_.set_integer("to", static_cast<int64_t>(ElementType::i64));
    const std::string off_on = w_.constant({.element = ElementType::f32, .dims = {{2}}, .reals = {0, 1}});
    const std::string counted = w_.write("OneHot", {length, w_.integers({steps_ + 1}, {{1}}), off_on});
    w_.set_integer("axis", 0);
    ends_ = w_.split(counted, 0, {1, steps_})[1];
  }
  return ends_;
}

std::string Lengths::is_set(const std::string& mask) {
  return w_.write("Unsqueeze", {w_.write("Greater", {mask, w_.number(0)})}, "axes", {2});
}

std::string Lengths::where_steps(const std::string& x, float other) {
  if (steps_of_samples_.empty()) {
    const std::string left = w_.write("CumSum", {ends(), w_.integers({0}, {})});
    w_.set_integer("reverse", 1);
    steps_of_samples_ = is_set(left);
  }
  return w_.write("Where", {steps_of_samples_, x, w_.number(other)});
}

std::string Lengths::at_last_step(const std::string& x, const std::string& first) {
  if (is_last_.empty()) is_last_ = is_set(ends());
  const std::string only = w_.write("Where", {is_last_, x, w_.number(0)});
  const std::string last = w_.write("ReduceSum", {only, w_.integers({0}, {{1}})});
  w_.set_integer("keepdims", 0);
  return first.empty() ? last : where_step(0, last, first);
}

}  // namespace plimsoll::spelling::recurrence
