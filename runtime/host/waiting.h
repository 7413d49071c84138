// How OpenMP's threads wait for each other at the end of a kernel.
#pragma once

namespace plimsoll::host {

// GCC's OpenMP spins for milliseconds before a thread sleeps, and LLVM's for 200. Where another process wants the processor, a spinning
// thread keeps it from the very thread that it waits for, and an iteration takes ten times as long. Not to spin at all costs small kernels
// half of their speed on an idle machine. A thousand spins are within 5 % of the best setting on an idle machine, and take at most twice its
// time beside other processes (docs/decisions/waiting.md, tools/bench/waiting.py).
inline constexpr const char* kSpins = "1000";       // GOMP_SPINCOUNT
inline constexpr const char* kMilliseconds = "1";  // KMP_BLOCKTIME, which counts no finer

// To be called first in main(). OpenMP reads the environment when it is loaded, before main(). So where the user has not said how to wait
// (OMP_WAIT_POLICY, GOMP_SPINCOUNT, KMP_BLOCKTIME), the process executes its program again with these variables set. Where that fails, it
// goes on as it is: slower beside other processes, with the same results.
void wait_briefly(char** arguments);

}  // namespace plimsoll::host
