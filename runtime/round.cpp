#include "runtime/backend.h"
#include "runtime/program.h"

namespace plimsoll {

void KernelSet::check_workspace(const std::vector<Algorithm>& offered, std::string_view algorithm,
                                int64_t planned_bytes) {
  for (const Algorithm& one : offered) {
    if (!algorithm.empty() && one.name != algorithm) continue;
    if (one.workspace_bytes <= planned_bytes) return;
    throw KernelError("algorithm '" + one.name + "' needs " + std::to_string(one.workspace_bytes) +
                      " bytes of workspace on this machine when " + std::to_string(planned_bytes) +
                      " are planned; compile the model here");
  }
  throw KernelError("this machine has no algorithm '" + std::string(algorithm) + "'; compile the model here");
}

void KernelSet::refuse(const char* layers, const KernelError& error) {
  throw KernelError(std::string(layers) + ": " + error.what());
}

void Round::run(size_t kernel, std::initializer_list<int64_t> operands, int64_t workspace) {
  size_t slot = 0;
  for (const int64_t offset : operands) addresses_[slot++] = at(offset);
  kernels_[kernel].run(context, addresses_.data(), at(workspace));
}

void Round::again(size_t kernel, std::initializer_list<int64_t> operands, int64_t workspace) {
  context.recompute = true;
  run(kernel, operands, workspace);
  context.recompute = false;
}

void Round::load(size_t input, int64_t offset, int64_t sample_bytes) {
  backend::copy_in(context.stream, at(offset), staged_[input], sample_bytes * samples_);
}

void Round::read_loss(int64_t offset) {
  float share = 0;
  backend::copy_out(context.stream, reinterpret_cast<std::byte*>(&share), at(offset), sizeof share);
  loss_ += share;
}

void Round::read_correct(int64_t offset) {
  float samples = 0;
  backend::copy_out(context.stream, reinterpret_cast<std::byte*>(&samples), at(offset), sizeof samples);
  correct_ += samples;
}

}  // namespace plimsoll
