#include "runtime/profile/kernel_registry.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "runtime/kernels.h"
#include "runtime/precision.h"

namespace plimsoll {
namespace {

// Sets one field of an attribute struct; false: the value has another type.
template <class Field>
bool assign(Field& field, const KernelAttribute& attribute) {
  if constexpr (std::is_same_v<Field, IntList>) {
    const auto* list = std::get_if<std::vector<int64_t>>(&attribute.value);
    if (!list || list->size() > kMaxRank) return false;
    field = IntList{};
    for (int64_t item : *list) field.push_back(item);
    return true;
  } else if constexpr (std::is_same_v<Field, bool>) {
    const bool* given = std::get_if<bool>(&attribute.value);
    if (given) field = *given;
    return given != nullptr;
  } else if constexpr (std::is_floating_point_v<Field>) {
    // A real without a fraction may be an integer in JSON.
    if (const double* real = std::get_if<double>(&attribute.value)) return field = static_cast<Field>(*real), true;
    if (const int64_t* whole = std::get_if<int64_t>(&attribute.value)) return field = static_cast<Field>(*whole), true;
    return false;
  } else {
    const int64_t* given = std::get_if<int64_t>(&attribute.value);
    if (given) field = static_cast<Field>(*given);
    return given != nullptr;
  }
}

template <class Attrs>
Attrs typed(const KernelCall& call) {
  Attrs attrs;
  for (const KernelAttribute& attribute : call.attributes) {
    bool known = false, fits = false;
    attrs.visit([&](std::string_view name, auto& field) {
      if (name != attribute.name) return;
      known = true;
      fits = assign(field, attribute);
    });
    if (!known) throw KernelError(call.name + " has no attribute '" + attribute.name + "'");
    if (!fits) throw KernelError("attribute '" + attribute.name + "' of " + call.name + " is of another type");
  }
  return attrs;
}

// The functions of a KernelMaker whose attributes are a KernelCall.
struct Entry {
  std::string_view name;
  std::vector<Algorithm> (*algorithms)(const void* call, std::span<const OperandDesc> operands);
  std::unique_ptr<Kernel> (*make)(const void* call, std::span<const OperandDesc> operands, std::string_view algorithm);
};

template <class K>
std::vector<Algorithm> algorithms(const void* call, std::span<const OperandDesc> operands) {
  return K::algorithms(typed<typename K::Attrs>(*static_cast<const KernelCall*>(call)), operands);
}

template <class K>
std::unique_ptr<Kernel> make(const void* call, std::span<const OperandDesc> operands, std::string_view algorithm) {
  return K::make(typed<typename K::Attrs>(*static_cast<const KernelCall*>(call)), operands, algorithm);
}

constexpr std::array kEntries = {
#define KERNEL(kernel, attributes, file) Entry{#kernel, algorithms<kernel>, make<kernel>},
#include "runtime/attrs/kernels.def"
#undef KERNEL
};

constexpr std::array kNames = {
#define KERNEL(kernel, attributes, file) std::string_view(#kernel),
#include "runtime/attrs/kernels.def"
#undef KERNEL
};

}  // namespace

KernelMaker maker_of(const KernelCall& call) {
  const auto found =
      std::find_if(kEntries.begin(), kEntries.end(), [&](const Entry& one) { return one.name == call.name; });
  if (found == kEntries.end()) throw KernelError("no kernel '" + call.name + "'");
  return {.name = found->name, .attrs = &call, .algorithms = found->algorithms, .make = found->make};
}

std::vector<Algorithm> algorithms_of(const KernelCall& call) {
  return algorithms_in_any_precision(maker_of(call), call.operands);
}

std::unique_ptr<Kernel> make_kernel(const KernelCall& call, std::string_view algorithm) {
  return make_in_any_precision(maker_of(call), call.operands, algorithm);
}

std::span<const std::string_view> kernel_names() { return kNames; }

}  // namespace plimsoll
