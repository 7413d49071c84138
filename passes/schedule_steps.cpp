#include "passes/schedule_steps.h"

namespace plimsoll {

Status schedule_steps(Plan& plan, const Context& context) {
  return context.policy.schedule ? context.policy.schedule(plan, context) : Status();
}

}  // namespace plimsoll
