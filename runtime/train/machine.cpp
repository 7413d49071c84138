#include "runtime/train/machine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/attrs/file_type.h"
#include "runtime/train/counted.h"
#include "runtime/train/diagnose.h"
#include "runtime/train/layout.h"
#include "runtime/train/reporter.h"

namespace plimsoll::train {
namespace {

KernelSet::Where where(const Machine::Setup& setup) {
  return setup.revalidate ? KernelSet::Where::held_to_plan : KernelSet::Where::may_differ;
}

}  // namespace

Machine::Machine(const Program& program, Team& team, const Setup& setup)
    : program_(program),
      team_(team),
      arena_(program.arena_bytes),
      full_(program.kernels, where(setup)),
      last_(program.kernels, where(setup)),
      rest_(program.kernels, where(setup)),
      may_record_(setup.may_record),
      kernel_batch_(setup.compiled ? setup.compiled->batch : program.batch) {
  if (program.host_pool_bytes > 0) pool_ = std::make_unique<backend::HostPool>(program.host_pool_bytes, setup.spill);
  build(full_, program.sub_batch, setup);
  if (program.last_sub_batch != program.sub_batch) build(last_, program.last_sub_batch, setup);
  rest_samples_ = setup.left_over / team.size() % program.sub_batch;
  if (rest_samples_ == program.last_sub_batch) rest_samples_ = 0;
  if (rest_samples_ > 0) build(rest_, rest_samples_, setup);
  check_refused();
  program.forward(round_);
  if (setup.only_output) {
    round_.end_forward_at(program.output.step);
    laid_out_.resize(static_cast<size_t>(program.output.desc.padded_elements()));
    plain_.resize(static_cast<size_t>(program.output.desc.elements()));
  } else {
    round_.end_forward();
    program.backward(round_);
  }
  if (setup.groups)
    for (size_t i = 0; i < round_.commands().size(); ++i) {
      const Command& command = round_.commands()[i];
      if (command.kind == Command::Kind::update)
        round_.set_numbers(i, setup.groups->of_step(program.step_names[static_cast<size_t>(command.step)]));
    }
  for (const Command& command : round_.commands()) {
    if (command.kind == Command::Kind::load)
      (command.whole ? loaded_whole_bytes_ : loaded_sample_bytes_) += command.bytes;
    if (command.kind != Command::Kind::offload && command.kind != Command::Kind::prefetch) continue;
    for (const bool last : {false, true})
      if (command.wanted(true, last)) copied_bytes_[last] += command.bytes;
    if (command.from_zero) zeroed_bytes_ += command.bytes;
  }
  streams_ = std::make_unique<backend::Streams>(program, round_, arena_, pool_.get(),
                                                setup.overlap ? backend::Overlap::streams : backend::Overlap::none);
}

// Workspaces are planned for the rounds of the compiled batch. In a round of fewer samples a library may divide the
// work among its threads in another way, and need more.
void Machine::build(KernelSet& set, int64_t samples, const Setup& setup) const {
  const Program& compiled = setup.compiled ? *setup.compiled : program_;
  try {
    program_.build(set, samples);
  } catch (const KernelError& error) {
    std::string remedy = "compile the model on this machine";
    if (samples != compiled.sub_batch && samples != compiled.last_sub_batch)
      remedy = "the workspace is planned for rounds of " + counted(compiled.sub_batch, "sample") + ", not of " +
               std::to_string(samples) + ": " +
               (&set == &rest_ ? "use --last pad or drop, or another --batch"
                               : "another --batch or --sub-batch may fit, or compile the model for this one");
    throw KernelError(std::string(error.what()) + "; " + remedy);
  }
}

const KernelSet& Machine::kernels_for(int64_t samples) const {
  return samples == program_.sub_batch ? full_ : samples == program_.last_sub_batch ? last_ : rest_;
}

std::vector<KernelSet::Replaced> Machine::replaced_kernels() const {
  std::vector<KernelSet::Replaced> all;
  for (const KernelSet* set : {&full_, &last_, &rest_})
    all.insert(all.end(), set->replaced().begin(), set->replaced().end());
  return all;
}

// Lists all of them at once, because a user who moves a trainer to another machine needs the whole list.
void Machine::check_refused() const {
  constexpr size_t kNamed = 4;
  std::vector<KernelSet::Refused> all;
  for (const KernelSet* set : {&full_, &last_, &rest_})
    all.insert(all.end(), set->refused().begin(), set->refused().end());
  if (all.empty()) return;
  const std::string planned = program_.libraries, here = backend::library_version();
  std::string text = "--revalidate: " + counted(static_cast<int64_t>(all.size()), "kernel") +
                     (all.size() == 1 ? " is" : " are") + " not available as planned" +
                     (planned.empty() || planned == here ? "" : ", with " + planned) + ", on " + here + ":";
  for (size_t i = 0; i < std::min(all.size(), kNamed); ++i) text += "\n  " + all[i].layers + ": " + all[i].why;
  if (all.size() > kNamed) text += "\n  and " + std::to_string(all.size() - kNamed) + " more";
  throw KernelError(text + "\nwithout --revalidate other algorithms are taken, within the planned memory");
}

// Each rank gets a contiguous part of every round, so that one rank and several compute the same rounds.
//
//   samples   | 0 1 2 3 | 4 5 6 7 |        2 ranks, sub-batches of 4, 2 samples for each rank
//   rank        0 0 1 1   0 0 1 1
Samples Machine::share(const Samples& of_all, int64_t round) const {
  const int64_t of_round = program_.sub_batch * team_.size(), first = round * of_round;
  const int64_t mine = std::min(of_round, of_all.count - first) / team_.size();
  return {of_all.first + first + team_.rank() * mine, mine};
}

Machine::Totals Machine::play(Feeder& feeder, const Iteration& iteration) {
  Totals totals;
  const int64_t counted = iteration.samples.count, played = iteration.padded ? program_.batch : counted;
  const int64_t of_round = program_.sub_batch * team_.size(), rounds = (played + of_round - 1) / of_round;
  const auto samples_of = [&](int64_t round) { return share({iteration.samples.first, played}, round); };
  // A padded part is not fetched ahead.
  const Samples next_first = iteration.next.count % team_.size() == 0 ? share(iteration.next, 0) : Samples{};
  RunContext context = iteration.context;
  context.rank = team_.rank();
  // The kernels divide by the labels of a whole batch, of the size that they were compiled for.
  totals.labels = feeder.counted_labels(iteration.samples);
  const bool weighed = program_.classes > 0;
  totals.weight =
      weighed ? feeder.label_weight(program_.inputs.size() - 1, iteration.samples) : static_cast<double>(totals.labels);
  const double of_batch = static_cast<double>(kernel_batch_ * labels_per_sample(program_));
  context.loss_scale = totals.weight > 0 ? of_batch / totals.weight : 0;
  for (size_t i = 0; i < std::min(program_.inputs.size(), kLabelScales); ++i) {
    if (program_.inputs[i].end_label == 0) continue;
    const double weight = feeder.label_weight(i, iteration.samples);
    context.label_scales[i] =
        weight > 0 ? static_cast<double>(kernel_batch_ * labels_of_sample(program_.inputs[i])) / weight : 0;
  }
  for (int64_t r = 0; r < rounds; ++r) {
    const Samples samples = samples_of(r);
    const double fetching = now_seconds();
    feeder.stage(samples, r + 1 < rounds ? samples_of(r + 1) : next_first);
    totals.fetch_seconds += now_seconds() - fetching;
    context.round = r;
    if (iteration.guarded && feeder.bad_input() >= 0) {
      totals.finite = false;
      context.discard = true;
      // NaN in the loss tells the other ranks.
      if (team_.size() > 1) context.loss_scale = std::numeric_limits<double>::quiet_NaN();
    }
    const RoundJob job{.kernels = &kernels_for(samples.count),
                       .staged = feeder.staged(),
                       .number = feeder.number(),
                       .next = feeder.next(),
                       .context = context,
                       .samples = samples.count,
                       .first = r == 0,
                       .last = r + 1 == rounds,
                       .may_record = may_record_,
                       .guarded = iteration.guarded,
                       .ranks = team_.ranks(),
                       .times = r + 1 == rounds ? iteration.times : nullptr};
    const RoundResult result = streams_->play(job);
    totals.loss += result.loss;
    totals.correct += result.correct;
    if (job.last) totals.overflowed = result.factor < 0;
    totals.stall_seconds += result.stall_seconds;
    totals.reduce_seconds += result.reduce_seconds;
    if (!result.not_recorded.empty()) totals.not_recorded = result.not_recorded;
    totals.moved_bytes += copied_bytes_[job.last] - (job.first ? zeroed_bytes_ : 0) + loaded_whole_bytes_ +
                          samples.count * loaded_sample_bytes_;
    if (std::isfinite(result.loss) && (totals.finite || !totals.bad.empty())) continue;
    if (totals.bad.empty() && iteration.guarded) {
      const Diagnosis found = first_bad_tensor(program_, round_, arena_, pool_.get(), job);
      totals.bad = team_.first_said(found.text);
      totals.weights_are_bad = found.persistent;
    }
    totals.finite = false;
    context.discard = iteration.guarded;  // updates then only clear the gradients
  }
  return totals;
}

std::span<const float> Machine::output_of(Feeder& feeder, const Samples& now, const Samples& next) {
  // Always a whole sub-batch, filled with copies, so that one kernel set is enough.
  const auto whole = [&](const Samples& samples) {
    return Samples{samples.first, samples.count > 0 ? program_.sub_batch : 0};
  };
  feeder.stage(whole(now), whole(next));
  streams_->play({.kernels = &full_,
                  .staged = feeder.staged(),
                  .number = feeder.number(),
                  .next = feeder.next(),
                  .context = {.training = false},
                  .samples = program_.sub_batch,
                  .may_record = may_record_});
  const ProgramOutput& output = program_.output;
  std::byte* const raw = reinterpret_cast<std::byte*>(laid_out_.data());
  backend::copy_out(nullptr, raw, arena_.data() + output.offset, output.desc.bytes());
  if (is_narrow(output.desc.type))
    for (size_t i = laid_out_.size();
         i-- > 0;) {  // from the end: an element as a float covers two that are read already
      uint16_t bits;
      std::memcpy(&bits, raw + i * sizeof bits, sizeof bits);
      laid_out_[i] = output.desc.type == DataType::bf16 ? widened(bits) : widened_f16(bits);
    }
  to_plain(output.desc, laid_out_.data(), plain_.data());
  return std::span(plain_).first(plain_.size() / static_cast<size_t>(program_.sub_batch) *
                                 static_cast<size_t>(now.count));
}

}  // namespace plimsoll::train
