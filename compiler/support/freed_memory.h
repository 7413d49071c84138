// Memory that has been freed and that the allocator keeps.
#pragma once

namespace plimsoll {

// Gives it back to the system. Worth it after a phase whose small objects the next phase does not need: the allocator
// would keep their pages for objects of the same size.
void return_freed_memory();

}  // namespace plimsoll
