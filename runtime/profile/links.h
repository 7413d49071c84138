// The bandwidth between the arena and a host pool, in both directions: to memory and to a spill file, alone and
// concurrently with kernels.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace plimsoll::profile {

// "links" of profile.json. Takes about two seconds. Throws std::runtime_error if the directory has too little space.
nlohmann::json measure_links(const std::string& spill_directory);

}  // namespace plimsoll::profile
