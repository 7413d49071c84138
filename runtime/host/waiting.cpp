#include "runtime/host/waiting.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

namespace plimsoll::host {

void wait_briefly(char** arguments) {
  for (const char* said : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"})
    if (std::getenv(said)) return;
  // If started as `ld.so program`, /proc/self/exe is ld.so.
  if (getauxval(AT_BASE) == 0) return;
  if (setenv("GOMP_SPINCOUNT", kSpins, 1) == 0 && setenv("KMP_BLOCKTIME", kMilliseconds, 1) == 0)
    execv("/proc/self/exe", arguments);
}

}  // namespace plimsoll::host
