#include "runtime/dist/place.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "runtime/dist/ranks.h"

namespace plimsoll::dist {
namespace {

struct Launcher {
  const char *name, *rank, *size, *local;
};

constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

const Launcher* launcher() {
  for (const Launcher& each : kLaunchers)
    if (std::getenv(each.rank) && std::getenv(each.size)) return &each;
  return nullptr;
}

int64_t number(const char* name, int64_t otherwise) {
  const char* const text = std::getenv(name);
  if (!text) return otherwise;
  int64_t value = 0;
  const auto [stopped, error] = std::from_chars(text, text + std::strlen(text), value);
  if (error != std::errc() || *stopped != '\0' || value < 0)
    throw RanksError(std::string(name) + " is '" + text + "' in the environment; it should be a number");
  return value;
}

}  // namespace

Place place_in_environment() {
  Place place;
  if (const Launcher* const by = launcher()) {
    place.rank = number(by->rank, 0);
    place.size = number(by->size, 1);
    place.local = number(by->local, place.rank);
  }
  if (const char* const host = std::getenv("MASTER_ADDR")) place.host = host;
  place.port = static_cast<int>(number("MASTER_PORT", place.port));
  // torchrun itself listens on that port.
  if (const char* const taken = std::getenv("TORCHELASTIC_USE_AGENT_STORE"); taken && std::strcmp(taken, "True") == 0)
    ++place.port;
  if (place.rank >= place.size)
    throw RanksError("rank " + std::to_string(place.rank) + " of " + std::to_string(place.size) +
                     " is what the environment says");
  return place;
}

void expect_ranks(int64_t expected, int64_t started, int64_t rank) {
  if (started == expected) return;
  if (rank > 0) throw RanksError("");
  throw RanksError(
      "this trainer has " + std::to_string(expected) + " ranks, but was started as " + std::to_string(started) +
      (started == 1 ? ": start it with `mpirun -np " + std::to_string(expected) + " …`"
                    : "; `plimsoll compile --ranks " + std::to_string(started) + "` compiles one for that number"));
}

std::string launcher_in_environment() {
  const Launcher* const by = launcher();
  return by ? by->name : "";
}

}  // namespace plimsoll::dist
