// The schedules of the policies of the literature. Each paper has one source, which begins with what the paper says and
// how open points were read. The table of policies (passes/policies.h) has their names and their other options.
#pragma once

#include "passes/policy.h"

namespace plimsoll {

schedule::Program vdnn_all(const ScheduleRequest& request);
schedule::Program vdnn_conv(const ScheduleRequest& request);
schedule::Program vdnn_dyn(const ScheduleRequest& request);  // with AlgorithmKind::fitting

schedule::Program superneurons_offload(const ScheduleRequest& request);  // copies only; nothing is recomputed
schedule::Program superneurons_speed(const ScheduleRequest& request);
schedule::Program superneurons_memory(const ScheduleRequest& request);
schedule::Program superneurons_cost(const ScheduleRequest& request);

schedule::Program sublinear(const ScheduleRequest& request);

schedule::Program modnn(const ScheduleRequest& request);
Result<int64_t> modnn_sub_batch(const CostsOf& costs, int64_t batch, int64_t budget);

schedule::Program dymem(const ScheduleRequest& request);

}  // namespace plimsoll
