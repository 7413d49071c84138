// One pass over the evaluation data.
#pragma once

#include <functional>

#include "runtime/program.h"
#include "runtime/train/dataset.h"
#include "runtime/train/feeder.h"
#include "runtime/train/machine.h"
#include "runtime/train/reporter.h"

namespace plimsoll::train {

// Where the labels are classes, all samples count: the last batch is filled with copies that the loss ignores.
// Elsewhere the samples of whole batches count. `stops` is called before each batch; once it says yes, the result has
// no samples.
Evaluation evaluate_all(const Program& program, Machine& machine, Feeder& feeder, const Dataset& dataset,
                        const std::function<bool()>& stops);

}  // namespace plimsoll::train
