// Measures the time of a kernel.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/backend.h"
#include "runtime/profile/kernel_registry.h"
#include "runtime/profile/timing.h"

namespace plimsoll::profile {

// The arena size needed to measure a kernel with these operands.
int64_t bytes_to_measure(std::span<const OperandDesc> operands, int64_t workspace_bytes);

// Fills a workspace with NaN, so that a result shows it if a kernel reads workspace that it has not written. An arena
// begins with zeros, which would hide that.
void poison_workspace(void* stream, std::byte* workspace, int64_t bytes);

// A task's operands in an arena, filled once for all algorithms measured for the task, because filling may transfer
// gigabytes over a link.
//
//   0 │ operand 0 │ operand 1 │ … │ workspace, of any algorithm
struct Workpiece {
  std::vector<std::byte*> addresses;  // null: absent
  std::byte* workspace = nullptr;

  // Integer operands are spread over [0, rows).
  Workpiece(std::span<const OperandDesc> operands, const backend::Arena& arena, int64_t rows = 1);
};

// The rows of the table from which a kernel gathers, or to which it adds; 1: its integers are no such indices. Equal
// indices would be the worst case of a gradient: every sample adds to one row, and one block has all of the work.
int64_t indexed_rows(const KernelCall& call);

// In a training iteration some operands of a task were used by the task immediately before, others many tasks ago. If a
// task ran repeatedly, it would find all of them in the caches. Therefore another kernel runs in between, on the whole
// device and on more bytes than the caches hold; operands used recently are then touched again. The interlude is not
// waited for: on a device the task is issued while it still runs, as in a round, so the task's time does not include
// issuing it.
class Interlude {
 public:
  Interlude();
  void run();
  void touch_some(int64_t bytes);  // evicts the contents of the cores' private caches
  // Whether other processes are currently using the processors, according to some runs of this kernel alone.
  bool is_disturbed();

 private:
  backend::Arena arena_;
  std::unique_ptr<Kernel> kernel_;
};

// The time of several runs after a warm-up run, which counts if it takes long; `between`, if not null, runs between
// them. `reuse_bytes`: for each operand, the bytes that an iteration touches between its previous use and this one;
// empty: many. The workpiece's arena has at least bytes_to_measure().
Timing time_of(Kernel& kernel, std::span<const OperandDesc> operands, std::span<const int64_t> reuse_bytes,
               const Workpiece& workpiece, Interlude* between);

// The same, but repeated while other processes disturb it, as far as `retakes` permits. Returns the shortest
// measurement, because a disturbance only adds time.
Timing undisturbed_time_of(Kernel& kernel, std::span<const OperandDesc> operands, std::span<const int64_t> reuse_bytes,
                           const Workpiece& workpiece, Interlude* between, Retakes& retakes);

}  // namespace plimsoll::profile
