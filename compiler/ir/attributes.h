// Kernel attributes as data. A task carries them instead of a typed struct, so that passes, codegen and text forms
// handle every operator alike. They are made from a struct of runtime/attrs/ by its visit(). Fields with their default
// value are omitted.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "runtime/attrs/tensor.h"

namespace plimsoll {

using AttributeValue = std::variant<bool, int64_t, double, std::vector<int64_t>>;

struct Attribute {
  std::string name;
  AttributeValue value;
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

using Attributes = std::vector<Attribute>;

template <class Attrs>
Attributes to_attributes(Attrs attrs) {
  Attrs defaults{};
  std::vector<const void*> usual;
  usual.reserve(16);
  defaults.visit([&](const char*, auto& field) { usual.push_back(&field); });
  Attributes kept;
  auto next = usual.begin();  // visit() has the same fields in the same order each time
  attrs.visit([&](const char* name, auto& field) {
    using Field = std::remove_cvref_t<decltype(field)>;
    const Field& default_value = *static_cast<const Field*>(*next++);
    if constexpr (std::is_same_v<Field, IntList>) {
      if (!std::ranges::equal(field, default_value))
        kept.push_back({name, std::vector<int64_t>(field.begin(), field.end())});
    } else if (field == default_value) {
      return;
    } else if constexpr (std::is_same_v<Field, bool>) {
      kept.push_back({name, field});
    } else if constexpr (std::is_integral_v<Field> || std::is_enum_v<Field>) {
      kept.push_back({name, static_cast<int64_t>(field)});
    } else {
      static_assert(std::is_floating_point_v<Field>, "an attribute is a bool, an integer, a real or an IntList");
      kept.push_back({name, static_cast<double>(field)});
    }
  });
  return kept;
}

// "pads=[1,1,1,1] group=32", as in task graph text.
std::string to_string(const Attributes& attributes);

// "{.pads = {1, 1, 1, 1}, .group = 32}", for generated code, which has kInfinity of runtime/attrs/tensor.h.
std::string to_initializer(const Attributes& attributes);

}  // namespace plimsoll
