// Which commit of Plimsoll this program was built from.
#pragma once

namespace plimsoll {

// Twelve hexadecimal digits; empty where it was not built in a git repository.
const char* commit();

}  // namespace plimsoll
