#include "runtime/round.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace plimsoll {
namespace {

constexpr size_t kUnmarked = static_cast<size_t>(-1);

std::span<const int64_t> as_span(std::initializer_list<int64_t> list) { return {list.begin(), list.size()}; }

}  // namespace

Round& Round::after(std::initializer_list<int32_t> steps) {
  if (runner_) return *this;
  for (const int32_t step : steps) {
    const size_t at = static_cast<size_t>(step);
    if (at >= marked_.size() || marked_[at] == kUnmarked)
      throw std::logic_error("step " + std::to_string(steps_) + " waits for step " + std::to_string(step) +
                             ", which is not marked before it");
    waits_.push_back(marked_[at]);
  }
  return *this;
}

Round& Round::training() {
  training_only_ = true;
  return *this;
}

Round& Round::last() {
  with_updates_ = true;
  return *this;
}

Round& Round::from_zero() {
  from_zero_ = true;
  return *this;
}

Round& Round::for_next() {
  for_next_ = true;
  return *this;
}

Round& Round::mark(int32_t step) {
  if (runner_) return *this;
  const size_t at = static_cast<size_t>(step);
  if (at >= marked_.size()) marked_.resize(at + 1, kUnmarked);
  marked_[at] = commands_.size() - 1;
  return *this;
}

void Round::end_forward_at(int32_t step) {
  const auto behind =
      std::find_if(commands_.begin(), commands_.end(), [&](const Command& command) { return command.step > step; });
  commands_.erase(behind, commands_.end());
  end_forward();
}

Round& Round::tell(Command command, std::span<const int64_t> operands) {
  if (runner_) {
    runner_->run(told_++);
    return *this;
  }
  command.step = command.is_step() ? steps_++ : steps_ - 1;
  command.training_only = training_only_;
  command.with_updates = with_updates_;
  command.from_zero = from_zero_;
  command.for_next = for_next_;
  command.first_wait = waits_told_;
  command.waits = waits_.size() - waits_told_;
  command.first_operand = operands_.size();
  command.operands = operands.size();
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  commands_.push_back(command);
  waits_told_ = waits_.size();
  training_only_ = with_updates_ = from_zero_ = for_next_ = false;
  return *this;
}

Round& Round::run(size_t kernel, std::initializer_list<int64_t> operands, int64_t workspace) {
  return tell({.kind = Command::Kind::run, .index = kernel, .offset = workspace}, as_span(operands));
}

Round& Round::again(size_t kernel, std::initializer_list<int64_t> operands, int64_t workspace) {
  return tell({.kind = Command::Kind::again, .index = kernel, .offset = workspace}, as_span(operands));
}

Round& Round::update(size_t kernel, std::initializer_list<int64_t> operands, int64_t workspace) {
  return tell({.kind = Command::Kind::update, .index = kernel, .offset = workspace}, as_span(operands));
}

Round& Round::load(size_t input, int64_t offset, int64_t sample_bytes) {
  return tell({.kind = Command::Kind::load, .index = input, .offset = offset, .bytes = sample_bytes});
}

Round& Round::load_whole(size_t input, int64_t offset, int64_t bytes) {
  return tell({.kind = Command::Kind::load, .whole = true, .index = input, .offset = offset, .bytes = bytes});
}

Round& Round::offload(int64_t offset, int64_t host_offset, int64_t bytes) {
  return tell({.kind = Command::Kind::offload, .offset = offset, .host_offset = host_offset, .bytes = bytes});
}

Round& Round::prefetch(int64_t offset, int64_t host_offset, int64_t bytes) {
  return tell({.kind = Command::Kind::prefetch, .offset = offset, .host_offset = host_offset, .bytes = bytes});
}

Round& Round::add_up(Command::Kind kind, std::initializer_list<BucketPart> bucket, int64_t workspace,
                     int64_t workspace_bytes) {
  if (runner_) return tell({});
  std::vector<int64_t> operands;
  for (const BucketPart& part : bucket) operands.insert(operands.end(), {part.offset, part.bytes});
  return tell({.kind = kind, .offset = workspace, .bytes = workspace_bytes}, operands);
}

Round& Round::reduce(std::initializer_list<BucketPart> bucket, int64_t workspace, int64_t workspace_bytes) {
  return add_up(Command::Kind::reduce, bucket, workspace, workspace_bytes);
}

Round& Round::total(std::initializer_list<BucketPart> bucket, int64_t workspace, int64_t workspace_bytes) {
  return add_up(Command::Kind::total, bucket, workspace, workspace_bytes);
}

Round& Round::read_loss(int64_t offset) {
  return tell({.kind = Command::Kind::read_loss, .read_on = stream_of_loss(), .offset = offset});
}

Round& Round::read_correct(int64_t offset) {
  return tell({.kind = Command::Kind::read_correct, .read_on = stream_of_loss(), .offset = offset});
}

Round& Round::read_factor(int64_t offset) { return tell({.kind = Command::Kind::read_factor, .offset = offset}); }

}  // namespace plimsoll
