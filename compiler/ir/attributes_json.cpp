#include "compiler/ir/attributes_json.h"

#include <cmath>

namespace plimsoll {

Json json_of(const Attributes& attributes) {
  Json object = Json::object();
  for (const Attribute& attribute : attributes) {
    Json& to = object[attribute.name];
    std::visit([&](const auto& value) { to = value; }, attribute.value);
    const double* real = std::get_if<double>(&attribute.value);
    if (real && std::isinf(*real)) to = *real < 0 ? "-inf" : "inf";
  }
  return object;
}

}  // namespace plimsoll
