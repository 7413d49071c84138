// The training loop of every generated trainer.
#pragma once

namespace plimsoll {
struct Program;
}

namespace plimsoll::train {

// Parses the command line, trains, saves. Returns the exit code; errors are printed.
int main(const Program& program, const char* trainer_directory, int argc, char** argv);

}  // namespace plimsoll::train
