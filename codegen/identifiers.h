// Identifiers of the generated source, made from the model's names: /layer1/layer1.0/conv1/Conv_output_0 is
// layer1_0_conv1_Conv. They consist of ASCII letters, digits and single underscores, whatever the model calls a tensor.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace plimsoll {

// The name without what repeats the path before it, at most 48 characters; "" if no letter or digit is in it. Two names
// may give the same identifier.
std::string identifier_of(std::string_view model_name);

class Identifiers {
 public:
  Identifiers();  // reserves keywords, macros and the runtime's names that the generated files use

  void reserve(const std::string& name) { taken_.insert(name); }
  // `wanted` if nothing else has it, else with `number` appended. Unique among all that this object gave.
  std::string claim(const std::string& wanted, int32_t number);

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace plimsoll
