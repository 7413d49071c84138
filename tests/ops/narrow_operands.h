// Tasks with some of their f32 operands in bf16 or f16.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "executor.h"
#include "runtime/attrs/file_type.h"
#include "runtime/precision.h"

namespace plimsoll::test {

inline Buffer in_narrow(DataType type, const Buffer& f32) {
  Buffer made(f32.size() / 2);
  const auto* from = reinterpret_cast<const float*>(f32.data());
  auto* to = reinterpret_cast<uint16_t*>(made.data());
  for (int64_t i = 0; i < f32.size() / 4; ++i)
    to[i] = type == DataType::bf16 ? narrowed(from[i]) : narrowed_f16(from[i]);
  return made;
}

inline bool is_f32(const OperandDesc& operand) {
  return operand.access != Access::absent && operand.tensor.type == DataType::f32;
}

// Every way to have some of the f32 operands in the type `narrow` that is(operands) accepts.
template <class Is>
std::vector<std::vector<OperandDesc>> ways_in(DataType narrow, const Task& task, const KernelCall& call, Is is) {
  std::vector<size_t> real;
  for (size_t i = 0; i < call.operands.size(); ++i)
    if (is_f32(call.operands[i])) real.push_back(i);
  std::vector<std::vector<OperandDesc>> ways;
  for (size_t chosen = 1; chosen < size_t{1} << real.size(); ++chosen) {
    std::vector<OperandDesc> operands = call.operands;
    for (size_t bit = 0; bit < real.size(); ++bit)
      if ((chosen >> bit & 1) != 0) operands[real[bit]].tensor.type = narrow;
    std::map<TensorId, DataType> types;  // a tensor in two slots has one type
    const bool agree = std::all_of(real.begin(), real.end(), [&](size_t i) {
      return types.emplace(task.operands[i].tensor, operands[i].tensor.type).first->second == operands[i].tensor.type;
    });
    if (agree && is(operands)) ways.push_back(std::move(operands));
  }
  return ways;
}

}  // namespace plimsoll::test
