// Identifiers of the generated source, derived from the model's names: /layer1/layer1.0/conv1/Conv_output_0 becomes
// layer1_0_conv1_Conv. They consist of ASCII letters, digits and single underscores, whatever the model's names
// contain.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace plimsoll {

// The name without the parts that repeat the path before them, at most 48 characters; "" if it has no letter or digit.
// Two names may give the same identifier.
std::string identifier_of(std::string_view model_name);

class Identifiers {
 public:
  Identifiers();  // reserves keywords, macros and the runtime's names used in generated files

  void reserve(const std::string& name) { taken_.insert(name); }
  // Returns `wanted` if free, else `wanted` with `number` appended. Unique among all identifiers of this object.
  std::string claim(const std::string& wanted, int32_t number);

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace plimsoll
