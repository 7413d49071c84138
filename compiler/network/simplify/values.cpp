#include "compiler/network/simplify/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "compiler/network/simplify/causal_mask.h"
#include "compiler/network/simplify/weight_look.h"

namespace plimsoll {
namespace {

// A scalar that torch's dynamo exporter lifted out of the code, or an integer in onnxscript's definition of an operator
// that its optimizer converted: int64_1_cast. The parameters of its files keep the names that the modules gave them.
bool is_lifted_by_dynamo(const ModelTensor& tensor) {
  const std::string& name = tensor.name;
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return elements_of(tensor) == 1 && (begins("val_") || begins("scalar_tensor") || begins("lifted_tensor") ||
                                      begins("_lifted") || (begins("int64_") && name.find("_cast") != name.npos));
}

constexpr std::string_view kJax = "jax2tf";  // how jax2tf begins the names of all that it writes

// A number of TensorFlow's operator Const: "scope/Const:0", "scope/Const_3:0". Frozen variables keep their own names
// ("scope/bias/ReadVariableOp:0"). jax2tf, however, gives this name to parameters, too.
bool is_const_of_tensorflow(std::string_view name) {
  if (name.starts_with(kJax)) return false;
  std::string_view last = name.substr(name.rfind('/') + 1);
  if (last.ends_with(":0")) last.remove_suffix(2);
  else if (last.size() == name.size()) return false;  // neither a scope nor an output
  if (!last.starts_with("Const")) return false;
  last.remove_prefix(5);
  return last.empty() || (last.size() > 1 && last[0] == '_' &&
                          last.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

// A scalar with the name of a constant. TorchScript's exporter also gives such names to parameters that it has
// transposed. Paddle's exporter writes the numbers of its own code as "helper.constant.3", and the factor of a
// paddle.scale, as in attention, as "auto.cast.7". jax2onnx writes those of its dot product attention as "dpa_scale_0"
// and "dpa_one_0".
bool is_named_as_constant(const ModelTensor& tensor) {
  const std::string& name = tensor.name;
  return elements_of(tensor) == 1 &&
         (name.starts_with("onnx::") || name.starts_with("Constant") || name.find("/Constant") != std::string::npos ||
          name.starts_with("helper.constant.") || name.starts_with("p2o.helper.constant.") ||
          name.starts_with("auto.cast.") || name.starts_with("dpa_scale_") || name.starts_with("dpa_one_") ||
          name.starts_with("dpa_zero_") ||
          is_const_of_tensorflow(name));
}

// What Paddle's exporter writes for paddle.full, such as the initial states of an LSTM: "p2o.pd_op.full.2.0".
bool is_full_of_paddle(const ModelTensor& tensor) { return tensor.name.starts_with("p2o.pd_op.full."); }

// Names that exporters and optimizers give to numbers in the code: "475", "const_6__13".
bool is_named_as_number(std::string_view name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::all_of(name.begin(), name.end(), is_digit) || lower.find("const") != std::string::npos;
}

// False if the elements are stored outside the model.
bool is_additive_mask(const ModelTensor& tensor) {
  if (tensor.type != ElementType::f32 || !tensor.data) return false;
  WeightLook look;
  look.add(*tensor.data);
  return look.is_additive_mask();
}

bool is_same(const ModelTensor& a, const ModelTensor& b) {
  return a.type == b.type && a.dims == b.dims && *a.data == *b.data;
}

ConstantData to_constant_data(const KnownValue& known) {
  ConstantData data;
  const size_t count = static_cast<size_t>(known.elements().value_or(0));
  for (size_t i = 0; i < count; ++i)
    if (known.real()) data.reals.push_back(known.number(i));
    else data.ints.push_back(known.integer(i).value);
  return data;
}

}  // namespace

ValueTable::Index ValueTable::define(const std::string& name) {
  const Index index = entries_.size();
  entries_.push_back({.name = name});
  initializer_dims_.emplace_back();
  if (!name.empty()) by_name_[name] = index;
  return index;
}

ValueId ValueTable::add(Value value) {
  if (!value_names_.insert(value.name).second) {
    int copy = 2;
    while (!value_names_.insert(fmt::format("{}:{}", value.name, copy)).second) ++copy;
    value.name = fmt::format("{}:{}", value.name, copy);
  }
  return network_.values.push_back(std::move(value));
}

bool ValueTable::is_constant(const ModelTensor& initializer) {
  if (is_lifted_by_dynamo(initializer) || !weights_.reached.contains(initializer.name)) return true;
  if (const auto role = weights_.roles.find(initializer.name); role != weights_.roles.end())
    return role->second.kind == WeightRole::Kind::epsilon;
  if (is_named_as_constant(initializer) || is_full_of_paddle(initializer)) return true;
  if (constants_.contains(initializer.name) && elements_of(initializer) == 1) return true;
  const bool of_jax = initializer.name.starts_with(kJax);
  if (unmarked_numbers_are_constants_ && elements_of(initializer) == 1 && !of_jax) return true;
  const auto [mask, unseen] = is_mask_.try_emplace(&initializer, false);
  if (unseen) mask->second = is_additive_mask(initializer);
  return mask->second;
}

const Dims* ValueTable::dims(Index index) {
  const Entry& entry = entries_[index];
  if (entry.unsupported) return nullptr;
  if (entry.known) return &entry.known->dims;
  if (entry.initializer) {
    Dims& dims = initializer_dims_[index];
    if (dims.empty())
      for (const int64_t dim : entry.initializer->dims) dims.push_back({dim});
    return &dims;
  }
  return entry.data.valid() ? &network_.values[entry.data].type.dims : nullptr;
}

const KnownValue* ValueTable::known(Index index) {
  const ModelTensor* initializer = entries_[index].initializer;
  if (initializer && is_real(initializer->type) && !is_constant(*initializer)) return nullptr;
  return known_constant(index);
}

bool ValueTable::may_be_learned(const ModelTensor& number) {
  return !is_constant(number) && (weights_.roles.contains(number.name) ||
                                   (unmarked_numbers_may_be_learned_ && !is_named_as_number(number.name)));
}

const KnownValue* ValueTable::known_number(Index index) {
  const ModelTensor* initializer = entries_[index].initializer;
  if (initializer && is_real(initializer->type) && may_be_learned(*initializer)) return nullptr;
  return known_constant(index);
}

const KnownValue* ValueTable::known_unless_parameter(Index index) {
  const ModelTensor* initializer = entries_[index].initializer;
  if (initializer && is_real(initializer->type) && weights_.roles.contains(initializer->name)) return known(index);
  return known_constant(index);
}

const KnownValue* ValueTable::known_constant(Index index) {
  Entry& entry = entries_[index];
  if (!entry.known && entry.initializer) entry.known = known_value_of(*entry.initializer);
  return entry.known ? &*entry.known : nullptr;
}

Result<ValueId> ValueTable::as_data(Index index, Slot slot) {
  Entry& entry = entries_[index];
  if (entry.data.valid()) return entry.data;
  const std::string what = fmt::format("{} '{}'", entry.initializer ? "initializer" : "constant", entry.name);
  if (!entry.initializer && !entry.known)
    return Error{ExitCode::unsupported, fmt::format("'{}' is read, but has no data", entry.name)};

  const ElementType element = entry.initializer ? entry.initializer->type : entry.known->element;
  const auto type = data_type_of(element);
  if (!type)
    return Error{ExitCode::unsupported,
                 fmt::format("{} is {}; supported are f32, i32, i64 and u8: export the model in float32", what,
                             element_name(element))};
  if (!entry.initializer && entry.known->depends_on_batch())
    return Error{ExitCode::unsupported, fmt::format("{} depends on the batch", what)};
  Value value{.name = entry.name, .type = {.type = *type, .dims = *dims(index)}, .initializer = entry.name};
  if (value.type.rank() > kMaxRank)
    return Error{ExitCode::unsupported, fmt::format("{} has {} dimensions; at most {} are supported", what,
                                                    value.type.rank(), kMaxRank)};
  if (std::any_of(value.type.dims.begin(), value.type.dims.end(), [](Dim dim) { return dim.value == 0; }))
    return Error{ExitCode::invalid_model,
                 fmt::format("{} is {}: it has no elements", what, to_string(value.type.dims))};

  const bool real = *type == DataType::f32;
  value.kind = slot == Slot::statistic ? ValueKind::statistic : ValueKind::parameter;
  value.trainable =
      value.kind == ValueKind::parameter && real && entry.initializer && !is_constant(*entry.initializer);
  if (entry.initializer && !value.trainable) value.causal = causal_mask_of(*entry.initializer);
  if (!entry.initializer) {
    // Every layer of a transformer has the same mask.
    std::vector<Index>* alike = nullptr;
    if (entry.known->elements().value_or(kElementLimit) <= kKnownLimit) {
      const ModelTensor tensor = to_tensor(*entry.known, "");
      value.causal = causal_mask_of(tensor);
      alike = &same_[std::hash<std::string>()(*tensor.data)];
      for (const Index other : *alike)
        if (network_.values[entries_[other].data].kind == value.kind &&
            is_same(tensor, to_tensor(*entries_[other].known, "")))
          return entry.data = entries_[other].data;
    }
    const int64_t bytes = entry.known->elements().value_or(kElementLimit) * bytes_of(*type);
    if (bytes > kModelBytesLimit - materialised_bytes_)
      return Error{ExitCode::unsupported, fmt::format("{}: with it, the model's weights exceed 2 GiB", what)};
    materialised_bytes_ += bytes;
    materialised_.push_back(index);
    if (alike) alike->push_back(index);
  }
  return entry.data = add(std::move(value));
}

ValueId ValueTable::as_constant(Index index) {
  if (!entries_[index].constant.valid()) {
    entries_[index].constant = add_constant(entries_[index].name, *known_constant(index));
  }
  return entries_[index].constant;
}

ValueId ValueTable::add_constant(const std::string& name, const KnownValue& known) {
  return add({.name = name,
              .kind = ValueKind::constant,
              .type = {.type = data_type_of(known.element).value_or(known.real() ? DataType::f32 : DataType::i64),
                       .dims = known.dims},
              .constant = to_constant_data(known)});
}

}  // namespace plimsoll
