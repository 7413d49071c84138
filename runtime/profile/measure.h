// How long a kernel takes.
#pragma once

#include <memory>
#include <span>

#include "runtime/backend.h"
#include "runtime/kernel.h"

namespace plimsoll::profile {

// Bytes of an arena in which a kernel with these operands can be measured.
int64_t bytes_to_measure(std::span<const OperandDesc> operands, int64_t workspace_bytes);

// In a training iteration a task's operands were touched many tasks ago, or just now by the task before; run again and
// again, a task would find all of them in the caches. So another one runs in between, on all of the device and its own bytes.
class Interlude {
 public:
  Interlude();
  void run();

 private:
  backend::Arena arena_;
  std::unique_ptr<Kernel> kernel_;
};

struct Timing {
  double median = 0;  // seconds
  double spread = 0;  // half of what lies between the quartiles
};

// Of several runs after one to warm up, with the interlude between them where there is one. The arena has at least
// bytes_to_measure().
Timing time_of(Kernel& kernel, std::span<const OperandDesc> operands, int64_t workspace_bytes, const backend::Arena& arena,
               Interlude* between);

}  // namespace plimsoll::profile
