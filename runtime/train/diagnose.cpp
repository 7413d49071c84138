#include "runtime/train/diagnose.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "runtime/attrs/bf16.h"
#include "runtime/attrs/f16.h"
#include "runtime/program.h"
#include "runtime/train/counted.h"
#include "runtime/train/dataset.h"
#include "runtime/train/error.h"

namespace plimsoll::train {
namespace {

// The numbers of a range of floats that are not finite.
struct Found {
  int64_t elements = 0, bad = 0, masked = 0;  // masked: those of `bad` that are minus infinity
  float first = 0;
};

class Search {
 public:
  Search(const Program& program, const Round& round, const backend::Arena& arena, backend::HostPool* pool,
         const RoundJob& job)
      : program_(program), round_(round), arena_(arena), pool_(pool), job_(job) {}

  Diagnosis run() {
    for (const ProgramParameter& parameter : program_.parameters) {
      if (parameter.role == ParameterRole::statistic) continue;
      if (parameter.desc.type != DataType::f32 && parameter.low_offset < 0) continue;
      if (parameter.role == ParameterRole::frozen) continue;  // as in the file: a mask may hold minus infinity
      const Found found =
          parameter.in_host_pool ? look_in_pool(parameter)
                                 : look(parameter.offset, parameter.desc.bytes(), parameter.desc.type);
      if (found.bad > 0)
        return {"'" + std::string(parameter.name) + "' " + described(found) + " since an iteration before", true};
    }
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const ProgramInput& input = program_.inputs[i];
      if (input.desc.type != DataType::f32) continue;
      const int64_t bytes = sample_bytes(input) * (input.per_sample ? job_.samples : 1);
      const Found found = look(job_.staged[i], bytes);
      if (found.bad > 0)
        return {"input '" + std::string(input.name) + "' " + described(found) + std::string(kInTheData)};
    }
    const std::vector<Command>& commands = round_.commands();
    for (size_t i = 0; i < round_.forward_commands(); ++i) {
      const std::string selected = look_before(commands[i]);
      if (!selected.empty()) return {selected};
      play(commands[i]);
      if (job_.ranks) job_.ranks->pulse().beat();
      if (const std::string what = look_behind(commands[i]); !what.empty()) return {what};
    }
    return {};
  }

 private:
  Found look(const std::byte* values, int64_t bytes, DataType type = DataType::f32) const {
    const int64_t width = bytes_of(type);
    Found found{.elements = bytes / width};
    for (int64_t at = 0; at + width <= bytes; at += width) {
      float value;
      uint16_t half;
      if (is_narrow(type)) {
        std::memcpy(&half, values + at, sizeof half);
        value = type == DataType::bf16 ? widened(half) : widened_f16(half);
      } else {
        std::memcpy(&value, values + at, sizeof value);
      }
      if (std::isfinite(value)) continue;
      found.masked += std::isinf(value) && value < 0 ? 1 : 0;
      if (found.bad++ == 0) found.first = value;
    }
    return found;
  }

  Found look(int64_t offset, int64_t bytes, DataType type = DataType::f32) {
    fetch(offset, bytes);
    return look(copy_.data(), bytes, type);
  }

  void fetch(int64_t offset, int64_t bytes) {
    copy_.resize(static_cast<size_t>(bytes));
    backend::copy_out(nullptr, copy_.data(), arena_.data() + offset, bytes);
  }

  Found look_in_pool(const ProgramParameter& parameter) {
    if (pool_->data()) return look(pool_->data() + parameter.offset, parameter.desc.bytes(), parameter.desc.type);
    copy_.resize(static_cast<size_t>(parameter.desc.bytes()));
    pool_->fetch(parameter.offset, copy_.data(), parameter.desc.bytes());
    return look(copy_.data(), parameter.desc.bytes(), parameter.desc.type);
  }

  static std::string described(const Found& found) {
    return std::string("holds ") + (std::isnan(found.first) ? "NaN" : "Inf") + " (" + std::to_string(found.bad) +
           " of " + counted(found.elements, "element") + ")";
  }

  void play(const Command& command) {
    std::byte* const at = command.offset == none ? nullptr : arena_.data() + command.offset;
    switch (command.kind) {
      case Command::Kind::run:
      case Command::Kind::again: {
        operands_.clear();
        for (const int64_t offset : round_.operands(command))
          operands_.push_back(offset == none ? nullptr : arena_.data() + offset);
        RunContext context = job_.context;
        context.recompute = true;
        (*job_.kernels)[command.index].run(context, operands_.data(), at);
        break;
      }
      case Command::Kind::load:
        backend::copy_in(nullptr, at, job_.staged[command.index], command.load_bytes(job_.samples));
        break;
      case Command::Kind::offload:
        backend::finish(nullptr);
        pool_->store(command.host_offset, at, command.bytes);
        break;
      case Command::Kind::prefetch: pool_->fetch(command.host_offset, at, command.bytes); break;
      case Command::Kind::update:
      case Command::Kind::reduce:  // a rank checks its own part
      case Command::Kind::total:
      case Command::Kind::read_loss:
      case Command::Kind::read_correct:
      case Command::Kind::read_factor: break;
    }
    backend::finish(nullptr);
  }

