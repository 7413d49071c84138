// What the files of a generated program include. tests/e2e/CMakeLists.txt precompiles it.
#include "runtime/kernel_set.h"
#include "runtime/kernels.h"
#include "runtime/program.h"
#include "runtime/round.h"
