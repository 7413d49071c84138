#include "compiler/report/json_text.h"

#include "compiler/support/json.h"

namespace plimsoll {

std::string json_text(std::string_view text) { return dump(Json(text)); }

}  // namespace plimsoll
