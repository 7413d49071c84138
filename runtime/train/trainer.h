// The entry point of every generated trainer.
#pragma once

namespace plimsoll {
struct Program;
}

namespace plimsoll::train {

// Parses the command line and trains or predicts. Prints errors and returns the exit code.
int main(const Program& program, const char* trainer_directory, int argc, char** argv);

}  // namespace plimsoll::train
