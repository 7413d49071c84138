// Ctrl-C and SIGTERM end a run after the current iteration.
#pragma once

namespace plimsoll::train {

// From now on, the first SIGINT or SIGTERM is noted; a second one ends the process at once.
void watch_signals();

// The number of the noted signal; 0: none.
int interrupted_by();

}  // namespace plimsoll::train
