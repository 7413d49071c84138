// How fast bytes go from the arena to a host pool and back: to memory and to a spill file, alone and beside kernels.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace plimsoll::profile {

// "links" of profile.json. Takes about two seconds. Throws std::runtime_error where the directory has no room.
nlohmann::json measure_links(const std::string& spill_directory);

}  // namespace plimsoll::profile
