// The trainer's main(). PLIMSOLL_TRAINER_DIR: the generated directory, which holds model.onnx.
#include "runtime/train/trainer.h"

#ifndef PLIMSOLL_TRAINER_DIR
#define PLIMSOLL_TRAINER_DIR "."
#endif

namespace plimsoll {
// As in runtime/program.h, which is not included because each trainer would compile it for this line.
const Program& program();
}

int main(int argc, char** argv) { return plimsoll::train::main(plimsoll::program(), PLIMSOLL_TRAINER_DIR, argc, argv); }
