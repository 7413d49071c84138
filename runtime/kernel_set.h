// The kernels of a program for one number of samples, built once, before the first step.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "runtime/kernel.h"
#include "runtime/selection.h"

namespace plimsoll {

// A kernel never exceeds its planned bytes, on whatever machine the program runs. If this machine's library does not
// have an algorithm, or not within the planned workspace, the first suitable one replaces it: a deterministic one, in
// the planned arithmetic. A plan in TF32 was asked for with --precision tf32: TF32 replaces it, or else f32. A plan in
// f32 is never replaced by TF32. If there is none, `add` throws a KernelError that names the layers. If held to the
// plan, nothing is replaced: deviations are listed in refused(), and the set must not be used.
class KernelSet {
 public:
  enum class Where { may_differ, held_to_plan };

  // A planned kernel that is not available, and why.
  struct Refused {
    std::string layers, why;
  };

  // The kernels that are as planned: their number, and for the one with the largest planned workspace, the bytes needed
  // here.
  struct AsPlanned {
    int64_t kernels = 0, planned_bytes = 0, needed_bytes = 0;
  };

  // A kernel that differs from the planned one, and why the planned one cannot be used.
  struct Replaced {
    std::string layers, planned, taken, why;
  };

  // The bytes that a kernel accesses: of each operand, and of the workspace, which every step of the kernel has.
  struct Touched {
    struct Bytes {
      Access access;
      int64_t bytes;
      DataType type;
    };
    std::vector<Bytes> operands;
    int64_t workspace_bytes;
    std::optional<Selection> selection = {};
  };

  explicit KernelSet(size_t count, Where where = Where::may_differ) : where_(where), kernels_(count), touched_(count) {}

  template <class K>
  void add(size_t index, const typename K::Attrs& attrs, std::initializer_list<OperandDesc> operands,
           std::string_view algorithm, int64_t workspace_bytes, const char* layers) {
    add(index, maker_of<K>(attrs), {operands.begin(), operands.size()}, algorithm, workspace_bytes, layers);
  }
  void add(size_t index, const KernelMaker& maker, std::span<const OperandDesc> operands, std::string_view algorithm,
           int64_t workspace_bytes, const char* layers);
  Kernel& operator[](size_t index) const { return *kernels_[index]; }
  const Touched& touched_by(size_t index) const { return touched_[index]; }
  const std::vector<Replaced>& replaced() const { return replaced_; }
  const std::vector<Refused>& refused() const { return refused_; }
  const AsPlanned& as_planned() const { return as_planned_; }

 private:
  void make(size_t index, const KernelMaker& maker, std::span<const OperandDesc> operands, std::string_view algorithm,
            int64_t workspace_bytes);
  bool make_another(size_t index, const KernelMaker& maker, std::span<const OperandDesc> operands,
                    std::string_view planned, int64_t workspace_bytes, const char* layers, const char* why);

  void count(int64_t needed_bytes, int64_t planned_bytes);

  const Where where_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<Touched> touched_;
  std::vector<Replaced> replaced_;
  std::vector<Refused> refused_;
  AsPlanned as_planned_;
};

}  // namespace plimsoll
