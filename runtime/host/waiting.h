// How OpenMP's threads wait for each other at the end of a kernel.
#pragma once

namespace plimsoll::host {

// GCC's OpenMP spins for milliseconds before a thread sleeps. Where another process wants the processor, that keeps it from the very thread that
// is waited for, and an iteration takes ten times as long; no spin at all costs half of the speed of small kernels on an idle machine.
// So many spins are within a third of the best everywhere (docs/decisions/waiting.md, tools/bench/waiting.py).
inline constexpr const char* kSpins = "1000";

// To be called first in main(). The library reads its environment when it is loaded, before main(): where the user has not said how to wait
// (OMP_WAIT_POLICY, GOMP_SPINCOUNT, KMP_BLOCKTIME), this program starts once more, as the same process, with GOMP_SPINCOUNT set. Where that is
// impossible it goes on as it is: slower beside other processes, with the same results.
void wait_briefly(char** arguments);

}  // namespace plimsoll::host
