#include "compiler/network/simplify/given_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace plimsoll {
namespace {

// Its bytes as an element of this type. nullopt: another type, or it does not fit.
std::optional<std::string> stored(int64_t number, ElementType type) {
  const auto fits = [&](auto small) -> std::optional<std::string> {
    small = static_cast<decltype(small)>(number);
    if (static_cast<int64_t>(small) != number) return std::nullopt;
    std::string bytes(sizeof small, '\0');
    std::memcpy(bytes.data(), &small, sizeof small);
    return bytes;
  };
  switch (type) {
    case ElementType::boolean: return number == 0 || number == 1 ? fits(uint8_t{}) : std::nullopt;
    case ElementType::u8: return fits(uint8_t{});
    case ElementType::i32: return fits(int32_t{});
    case ElementType::i64: return fits(int64_t{});
    default: return std::nullopt;
  }
}

bool is_one_number(const DeclaredValue& input) {
  return input.is_tensor && input.dims &&
         std::all_of(input.dims->begin(), input.dims->end(), [](const DeclaredDim& dim) { return dim.size == 1; });
}

}  // namespace

Status give_inputs(Model& model, const SimplifyOptions& options, std::vector<std::string>& notes) {
  for (const auto& given : options.inputs) {
    const std::string& name = given.first;
    const int64_t number = given.second;
    const auto refused = [&](const std::string& why) {
      return Error{ExitCode::usage, fmt::format("--input {}={}: {}", name, number, why)};
    };
    const auto has_name = [&](const auto& named) { return named.name == name; };
    const auto input = std::find_if(model.inputs.begin(), model.inputs.end(), has_name);
    const bool has_default = std::any_of(model.initializers.begin(), model.initializers.end(), has_name);
    if (input == model.inputs.end() || has_default) {
      std::string names;
      for (const DeclaredValue& other : model.inputs)
        names += fmt::format("{}'{}'", names.empty() ? "" : ", ", other.name);
      return refused(fmt::format("the model {}; inputs: {}",
                                 has_default ? "has a number for this name" : "has no input of this name", names));
    }
    std::optional<std::string> bytes;
    if (is_one_number(*input)) bytes = stored(number, input->type);
    if (!bytes)
      return refused(fmt::format("input '{}' cannot be this number: it must be a single i32, i64, u8 or bool", name));
    ModelTensor tensor{.name = name, .type = input->type, .data = std::make_shared<const std::string>(*bytes)};
    tensor.dims.assign(input->dims->size(), 1);
    model.initializers.push_back(std::move(tensor));
    notes.push_back(fmt::format("input '{}' is always {}; the trainer does not read it", name, number));
  }
  return {};
}

}  // namespace plimsoll
