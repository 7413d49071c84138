#include "runtime/train/average.h"

#include <algorithm>
#include <utility>

namespace plimsoll::train {

bool WeightAverage::covers(const ProgramParameter& parameter) {
  const bool moves = parameter.role == ParameterRole::trained || parameter.role == ParameterRole::statistic;
  return moves && parameter.in_files().type == DataType::f32;
}

int64_t WeightAverage::bytes(const Program& program) {
  int64_t sum = 0;
  for (const ProgramParameter& parameter : program.parameters)
    if (covers(parameter)) sum += parameter.in_files().bytes();
  return sum;
}

WeightAverage::WeightAverage(const Program& program, ParameterPort& port, double decay)
    : program_(program), port_(port), decay_(decay) {
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const ProgramParameter& parameter = program.parameters[i];
    if (covers(parameter))
      entries_.push_back(
          {.parameter = i, .values = std::vector<float>(static_cast<size_t>(parameter.desc.elements()))});
  }
}

void WeightAverage::start() {
  for (Entry& entry : entries_) {
    auto* const average = reinterpret_cast<std::byte*>(entry.values.data());
    port_.read(program_.parameters[entry.parameter], [&](int64_t at, std::span<const std::byte> weights) {
      std::copy(weights.begin(), weights.end(), average + at);
    });
  }
}

void WeightAverage::add() {
  const auto rest = static_cast<float>(1 - decay_);
  for (Entry& entry : entries_) {
    port_.read(program_.parameters[entry.parameter], [&](int64_t at, std::span<const std::byte> bytes) {
      const auto* const weights = reinterpret_cast<const float*>(bytes.data());
      float* const average = entry.values.data() + at / bytes_of(DataType::f32);
      for (size_t i = 0; i < bytes.size() / sizeof(float); ++i) average[i] += rest * (weights[i] - average[i]);
    });
  }
}

void WeightAverage::exchange() {
  for (Entry& entry : entries_) {
    auto* const average = reinterpret_cast<std::byte*>(entry.values.data());
    port_.update(program_.parameters[entry.parameter], [&](int64_t at, std::span<std::byte> weights) {
      std::swap_ranges(weights.begin(), weights.end(), average + at);
    });
  }
}

void WeightAverage::during(const std::function<void()>& work) {
  exchange();
  try {
    work();
  } catch (...) {
    exchange();
    throw;
  }
  exchange();
}

std::span<std::byte> WeightAverage::values(const ProgramParameter& parameter) {
  const auto index = static_cast<size_t>(&parameter - program_.parameters.data());
  const auto entry =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& one) { return one.parameter == index; });
  return std::as_writable_bytes(std::span(entry->values));
}

}  // namespace plimsoll::train
