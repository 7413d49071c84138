#include "tools/plimsoll/other_batch.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "compiler/support/output.h"

namespace plimsoll {
namespace {

constexpr const char* kFamily = "family";

// Only plans with several rounds add gradients up.
bool allows(const PlannedBatch& planned, int64_t batch) {
  return planned.rounds > 1 && planned.ranks > 0 && batch % planned.ranks == 0;
}

}  // namespace

Status write_family(const std::string& directory, const std::string& family, const PlannedBatch& planned) {
  return write_file(
      fmt::format("{}/{}", directory, kFamily),
      fmt::format("{}\n{} {} {} {}\n", family, planned.batch, planned.sub_batch, planned.rounds, planned.ranks));
}

std::optional<TrainerOfFamily> find_family(const std::string& kept, const std::string& prefix,
                                           const std::string& family, int64_t batch) {
  namespace fs = std::filesystem;
  std::optional<TrainerOfFamily> nearest;
  std::error_code failed;
  for (fs::directory_iterator at(kept, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string directory = at->path().string();
    std::error_code unknown;
    if (!at->path().filename().string().starts_with(prefix) || !fs::exists(directory + "/built", unknown) ||
        !fs::exists(directory + "/build/train", unknown))
      continue;
    const Result<std::string> text = read_file(fmt::format("{}/{}", directory, kFamily));
    if (!text.ok()) continue;
    std::istringstream words(*text);
    std::string of;
    PlannedBatch planned;
    if (!(words >> of >> planned.batch >> planned.sub_batch >> planned.rounds >> planned.ranks) || of != family ||
        !allows(planned, batch))
      continue;
    const auto distance = [&](const PlannedBatch& one) { return std::llabs(one.batch - batch); };
    const bool nearer = !nearest || distance(planned) < distance(nearest->planned) ||
                        (distance(planned) == distance(nearest->planned) && directory < nearest->directory);
    if (nearer) nearest = {directory, planned};
  }
  return nearest;
}

}  // namespace plimsoll