  // Checks the indices or labels that the step is about to read. Those that are fed were checked before training.
  std::string look_before(const Command& command) {
    if (command.kind != Command::Kind::run && command.kind != Command::Kind::again) return "";
    const KernelSet::Touched& touched = job_.kernels->touched_by(command.index);
    if (!touched.selection) return "";
    const Selection& selection = *touched.selection;
    const auto& operand = touched.operands[selection.slot];
    if (operand.type != DataType::i32 && operand.type != DataType::i64) return "";
    fetch(round_.operands(command)[selection.slot], operand.bytes);
    for (int64_t at = 0; at < operand.bytes; at += bytes_of(operand.type)) {
      const int64_t number = integer_at(copy_.data() + at, operand.type);
      if (selection.allows(number)) continue;
      return std::string(kComputedByModel) + (selection.of_classes ? "label " : "index ") + std::to_string(number) +
             " for " + written_by(command, touched) +
             (selection.of_classes ? ", but the number of classes is " : ", but the axis has size ") +
             std::to_string(selection.last + 1);
    }
    return "";
  }

  static int64_t integer_at(const std::byte* values, DataType type) {
    int64_t wide = 0;
    int32_t narrow = 0;
    if (type == DataType::i64) return std::memcpy(&wide, values, sizeof wide), wide;
    return std::memcpy(&narrow, values, sizeof narrow), narrow;
  }

  std::string written_by(const Command& command, const KernelSet::Touched& touched) const {
    const std::span<const int64_t> offsets = round_.operands(command);
    for (size_t i = 0; i < offsets.size(); ++i)
      if (touched.operands[i].access == Access::write) return name_at(offsets[i], command.step);
    return "step " + std::to_string(command.step);
  }

  // Checks what the step has written. Minus infinity alone comes from masks; if it does damage, later tensors hold NaN.
  std::string look_behind(const Command& command) {
    if (command.kind != Command::Kind::run && command.kind != Command::Kind::again) return "";
    const KernelSet::Touched& touched = job_.kernels->touched_by(command.index);
    const std::span<const int64_t> offsets = round_.operands(command);
    for (size_t i = 0; i < offsets.size(); ++i) {
      const auto& operand = touched.operands[i];
      if (operand.access != Access::write || !is_real(operand.type)) continue;
      const Found found = look(offsets[i], operand.bytes, operand.type);
      if (found.bad > found.masked) return name_at(offsets[i], command.step) + " " + described(found);
    }
    return "";
  }

  std::string name_at(int64_t offset, int32_t step) const {
    const std::string where = "step " + std::to_string(step);
    const ProgramLife* lies = nullptr;
    for (const ProgramLife& life : program_.lives) {
      if (life.offset != offset || life.first_step > step || step > life.last_step) continue;
      if (!lies || life.first_step == step) lies = &life;  // in place: the operand ends where the result begins
    }
    if (!lies || !lies->name) return "what " + where + " writes";
    const bool layer = lies->layer && *lies->layer;
    return "'" + std::string(lies->name) + "'" + (layer ? " of layer '" + std::string(lies->layer) + "'" : "") + " (" +
           where + ")";
  }

  const Program& program_;
  const Round& round_;
  const backend::Arena& arena_;
  backend::HostPool* pool_;
  const RoundJob& job_;
  std::vector<std::byte> copy_;
  std::vector<std::byte*> operands_;
};

}  // namespace

Diagnosis first_bad_tensor(const Program& program, const Round& round, const backend::Arena& arena,
                           backend::HostPool* pool, const RoundJob& job) {
  return Search(program, round, arena, pool, job).run();
}

std::string what_went_wrong(const IterationResult& result, const std::string& bad) {
  const std::string loss = std::isfinite(result.loss) ? "in iteration "
                                                      : "the loss is " +
                                                            std::string(std::isnan(result.loss) ? "nan"
                                                                        : result.loss > 0       ? "inf"
                                                                                                : "-inf") +
                                                            " in iteration ";
  return loss + std::to_string(result.iteration) + (bad.empty() ? "" : ": " + bad);
}

void diverged(const IterationResult& result, const std::string& bad, const char* way_out) {
  char rate[80] = "";
  if (!bad.ends_with(kInTheData) && !bad.starts_with(kComputedByModel))
    std::snprintf(rate, sizeof rate, "; lower --lr, now %g, or look for what is wrong in the data",
                  result.learning_rate);
  throw TrainerError(Exit::invalid_model, what_went_wrong(result, bad) + rate + way_out);
}

}  // namespace plimsoll::train
