#include "runtime/train/signals.h"

#include <csignal>

namespace plimsoll::train {
namespace {

// Global, because a signal handler has no other place to write to.
volatile std::sig_atomic_t noted_signal = 0;

void note_signal(int signal) {
  noted_signal = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void watch_signals() {
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
}

int interrupted_by() { return noted_signal; }

}  // namespace plimsoll::train
