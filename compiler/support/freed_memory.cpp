#include "compiler/support/freed_memory.h"

#include <cstdlib>  // defines __GLIBC__
#ifdef __GLIBC__
#include <malloc.h>
#endif

// Of mimalloc, which the command is linked with where it is installed (tools/CMakeLists.txt).
extern "C" [[gnu::weak]] void mi_collect(bool force);

namespace plimsoll {

void return_freed_memory() {
  if (mi_collect) return mi_collect(true);
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace plimsoll
