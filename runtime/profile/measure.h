// How long a kernel takes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/backend.h"
#include "runtime/kernel.h"
#include "runtime/profile/timing.h"

namespace plimsoll::profile {

// Bytes of an arena in which a kernel with these operands can be measured.
int64_t bytes_to_measure(std::span<const OperandDesc> operands, int64_t workspace_bytes);

// A task's operands in an arena, filled once for all algorithms that are measured of it: gigabytes come over a link.
//
//   0 │ operand 0 │ operand 1 │ … │ workspace, of any algorithm
struct Workpiece {
  std::vector<std::byte*> addresses;  // null: absent
  std::byte* workspace = nullptr;

  Workpiece(std::span<const OperandDesc> operands, const backend::Arena& arena);
};

// In a training iteration some of a task's operands were touched just now by the task before, some many tasks ago; run again
// and again, a task would find all of them in the caches. So another one runs in between, on all of the device and on more
// bytes of its own than the caches hold; what is not that long ago is touched behind it. Nobody waits for it: on a device the task is
// issued while it still runs, as it is in a round, and what issuing takes is not in the task's time.
class Interlude {
 public:
  Interlude();
  void run();
  void touch_some(int64_t bytes);  // what lay in the cores' own caches gives way
  // By some runs of it alone: whether other processes want the processors now.
  bool is_disturbed();

 private:
  backend::Arena arena_;
  std::unique_ptr<Kernel> kernel_;
};

// Of several runs after one to warm up, which counts where it takes long, with the interlude between them where there is one. `reuse_bytes`: per operand, what
// an iteration touches between its last use and this one; empty: much. The workpiece's arena has at least bytes_to_measure().
Timing time_of(Kernel& kernel, std::span<const OperandDesc> operands, std::span<const int64_t> reuse_bytes,
               const Workpiece& workpiece, Interlude* between);

// The same, taken again while other processes disturb it, as far as `retakes` goes: the shortest then, for a disturbance only adds to a time.
Timing undisturbed_time_of(Kernel& kernel, std::span<const OperandDesc> operands, std::span<const int64_t> reuse_bytes, const Workpiece& workpiece,
                           Interlude* between, Retakes& retakes);

}  // namespace plimsoll::profile
