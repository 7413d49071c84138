// The commit of Plimsoll that this program was built from.
#pragma once

namespace plimsoll {

// Twelve hexadecimal digits; "" if it was not built in a git repository.
const char* commit();

}  // namespace plimsoll
