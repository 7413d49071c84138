// The kernels of a program for one number of samples, built once, before the first step.
#pragma once

#include <initializer_list>
#include <vector>

#include "runtime/kernel.h"

namespace plimsoll {

// `add` throws a KernelError that names the layers, also where this machine's library needs more workspace than was
// planned: a kernel never runs beyond its bytes, whatever machine the program was brought to.
class KernelSet {
 public:
  // What a kernel touches: the bytes of each operand, and those of the workspace that every step of it has.
  struct Touched {
    struct Bytes {
      Access access;
      int64_t bytes;
      DataType type;
    };
    std::vector<Bytes> operands;
    int64_t workspace_bytes;
  };

  explicit KernelSet(size_t count) : kernels_(count), touched_(count) {}

  template <class K>
  void add(size_t index, const typename K::Attrs& attrs, std::initializer_list<OperandDesc> operands,
           std::string_view algorithm, int64_t workspace_bytes, const char* layers) {
    add<K>(index, attrs, std::span<const OperandDesc>(operands.begin(), operands.size()), algorithm, workspace_bytes,
           layers);
  }
  template <class K>
  void add(size_t index, const typename K::Attrs& attrs, std::span<const OperandDesc> operands,
           std::string_view algorithm, int64_t workspace_bytes, const char* layers) {
    try {
      kernels_[index] = K::make(attrs, operands, algorithm);
      // A library's list of algorithms may differ from one machine to the next, and what is not on it be built all the same.
      if (const int64_t needed = kernels_[index]->workspace_found(); needed >= 0)
        check_workspace({{.name = std::string(algorithm), .workspace_bytes = needed}}, algorithm, workspace_bytes);
      else
        check_workspace(K::algorithms(attrs, operands), algorithm, workspace_bytes);
      touched_[index] = touched(operands, workspace_bytes);
    } catch (const KernelError& error) {
      refuse(layers, error);
    }
  }
  Kernel& operator[](size_t index) const { return *kernels_[index]; }
  const Touched& touched_by(size_t index) const { return touched_[index]; }

 private:
  static void check_workspace(const std::vector<Algorithm>& offered, std::string_view algorithm, int64_t planned_bytes);
  static Touched touched(std::span<const OperandDesc> operands, int64_t workspace_bytes);
  [[noreturn]] static void refuse(const char* layers, const KernelError& error);
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<Touched> touched_;
};

}  // namespace plimsoll
