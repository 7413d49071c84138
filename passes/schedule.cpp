#include "passes/schedule.h"

namespace plimsoll {

Status schedule(Plan& plan, const Context& context) {
  return context.policy.schedule ? context.policy.schedule(plan, context) : Status();
}

}  // namespace plimsoll
