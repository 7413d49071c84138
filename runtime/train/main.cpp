// The trainer's main. PLIMSOLL_TRAINER_DIR is where model.onnx lies: the generated directory.
#include "runtime/train/trainer.h"

#ifndef PLIMSOLL_TRAINER_DIR
#define PLIMSOLL_TRAINER_DIR "."
#endif

namespace plimsoll {
const Program& program();  // runtime/program.h, which every trainer would have to read for this line alone
}

int main(int argc, char** argv) { return plimsoll::train::main(plimsoll::program(), PLIMSOLL_TRAINER_DIR, argc, argv); }
