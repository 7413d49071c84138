// How OpenMP threads wait for each other at the end of a kernel.
#pragma once

namespace plimsoll::host {

// GCC's OpenMP spins for milliseconds before a thread sleeps, LLVM's for 200. If another process competes for the
// processor, a spinning thread keeps it from the thread that it waits for, and an iteration takes ten times as long.
// Without any spinning, small kernels run at half speed on an idle machine. A thousand spins are within 5 % of the best
// setting on an idle machine, and at most double the time on a busy one (docs/decisions/waiting.md,
// tools/bench/waiting.py).
inline constexpr const char* kSpins = "1000";       // GOMP_SPINCOUNT
inline constexpr const char* kMilliseconds = "1";  // KMP_BLOCKTIME, in its smallest unit

// Call this first in main(). OpenMP reads the environment when it is loaded, before main(). So if the user has not
// chosen how to wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT, KMP_BLOCKTIME), the process re-executes its program with these
// variables set. If that fails, it continues unchanged: slower on a busy machine, with the same results.
void wait_briefly(char** arguments);

}  // namespace plimsoll::host
